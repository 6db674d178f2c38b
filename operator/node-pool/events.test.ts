import { expect, test } from "vitest";
import type { ClusterOfPool } from "./observe.ts";
import { aPool } from "./testing.ts";

/** Its cause has words of ours, which decide nothing. */
const late = { name: "late", node: undefined, waitsFor: "it has not joined in time: no capacity" };
const more = aPool().withNodes(2).reconciled().withSpec({ desiredNodes: 3 }).withMachine(late);
const one = aPool({ desiredNodes: 1 }).withMachine(late).withCapi({ desired: 1, nodes: 1, ready: 0 });
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

test("a machine that does not join is reported once, with what it waits for and whom to ask", () => {
  const reported = one.reconciled().after(55);
  const message = /Machine late has not joined: it .* no capacity\. If this lasts, ask the platform's/;
  expect(reported.plan().status?.message).toMatch(message);
  expect(reported.plan().events).toMatchObject([{ type: "Normal", note: expect.stringMatching(message) }]);
  expect(reported.reconciled().after(3600).plan().events).toEqual([]);
});

test.each([
  ["that was ready", more.withCapi({ desired: 3, nodes: 3, ready: 2 }), "Scaling", 844],
  ["of a ready cluster", one.withCluster({ firstReadyAt: "2025-01-01T00:00:00Z" }), "WaitingForNodes", 844],
  ["of a new cluster", one.withCluster({ firstReadyAt: "2026-01-01T00:00:50Z" }), "WaitingForNodes", 894],
])("machines of a pool %s have their class's time, then there is one Warning", (_, pool, reason, inS) => {
  const reported = pool.reconciled().after(56);
  expect(reported.plan().events).toMatchObject([{ type: "Normal", reason }]);
  const waiting = reported.reconciled();
  expect(waiting.plan()).toMatchObject({ status: undefined, requeueAfterMs: inS * 1000 });
  const expired = waiting.after(inS);
  const note = expect.stringMatching(/late has not joined in time: it .* no capacity\. If this lasts, ask/);
  expect(expired.plan().events).toMatchObject([{ type: "Warning", reason: "NodeStartupTimeout", note }]);
  const warned = expired.reconciled().after(600);
  const deleted = warned.withMachine({ deletion: { stage: "infrastructure", cause: "a" } });
  const joined = warned.withMachine({ ...late, node: "late" });
  expect(deleted.plan().status?.message).toContain("the infrastructure deletes its machine");
  expect([warned, deleted, joined].flatMap((pool) => pool.plan().events)).toEqual([]);
});

test.each<[string, Partial<ClusterOfPool>, string]>([
  ["the control plane", {}, "WaitingForControlPlane"],
  ["the resumption of its cluster", { suspended: true }, "Suspended"],
  ["the end of a pause of Cluster API", { paused: true }, "Paused"],
])("a pool that waits for %s says so, and leaves the Event to its cluster", (_what, cluster, reason) => {
  const reported = aPool().withCluster(cluster).reconciled().after(56).plan();
  const message = reported.status?.message ?? "";
  expect(reported.status?.conditions).toContainEqual(expect.objectContaining({ reason, message }));
  expect(reported.events).toEqual([]);
});

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
