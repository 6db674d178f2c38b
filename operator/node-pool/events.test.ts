import { expect, test } from "vitest";
import { aPool } from "./testing.ts";

const reasons = (pool: ReturnType<typeof aPool>) => pool.plan().events.map(({ reason }) => reason);

test("a pool created just before its cluster raises no Event; one that waits for it does", () => {
  const orphan = aPool().fresh().withoutCluster();
  expect(reasons(orphan)).toEqual([]);
  const waiting = orphan.reconciled();
  expect(waiting.plan().requeueAfterMs).toBe(5_000);
  expect(waiting.after(4).plan().events).toEqual([]);
  const reported = waiting.after(5).plan();
  expect(reported.events).toMatchObject([{ type: "Warning", reason: "WaitingForCluster" }]);
  expect(reported.status?.message).toMatch(/no cluster .* create it/);
});

const late = { name: "late", uid: "late", node: undefined, waitsFor: "no capacity", unhealthy: undefined };
const withLateMachine = (pool: ReturnType<typeof aPool>) =>
  pool.with({
    machines: aPool()
      .withUnhealthyNode()
      .observed.machines.map((machine) => ({ ...machine, ...late })),
  });

test.each([
  { when: "before the wait is reported", atFirst: withLateMachine, afterSeconds: 0 },
  {
    when: "after a wait without one was reported",
    atFirst: (pool: ReturnType<typeof aPool>) => pool,
    afterSeconds: 60,
  },
])(
  "a machine that does not join, made $when, is reported once, with what it waits for and whom to ask",
  ({ atFirst, afterSeconds }) => {
    const pool = aPool({ desiredNodes: 1 }).reconciled().withCapi({ desired: 1, nodes: 1, ready: 0 });
    const reported = withLateMachine(atFirst(pool).after(afterSeconds).reconciled()).after(61);
    const message = /Machine late has not joined: no capacity\. If this lasts, ask the platform's operator/;
    expect(reported.plan().status?.message).toMatch(message);
    expect(reported.plan().events).toMatchObject([{ type: "Warning", note: expect.stringMatching(message) }]);
    expect(reported.reconciled().after(30).plan().events).toEqual([]);
  },
);

test("the same text about a later change is another Event, and about the same change it is the same", () => {
  const ready = aPool().withNodes(2).reconciled();
  const scaled = ready.withSpec({ desiredNodes: 3 }).reconciled();
  const back = scaled.withSpec({ desiredNodes: 2 }).after(10);
  const eventsOf = (pool: typeof back) => pool.withNodes(2).plan().events;
  const [first] = aPool().withNodes(2).plan().events;
  const [again] = eventsOf(back);
  expect(again?.note).toBe(first?.note);
  expect(again?.dedupeKey).not.toBe(first?.dedupeKey);
  expect(eventsOf(back)).toEqual(eventsOf(back));
});

test.each([
  ["that is created with 0 nodes", () => aPool({ desiredNodes: 0 })],
  ["that is scaled to 0", () => aPool().withNodes(2).reconciled().withSpec({ desiredNodes: 0 }).reconciled()],
])("a pool %s has all of its nodes: no Event of it is a Warning, however long it is so", (_what, make) => {
  const empty = make().after(10).withNodes(0);
  const reported = empty.plan();
  expect(reported.status?.phase).toBe("Ready");
  expect(reported.events).toMatchObject([{ type: "Normal", note: "Node pool web: Nodes ready: 0 of 0." }]);
  expect(empty.reconciled().after(3600).plan().events).toEqual([]);
});
