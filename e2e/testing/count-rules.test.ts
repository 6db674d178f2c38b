import { expect, test } from "vitest";
import type { Cluster } from "../../shared/crd/cluster.ts";
import type { NodePool } from "../../shared/crd/node-pool.ts";
import { findCountLies } from "./count-rules.ts";
import type { Sighting } from "./moment-rules.ts";

const MINUTE_MS = 60_000;

function aCluster(at: number, ready: number, gone = false, phase = "Ready", message = ""): Sighting<Cluster> {
  const object = {
    apiVersion: "cloud.marina.dev/v1",
    kind: "Cluster",
    metadata: { name: "demo", uid: "cluster" },
    spec: { version: "1.34" },
    status: { phase, nodePools: { ready, total: 2 }, message },
  };
  return { at, object: object as unknown as Cluster, gone };
}

function aPool(
  at: number,
  state: {
    name?: string;
    phase?: string;
    generation?: number;
    cluster?: string;
    gone?: boolean;
    deletionTimestamp?: string;
  } = {},
): Sighting<NodePool> {
  const { name = "web", phase = "Ready", generation = 1, cluster = "demo", gone = false } = state;
  const object = {
    apiVersion: "cloud.marina.dev/v1",
    kind: "NodePool",
    metadata: { name, uid: name, generation, deletionTimestamp: state.deletionTimestamp },
    spec: { clusterName: cluster },
    status: { phase, observedGeneration: 1 },
  };
  return { at, object: object as unknown as NodePool, gone };
}

const again = (at: number) => aCluster(at, 0, false, "Ready", "Written again.");

const SOON = 3 * MINUTE_MS;
const LATE = 8 * MINUTE_MS;

const scaling = { phase: "Scaling" };
const leaving = { deletionTimestamp: "2026-01-01T00:00:00Z" };

test.each<[string, string[], Sighting<Cluster>[], Sighting<NodePool>[]]>([
  ["that is so", [], [aCluster(5, 1)], [aPool(0)]],
  ["that is seen before its pool", [], [aCluster(0, 1)], [aPool(5)]],
  ["that is a little late", [], [aCluster(0, 0), aCluster(20_000, 1)], [aPool(0)]],
  [
    "without another cluster's pools",
    [],
    [aCluster(0, 1)],
    [aPool(0), aPool(0, { name: "b", cluster: "b" })],
  ],
  ["that came late", ["still 0, not 1"], [aCluster(0, 0), aCluster(LATE, 1)], [aPool(1)]],
  [
    "written again",
    ["still 0, not 1"],
    [aCluster(0, 0), again(2 * MINUTE_MS), aCluster(SOON, 1)],
    [aPool(1)],
  ],
  ["written again soon", [], [aCluster(0, 0), again(MINUTE_MS), aCluster(SOON, 1)], [aPool(1)]],
  [
    "written again soon after a further pool",
    [],
    [aCluster(0, 0), again(2 * MINUTE_MS), aCluster(SOON, 2)],
    [aPool(1), aPool(MINUTE_MS, { name: "b" })],
  ],
  [
    "that nobody wrote again",
    [],
    [aCluster(0, 0), aCluster(2 * MINUTE_MS, 0), aCluster(SOON, 1)],
    [aPool(1)],
  ],
  ["of a cluster that is being created", [], [aCluster(0, 0, false, "Provisioning")], [aPool(1)]],
  [
    "that stays after the creation",
    ["still 0, not 1"],
    [aCluster(0, 0, false, "Provisioning"), aCluster(5, 0)],
    [aPool(1)],
  ],
  ["with a pool that scales", ["1, not 0", "still 1, not 0"], [aCluster(0, 1)], [aPool(0, scaling)]],
  ["with an unobserved pool", ["still 1, not 0"], [aCluster(0, 1)], [aPool(0), aPool(1, { generation: 2 })]],
  ["with a deleted pool", ["still 1, not 0"], [aCluster(0, 1)], [aPool(0), aPool(1, { gone: true })]],
  [
    "of a cluster that is being created, with a pool that is deleted before it says so",
    [],
    [aCluster(1, 1, false, "Provisioning"), aCluster(2, 0, true)],
    [aPool(0, scaling), aPool(LATE, { ...scaling, gone: true })],
  ],
  [
    "of a cluster that is being created, with a pool that is being deleted",
    ["1, not 0"],
    [aCluster(1, 1, false, "Provisioning")],
    [aPool(0, { ...scaling, ...leaving }), aPool(LATE, { ...scaling, ...leaving, gone: true })],
  ],
  [
    "of a cluster that is being created, with a pool that scales",
    ["1, not 0"],
    [aCluster(1, 1, false, "Provisioning")],
    [aPool(0, scaling)],
  ],
  ["that never was", ["2, not 0"], [aCluster(LATE, 2), aCluster(LATE + 9, 0)], [aPool(0, scaling)]],
  ["of a deleted cluster", [], [aCluster(0, 0), aCluster(1, 0, true)], [aPool(2)]],
])("a count of ready pools %s", (_name, expected, clusters, pools) => {
  const lies = findCountLies(clusters, pools, LATE + 10);
  expect(lies).toEqual(expected.map((lie) => `Cluster demo (cluster): ready pools: ${lie}`));
});

test.each([
  { interruptedAt: LATE - 5, found: 0 },
  { interruptedAt: LATE - 2 * MINUTE_MS, found: 1 },
])(
  "lies in a count that never was, with a watch interrupted at $interruptedAt: $found",
  ({ interruptedAt, found }) => {
    const clusters = [aCluster(LATE, 2), aCluster(LATE + 9, 0)];
    const lies = findCountLies(clusters, [aPool(0, scaling)], LATE + 10, [interruptedAt]);
    expect(lies).toHaveLength(found);
  },
);
