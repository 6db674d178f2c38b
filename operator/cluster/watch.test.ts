import { describe, expect, test } from "vitest";
import type { NodePool, NodePoolStatus } from "../../shared/crd/node-pool.ts";
import { makePool, NAMESPACE, START } from "../testing.ts";
import { createTestCaches } from "../testing-caches.ts";
import { findWoken } from "../testing-changes.ts";
import { aCluster } from "../testing-cluster.ts";
import { POOL_STATUS_FIELDS_NOT_READ, watchClusters } from "./watch.ts";

const AT = START.toISOString();
const MACHINE = { name: "m", uid: "uid-m", ready: false, createdAt: AT, phase: "Running" };
const condition = (type: "Ready" | "UpToDate", status: "True" | "False", message = "") => ({
  type,
  status,
  reason: "Any",
  message,
  lastTransitionTime: AT,
  observedGeneration: 1,
});
const STATUS: NodePoolStatus = {
  observedGeneration: 1,
  id: "id",
  conditions: [condition("Ready", "False"), condition("UpToDate", "True")],
  phase: "Provisioning",
  nodes: 1,
  readyNodes: 0,
  upToDateNodes: 0,
  machines: [MACHINE],
  transitions: [],
};
const pool: NodePool = { ...makePool("web"), status: STATUS };

function findWokenBy(object: NodePool): string[] {
  return findWoken(watchClusters, createTestCaches(), "nodePools", { previous: pool, object });
}

describe("a cluster is looked at again for what it reads of its pools, and for nothing else", () => {
  const { metadata, spec } = pool;
  test.each<[string, Partial<NodePool>]>([
    ["its specification", { spec: { ...spec, desiredNodes: 3 } }],
    ["its finalizers", { metadata: { ...metadata, finalizers: [] } }],
    ["its deletion", { metadata: { ...metadata, deletionTimestamp: AT } }],
    ["its labels", { metadata: { ...metadata, labels: {} } }],
    ["who sets its count", { metadata: { ...metadata, managedFields: [] } }],
  ])("%s", (_what, change) => {
    expect(findWokenBy({ ...pool, ...change })).toContain(`${NAMESPACE}/demo`);
  });

  test.each<[string, Partial<NodePoolStatus>]>([
    ["its phase", { phase: "Ready" }],
    ["the generation that its phase is of", { observedGeneration: 2 }],
    ["its nodes", { nodes: 2 }],
    ["its ready nodes", { readyNodes: 1 }],
    ["its nodes that are up to date", { upToDateNodes: 1 }],
    ["its version", { version: "1.34.2" }],
    ["its first time ready", { firstReadyAt: AT }],
    ["a count without a manager", { countUnmanaged: true }],
    ["whether it is as specified", { conditions: [condition("UpToDate", "False")] }],
    ["a machine less, which frees a quota", { machines: [] }],
    ["a machine that goes", { machines: [{ ...MACHINE, phase: "Deleting" }] }],
    ["the size of a machine", { machines: [{ ...MACHINE, vcpus: 8 }] }],
  ])("%s", (_what, change) => {
    expect(findWokenBy({ ...pool, status: { ...STATUS, ...change } })).toContain(`${NAMESPACE}/demo`);
  });

  test.each<[string, Partial<NodePoolStatus>]>([
    ["another condition", { conditions: [condition("Ready", "True"), condition("UpToDate", "True")] }],
    ["a text", { conditions: [condition("Ready", "False"), condition("UpToDate", "True", "As specified.")] }],
    ["the state of a machine", { machines: [{ ...MACHINE, ready: true, node: "node-m" }] }],
    ["what happened", { transitions: [{ sequence: 1, type: "Ready", at: AT }] }],
    ["its message", { message: "It waits." }],
  ])("not for %s", (_what, change) => {
    expect(findWokenBy({ ...pool, status: { ...STATUS, ...change } })).toEqual([]);
  });
});

/** The pool, of whose status the fields that do not wake its cluster cannot be read. */
function hideUnread(one: NodePool): NodePool {
  const hide = (object: object, names: Iterable<string>) => {
    for (const name of names)
      Object.defineProperty(object, name, {
        get: () => {
          throw new Error(`${name} of a pool is read, and a change of it does not wake the cluster`);
        },
      });
    return object;
  };
  const status = hide(
    { ...STATUS },
    [...POOL_STATUS_FIELDS_NOT_READ].filter((name) => name !== "conditions"),
  );
  const ready = hide({ type: "Ready" }, ["status", "reason", "message"]);
  Object.assign(status, { conditions: [ready, condition("UpToDate", "True")] });
  return { ...one, status: status as NodePoolStatus };
}

const newCluster = () => aCluster().withPools(hideUnread(pool));
const made = () => newCluster().ready();

test.each([
  ["that is new", newCluster],
  ["that is ready", made],
  ["whose pool is scaled", () => made().withPools(hideUnread(makePool("web", { desiredNodes: 3 })))],
  ["that is upgraded", () => made().withSpec({ version: "1.35" })],
  [
    "whose pool is blocked",
    () => made().with({ pools: made().observed.pools.map((one) => ({ ...one, blocked: true })) }),
  ],
  ["that is deleted", () => made().deleting()],
])("a cluster %s reads nothing of its pools that does not wake it", (_what, make) => {
  expect(() => make().plan()).not.toThrow();
});
