import { describe, expect, test } from "vitest";
import { MAX_GONE_MACHINES } from "../../shared/crd/fields.ts";
import type { NodePoolStatus } from "../../shared/crd/node-pool.ts";
import { aPool, hashOfPool, makeMachine, type PoolFixture } from "./testing.ts";

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
const fixed = (nodes: number) => ({ kind: "fixed" as const, nodes });

describe("the size of a machine", () => {
  test("is that of its template, whatever the pool and the topology ask for while Cluster API acts on an earlier change", () => {
    const topologyPool = { scale: fixed(3), machineSize: SMALL, appliedHash: undefined };
    const successors = [
      makeMachine("c", {}, { size: LARGE }),
      makeMachine("d", {}, { size: LARGE, isOfOtherTemplate: true }),
    ];
    const pool = twoNodes.with({ topologyPool, machines: [makeMachine("a"), ...successors] });
    expect(sizesOf(pool)).toEqual({ a: SMALL, c: LARGE, d: LARGE });
    const all = [...successors, makeMachine("e", {}, { size: SMALL })];
    expect(sizesOf(pool.reconciled().withSpec(LARGE).with({ machines: all }))).toEqual({
      c: LARGE,
      d: LARGE,
      e: SMALL,
    });
  });

  test("stays what it was first", () => {
    const pool = twoNodes.withSpec(LARGE).with({ machines: [makeMachine("a", {}, { size: LARGE })] });
    expect(sizesOf(pool)).toEqual({ a: SMALL });
  });

  test("is that of the newest machine where its template is not known, as of an earlier process", () => {
    const pool = twoNodes.withSpec(LARGE).with({ machines: [makeMachine("a"), makeMachine("c")] });
    expect(sizesOf(pool)).toEqual({ a: SMALL, c: SMALL });
  });

  test("is what Cluster API was given where there is no other machine, else as specified", () => {
    const topologyPool = { scale: fixed(1), machineSize: LARGE, appliedHash: undefined };
    const pool = aPool(SMALL)
      .withNodes(1)
      .with({ machines: [makeMachine("a")] });
    expect(sizesOf(pool.with({ topologyPool }))).toEqual({ a: LARGE });
    expect(sizesOf(pool)).toEqual({ a: SMALL });
  });

  test.each([
    ["that of the topology, once Cluster API has acted on it", { appliedHash: hashOfPool(LARGE) }, LARGE],
    ["that of the newest machine before", { appliedHash: hashOfPool() }, SMALL],
    ["that of the newest machine, where it is not known what it acted on", { appliedHash: undefined }, SMALL],
  ])("of the current template that is not known is %s", (_, live, expected) => {
    const topologyPool = {
      scale: fixed(2),
      machineSize: LARGE,
      appliedHash: hashOfPool(LARGE),
    };
    const pool = twoNodes
      .withSpec(LARGE)
      .with({ topologyPool, machines: [makeMachine("a"), makeMachine("c")] });
    const { machineDeployment: before } = pool.observed;
    const machineDeployment = before && { ...before, ...live };
    expect(sizesOf(pool.with({ machineDeployment }))).toEqual({ a: SMALL, c: expected });
    const former = { ...makeMachine("d"), outdated: true };
    expect(sizesOf(pool.with({ machineDeployment, machines: [makeMachine("a"), former] }))).toEqual({
      a: SMALL,
      d: SMALL,
    });
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
    { what: "its node joined the cluster", node: { name: "node-a" }, providerID: undefined, hadNode: true },
    { what: "its infrastructure existed", node: undefined, providerID: "p://a", hadNode: true },
    { what: "neither did", node: undefined, providerID: undefined, hadNode: false },
  ])("tells whether it is billed: $what", ({ node, providerID, hadNode }) => {
    const machines = [makeMachine("a", { nodeRef: node } as never, { providerID })];
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

  test("gives way to none that was never billed, however many of those come and go", () => {
    const never = (n: number) => makeMachine(`never-${n}`, { nodeRef: undefined } as never);
    const failed = Array.from({ length: MAX_GONE_MACHINES + 1 }, (_, n) => never(n));
    const pool = later.reconciled().with({ machines: failed }).reconciled();
    const gone = goneIn(pool.with({ machines: [] })) ?? [];
    expect(gone).toHaveLength(MAX_GONE_MACHINES);
    expect(gone.filter(({ hadNode }) => hadNode).map(({ uid }) => uid)).toEqual(["uid-a", "uid-b"]);
    expect(gone.at(-1)?.uid).toBe(`uid-never-${MAX_GONE_MACHINES}`);
  });
});

test("the last status of a deleted pool lists its last machines as gone, before the finalizer is released", () => {
  const plan = twoNodes
    .deleting()
    .with({ machines: [], machineDeployment: undefined, isOutsideTopology: true })
    .after(HOUR)
    .plan();
  expect(plan).toMatchObject({
    status: { machines: [], goneMachines: [{ uid: "uid-a" }, { uid: "uid-b" }] },
    releaseFinalizer: true,
  });
});

test("a pool whose finalizer was taken away by force while others keep it goes on recording its machines", () => {
  const { pool } = twoNodes.deleting().observed;
  const kept = { ...pool, metadata: { ...pool.metadata, finalizers: ["example.com/keep"] } };
  const { status } = twoNodes.with({ pool: kept, machines: [makeMachine("b")] }).plan();
  expect(status).toMatchObject({ machines: [{ uid: "uid-b" }], goneMachines: [{ uid: "uid-a" }] });
});
