import { describe, expect, test } from "vitest";
import { MAX_GONE_MACHINES } from "../../shared/crd/fields.ts";
import type { NodePoolStatus } from "../../shared/crd/node-pool.ts";
import { aPool, makeMachine, type PoolFixture, settingsOf } from "./testing.ts";

const SMALL = { vcpus: 2, memoryGB: 4, diskGB: 20 };
const LARGE = { vcpus: 8, memoryGB: 32, diskGB: 100 };
const CREATED_AT = "2026-01-01T00:00:00.000Z";
const HOUR = 3600;

const twoNodes = aPool()
  .withNodes(2)
  .with({ machines: [makeMachine("a"), makeMachine("b")] })
  .reconciled();
const sizesOf = (pool: PoolFixture) =>
  Object.fromEntries(
    (pool.plan().status?.machines ?? []).map(({ name, vcpus, memoryGB, diskGB }) => [
      name,
      vcpus === undefined ? undefined : { vcpus, memoryGB, diskGB },
    ]),
  );
const goneIn = (pool: PoolFixture): NodePoolStatus["goneMachines"] => pool.plan().status?.goneMachines;

describe("the size of a machine", () => {
  test("is that of its pool when it was made from the pool's settings", () => {
    const pool = aPool(LARGE).withCapi({ desired: 1, settings: settingsOf(LARGE) });
    expect(sizesOf(pool.with({ machines: [makeMachine("a")] }))).toEqual({ a: LARGE });
  });

  test("stays what it was while the pool of another size replaces it", () => {
    const changed = twoNodes.withSpec(LARGE).withCapi({ desired: 2, settings: settingsOf(LARGE) });
    const old = makeMachine("a", {}, { isOfOtherTemplate: true });
    const successor = { ...makeMachine("c"), createdAt: "2026-01-01T01:00:00Z" };
    const pool = changed.with({ machines: [old, successor] });
    expect(sizesOf(pool)).toEqual({ a: SMALL, c: LARGE });
    const goesOn = pool.reconciled().withSpec({ ...LARGE, desiredNodes: 1 });
    expect(sizesOf(goesOn)).toEqual({ a: SMALL, c: LARGE });
  });

  test("is the former one for a machine that is made before Cluster API has been given the new size", () => {
    const pool = twoNodes.withSpec(LARGE).with({ machines: [makeMachine("a"), makeMachine("c")] });
    expect(sizesOf(pool)).toEqual({ a: SMALL, c: SMALL });
  });

  test("is the former one for a machine that is first seen when it is outdated", () => {
    const changed = twoNodes.withSpec(LARGE).withCapi({ desired: 2, settings: settingsOf(LARGE) });
    const old = makeMachine("c", {}, { isOfOtherTemplate: true });
    expect(sizesOf(changed.with({ machines: [old] }))).toEqual({ c: SMALL });
  });

  test("is that of what Cluster API was given while the pool asks for another, as of a blocked pool", () => {
    const size = { kind: "fixed", nodes: 1 } as const;
    const granted = { size, machine: LARGE, settings: settingsOf(LARGE) };
    const pool = aPool(SMALL)
      .withCapi({ desired: 1, settings: settingsOf(LARGE) })
      .with({ granted });
    expect(sizesOf(pool.with({ machines: [makeMachine("a")] }))).toEqual({ a: LARGE });
    const outdated = makeMachine("a", {}, { isOfOtherTemplate: true });
    expect(sizesOf(pool.with({ machines: [outdated] }))).toEqual({ a: LARGE });
  });

  test("is the former one for a machine that is made before its template follows what Cluster API was given", () => {
    const size = { kind: "fixed", nodes: 2 } as const;
    const granted = { size, machine: LARGE, settings: settingsOf(LARGE) };
    const pool = twoNodes.withSpec(LARGE).with({ granted, machines: [makeMachine("a"), makeMachine("c")] });
    expect(sizesOf(pool)).toEqual({ a: SMALL, c: SMALL });
  });

  test("is absent until it is known from which template the machine was made", () => {
    const unclear = { ...makeMachine("c"), outdated: undefined };
    const pool = twoNodes.with({ machines: [makeMachine("a"), unclear] });
    expect(sizesOf(pool)).toEqual({ a: SMALL, c: undefined });
    expect(sizesOf(pool.reconciled().with({ machines: [makeMachine("c")] }))).toEqual({ c: SMALL });
  });
});

describe("a machine that goes", () => {
  const gone = (name: string, goneAt: string) => ({
    uid: `uid-${name}`,
    ...SMALL,
    createdAt: CREATED_AT,
    goneAt,
    hadNode: true,
  });
  const later = twoNodes.after(HOUR).with({ machines: [makeMachine("b")] });

  test("is listed with its size and both times", () => {
    expect(goneIn(twoNodes.withSpec({ desiredNodes: 3 }))).toBeUndefined();
    expect(goneIn(later)).toEqual([gone("a", "2026-01-01T01:00:00Z")]);
  });

  test.each([
    { what: "joined the cluster", node: { name: "node-a" }, hadNode: true },
    { what: "never joined the cluster", node: undefined, hadNode: false },
  ])("tells whether its node $what", ({ node, hadNode }) => {
    const machines = [makeMachine("a", { nodeRef: node } as never)];
    const pool = aPool().withNodes(1).with({ machines }).reconciled().with({ machines: [] });
    expect(goneIn(pool)).toMatchObject([{ uid: "uid-a", hadNode }]);
  });

  test("keeps its entry for a day, whatever happens meanwhile", () => {
    const none = later.reconciled().after(HOUR).with({ machines: [] }).reconciled();
    const both = [gone("a", "2026-01-01T01:00:00Z"), gone("b", "2026-01-01T02:00:00Z")];
    expect(none.status()?.goneMachines).toEqual(both);
    const atSeconds = (seconds: number) => goneIn(none.after(seconds).withSpec({ desiredNodes: 3 }));
    expect(atSeconds(23 * HOUR - 1)).toEqual(both);
    expect(atSeconds(23 * HOUR)).toEqual(both.slice(1));
    expect(atSeconds(24 * HOUR)).toBeUndefined();
  });

  test("is no longer listed as gone when it is seen again", () => {
    const seen = later.reconciled().with({ machines: [makeMachine("a"), makeMachine("b")] });
    expect(goneIn(seen)).toBeUndefined();
    expect(sizesOf(seen)).toEqual({ a: SMALL, b: SMALL });
  });

  test(`is listed as one of the last ${MAX_GONE_MACHINES}`, () => {
    const machines = Array.from({ length: 1200 }, (_, n) => makeMachine(`m-${n}`));
    const pool = aPool().withNodes(1200).with({ machines }).reconciled();
    const scaled = pool.with({ machines: machines.slice(0, 1) }).reconciled();
    expect(scaled.status()?.goneMachines).toHaveLength(MAX_GONE_MACHINES);
    expect(goneIn(scaled.with({ machines: [] }))?.at(-1)).toMatchObject({ uid: "uid-m-0" });
  });
});

test("the last status of a deleted pool lists its last machines as gone, before the finalizer is released", () => {
  const plan = twoNodes
    .deleting()
    .with({ machines: [], capi: undefined, leftTopology: true })
    .after(HOUR)
    .plan();
  expect(plan).toMatchObject({
    status: { machines: [], goneMachines: [{ uid: "uid-a" }, { uid: "uid-b" }] },
    releaseFinalizer: true,
  });
});
