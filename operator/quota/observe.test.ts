import { describe, expect, test, vi } from "vitest";
import { ANNOTATION_QUOTAS } from "../../shared/crd/names.ts";
import type { NodePool } from "../../shared/crd/node-pool.ts";
import { formatLimits, type QuotaAmounts } from "../../shared/crd/quota.ts";
import { makePool, NAMESPACE } from "../testing.ts";
import { createTestCaches } from "../testing-caches.ts";
import { aCluster } from "../testing-cluster.ts";
import { findClusterOverQuota, findPoolOverQuota, indexBlocked, mayUnblock } from "./observe.ts";
import { createQuotaUsage } from "./usage.ts";

const PLENTY: QuotaAmounts = { clusters: 9, nodePools: 9, nodes: 99, vcpus: 999, memoryGB: 999 };
const KEY = `${NAMESPACE}/demo`;

/** An organization with one cluster and its pools as Cluster API has them, and other limits than it granted. */
function observe(
  limits: Partial<QuotaAmounts> | undefined,
  pools: NodePool[],
  given: NodePool[] | undefined,
) {
  const caches = createTestCaches();
  const annotations =
    limits === undefined ? {} : { [ANNOTATION_QUOTAS]: formatLimits({ ...PLENTY, ...limits }) };
  caches.namespaces.set({ apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE, annotations } });
  const fixture = aCluster();
  const { cluster } = fixture.observed;
  caches.clusters.set(cluster);
  for (const pool of pools) caches.nodePools.set(pool);
  if (given !== undefined)
    caches.capiClusters.set(
      fixture
        .withPools(...given)
        .reconciled()
        .capiObject(),
    );
  const usage = createQuotaUsage(caches);
  usage.update(KEY);
  return { ...caches, ...usage, cluster };
}

function withMachines(pool: NodePool, count: number): NodePool {
  const machine = { ready: true, createdAt: "2026-01-01T00:00:00Z", phase: "Deleting" };
  const machines = Array.from({ length: count }, (_, n) => ({ ...machine, name: `m${n}`, uid: `m${n}` }));
  return { ...pool, status: { machines } };
}

test("what is blocked is looked at again when a specification changes, or machines go", () => {
  const pool = makePool("web");
  const change = (previous: NodePool, object: NodePool) =>
    mayUnblock({ type: "updated", initial: false, previous, object });
  expect(change(withMachines(pool, 2), withMachines(pool, 1))).toBe(true);
  expect(change(withMachines(pool, 1), withMachines(pool, 2))).toBe(false);
  expect(change(pool, { ...pool, metadata: { ...pool.metadata, generation: 9 } })).toBe(true);
});

describe("the quotas block", () => {
  const web = makePool("web");
  test.each<[string, Partial<QuotaAmounts> | undefined, NodePool[], NodePool[] | undefined, string[]]>([
    ["nothing without limits", undefined, [makePool("web", { desiredNodes: 500 })], [], []],
    ["nothing within the limits", { nodes: 2 }, [web], undefined, []],
    ["a new cluster", { clusters: 0 }, [], undefined, ["demo"]],
    ["no existing cluster", { clusters: 0 }, [], [], []],
    ["a new pool", { nodes: 1 }, [web], [], ["web"]],
    ["more nodes", { nodes: 4 }, [makePool("web", { desiredNodes: 5 })], [web], ["web"]],
    ["larger nodes", { vcpus: 7 }, [makePool("web", { vcpus: 4 })], [web], ["web"]],
    ["the maximum of an autoscaled pool", { nodes: 4 }, [makePool("web", { maxVCPUs: 10 })], [web], ["web"]],
    [
      "larger nodes of a pool whose number was released",
      { vcpus: 7 },
      [makePool("web", { desiredNodes: 1, vcpus: 4 }, { managedFields: [] })],
      [web],
      ["web"],
    ],
    [
      "an autoscaled pool that stays",
      { nodes: 4 },
      [makePool("web", { maxVCPUs: 10 })],
      [makePool("web", { maxVCPUs: 10 })],
      [],
    ],
    [
      "nothing that stays or shrinks",
      { nodes: 0 },
      [web, makePool("db", { desiredNodes: 0 })],
      [web, makePool("db")],
      [],
    ],
    [
      "a new pool while machines of a deleted one run",
      { nodes: 3 },
      [withMachines(makePool("old", {}, { deletionTimestamp: "2026-01-01T00:00:00Z" }), 2), web],
      [],
      ["web"],
    ],
    [
      "more nodes while those of a smaller number run",
      { nodes: 4 },
      [withMachines(makePool("web", { desiredNodes: 3 }), 3)],
      [makePool("web", { desiredNodes: 0 })],
      ["web"],
    ],
    ["no pool whose machines are replaced", { nodes: 2 }, [withMachines(web, 3)], [web], []],
    [
      "nothing that is being deleted",
      { nodes: 0 },
      [makePool("web", {}, { deletionTimestamp: "2026-01-01T00:00:00Z" })],
      [],
      [],
    ],
  ])("%s", (_, limits, pools, given, names) => {
    const caches = observe(limits, pools, given);
    const { cluster, pools: rejected } = findClusterOverQuota(caches, caches.cluster, pools);
    expect([...(cluster === undefined ? [] : ["demo"]), ...rejected.keys()]).toEqual(names);
    for (const pool of pools)
      expect(findPoolOverQuota(caches, pool)).toEqual(rejected.get(pool.metadata.name));
  });

  test("a blocked object is indexed by its namespace while it is blocked", () => {
    const stalled = { type: "Stalled", status: "True", reason: "QuotaExceeded" };
    const pool = (condition: object) => ({
      ...makePool("web"),
      status: { conditions: [condition as never] },
    });
    expect(indexBlocked(pool(stalled))).toEqual([NAMESPACE]);
    expect(indexBlocked(pool({ ...stalled, status: "False" }))).toEqual([]);
    expect(indexBlocked(makePool("web"))).toEqual([]);
  });
});

test("the usage follows additions, changes and deletions", () => {
  const caches = observe({}, [makePool("web", { desiredNodes: 3 })], [makePool("web", { desiredNodes: 5 })]);
  const most = () => caches.maximumUsage(NAMESPACE);
  expect(most()).toEqual({ clusters: 1, nodePools: 1, nodes: 5, vcpus: 10, memoryGB: 20 });
  caches.nodePools.set(makePool("web", { desiredNodes: 7, vcpus: 1 }));
  caches.update(KEY);
  expect(most()).toEqual({ clusters: 1, nodePools: 1, nodes: 7, vcpus: 10, memoryGB: 28 });
  caches.nodePools.remove(`${NAMESPACE}/web`);
  caches.update(KEY);
  expect(most()).toMatchObject({ clusters: 1, nodes: 0 });
  caches.clusters.remove(KEY);
  caches.update(KEY);
  expect(most()).toMatchObject({ clusters: 0, nodePools: 0 });
});

test("what is blocked is counted once for all, until something changes", () => {
  const pools = [makePool("web"), makePool("db")];
  const caches = observe({ nodes: 3 }, pools, []);
  const read = vi.spyOn(caches.nodePools, "byIndex");
  const reasons = () => pools.map((pool) => findPoolOverQuota(caches, pool)?.reason);
  expect([...reasons(), ...reasons()].filter((reason) => reason === "QuotaExceeded")).toHaveLength(2);
  expect(read).toHaveBeenCalledTimes(1);
  caches.nodePools.remove(`${NAMESPACE}/web`);
  caches.nodePools.remove(`${NAMESPACE}/db`);
  caches.nodePools.set(makePool("db"));
  caches.update(KEY);
  expect(findPoolOverQuota(caches, makePool("db"))).toBeUndefined();
});
