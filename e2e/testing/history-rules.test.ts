import { expect, test } from "vitest";
import type { Cluster } from "../../shared/crd/cluster.ts";
import type { NodePool } from "../../shared/crd/node-pool.ts";
import { findLies } from "./history-rules.ts";

const AT = "2026-01-01T00:00:00Z";
const of = (status: "True" | "False", message = "") => ({ status, message });
const DONE = {
  Ready: of("True"),
  UpToDate: of("True"),
  Reconciling: of("False"),
  Scaling: of("False"),
};

interface PoolState {
  generation?: number;
  vcpus?: number;
  nodes?: number;
  machines?: { uid: string; outdated?: boolean }[];
  conditions?: Record<string, { status: "True" | "False"; message: string }>;
}

/** A pool of one node that is done, but for what is given. */
function aPool({
  generation = 1,
  vcpus = 2,
  nodes = 1,
  machines = [{ uid: "a" }],
  conditions = {},
}: PoolState): NodePool {
  const all = Object.entries({ ...DONE, ...conditions });
  return {
    apiVersion: "cloud.marina.dev/v1",
    kind: "NodePool",
    metadata: { name: "web", uid: "pool", generation, resourceVersion: "7" },
    spec: { clusterName: "demo", vcpus, memoryGB: 4, diskGB: 20, minNodes: 0, maxNodes: 9, desiredNodes: 1 },
    status: {
      observedGeneration: generation,
      phase: "Ready",
      nodes,
      readyNodes: nodes,
      machines: machines.map((machine) => ({ name: machine.uid, ready: true, createdAt: AT, ...machine })),
      conditions: all.map(([type, { status, message }]) => ({
        type: type as "Ready",
        status,
        reason: "Seen",
        message,
        lastTransitionTime: AT,
        observedGeneration: generation,
      })),
    },
  };
}

function aCluster(deletionTimestamp: string | undefined, workersReady: "True" | "False"): Cluster {
  const condition = { reason: "Seen", message: "", lastTransitionTime: AT, observedGeneration: 1 };
  return {
    apiVersion: "cloud.marina.dev/v1",
    kind: "Cluster",
    metadata: {
      name: "demo",
      uid: "cluster",
      resourceVersion: "7",
      ...(deletionTimestamp && { deletionTimestamp }),
    },
    spec: { version: "1.34", publicEndpoint: true },
    status: {
      phase: deletionTimestamp === undefined ? "Ready" : "Deleting",
      conditions: [
        { type: "Ready", status: deletionTimestamp === undefined ? "True" : "False", ...condition },
        { type: "WorkersReady", status: workersReady, ...condition },
      ],
    },
  };
}

const updating = (message: string) => ({
  UpToDate: of("False", message),
  Reconciling: of("True"),
});
const resized = { generation: 2, vcpus: 4 };

test.each<[string, string | undefined, (NodePool | Cluster)[]]>([
  [
    "a resize that replaced the nodes",
    undefined,
    [aPool({}), aPool({ ...resized, machines: [{ uid: "b" }] })],
  ],
  [
    "a resize that is under way",
    undefined,
    [aPool({}), aPool({ ...resized, conditions: updating("0 of 1 are up to date") })],
  ],
  ["a resize that is done before its rollout", "of the former size: a", [aPool({}), aPool(resized)]],
  ["another change that keeps the nodes", undefined, [aPool({}), aPool({ generation: 2 })]],
  [
    "a pool that is done with an outdated machine",
    "will be replaced",
    [aPool({ machines: [{ uid: "a", outdated: true }] })],
  ],
  [
    "a rollout that begins with all nodes up to date",
    "2 of 2 are up to date",
    [aPool({ conditions: updating("Nodes are being replaced: 2 of 2 are up to date.") })],
  ],
  [
    "a change that begins with all nodes having it",
    "3 of 3 nodes have them",
    [aPool({ conditions: updating("The new settings are being applied: 3 of 3 nodes have them.") })],
  ],
  [
    "a pool of twelve nodes with two up to date",
    undefined,
    [aPool({ conditions: updating("2 of 12 are up to date") })],
  ],
  [
    "a change of labels that is called scaling",
    "it scales",
    [aPool({}), aPool({ generation: 2, conditions: { Scaling: of("True"), Reconciling: of("True") } })],
  ],
  [
    "an autoscaled pool that scales",
    undefined,
    [aPool({}), aPool({ conditions: { Scaling: of("True"), Reconciling: of("True") } })].map((pool) => ({
      ...pool,
      spec: { ...pool.spec, maxVCPUs: 8 },
    })),
  ],
  [
    "a lost node that is called scaling",
    undefined,
    [aPool({}), aPool({ nodes: 0, conditions: { Scaling: of("True"), Reconciling: of("True") } })],
  ],
  ["ready workers of a cluster that is being deleted", "its workers are ready", [aCluster(AT, "True")]],
  ["workers of a cluster that are being deleted", undefined, [aCluster(AT, "False")]],
  ["ready workers of a cluster that stays", undefined, [aCluster(undefined, "True")]],
])("%s", (_name, lie, states) => {
  const lies = findLies(states);
  expect(lies).toHaveLength(lie === undefined ? 0 : 1);
  expect(lies.join()).toContain(lie ?? "");
});
