import { expect, test } from "vitest";
import type { NodePoolMachine, NodePoolStatus } from "../../../shared/crd/node-pool.ts";
import { toProjectedNodePool } from "../../resources/project/index.ts";
import { findReplaced, pageMachines, presentNode } from "./present.ts";
import { nodeRecord } from "./schema.ts";

const ID = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11";
const UIDS = ["1", "2", "3"].map((digit) => `7205b06a-a404-49fb-bc96-844d27d421e${digit}`);
const MACHINE: NodePoolMachine = {
  name: "general-x1",
  uid: UIDS[0] ?? "",
  node: "node-1",
  phase: "Running",
  ready: true,
  version: "v1.34.2",
  createdAt: "2026-11-21T09:00:00Z",
};

function aPool(status: NodePoolStatus, annotations: Record<string, string> = {}) {
  const size = { vcpus: 2, memoryGB: 4, diskGB: 20, minNodes: 1, maxNodes: 1, desiredNodes: 1 };
  const projected = toProjectedNodePool(
    {
      apiVersion: "cloud.marina.dev/v1",
      kind: "NodePool",
      metadata: {
        name: "general-abcde",
        namespace: "org-1",
        uid: ID,
        resourceVersion: "1",
        labels: { "cloud.marina.dev/id": ID },
        annotations,
      },
      spec: { clusterName: "first-abcde", ...size },
      status,
    },
    ID,
    ID,
  );
  if (projected === undefined) throw new Error("not projected");
  return projected;
}

test("a node is shown with all its fields", () => {
  const record = presentNode(aPool({ machines: [MACHINE] }), MACHINE);
  expect(record).toEqual({
    id: MACHINE.uid,
    node_pool_id: ID,
    name: "node-1",
    status: "ready",
    replacing: false,
    version: "1.34.2",
    conditions: [{ type: "Ready", status: "True" }],
    created_at: "2026-11-21T09:00:00.000Z",
  });
  expect(nodeRecord.safeParse(record).success).toBe(true);
});

test.each<[string, Partial<NodePoolMachine>, string, string]>([
  [
    "a machine without a node",
    { node: undefined, ready: false, phase: "Provisioning" },
    "provisioning",
    "Unknown",
  ],
  ["a node that is not ready", { ready: false }, "not_ready", "False"],
  ["a machine that goes", { phase: "Deleting" }, "deleting", "True"],
  ["a machine that failed", { phase: "Failed", node: undefined, ready: false }, "failed", "Unknown"],
  ["a machine of no known phase", { phase: undefined }, "ready", "True"],
])("the status of %s", (_, change, status, ready) => {
  const record = presentNode(aPool({}), { ...MACHINE, ...change });
  expect(record).toMatchObject({ status, conditions: [{ type: "Ready", status: ready }] });
});

test("a node is replacing from the request on, and while its replacement is under way", () => {
  const requested = aPool({}, { "replace.cloud.marina.dev/node-1": "request" });
  expect(presentNode(requested, MACHINE).replacing).toBe(true);
  const begun = {
    machineUID: MACHINE.uid,
    machineName: MACHINE.name,
    reason: "Requested",
    at: MACHINE.createdAt,
  };
  expect(presentNode(aPool({ replacements: [begun] }), MACHINE).replacing).toBe(true);
  const other = aPool({}, { "replace.cloud.marina.dev/node-2": "request" });
  expect(presentNode(other, MACHINE).replacing).toBe(false);
});

test.each<[string, NodePoolStatus, Record<string, string>, boolean]>([
  ["its machine is gone", { machines: [] }, {}, true],
  ["another machine has its node", { machines: [{ ...MACHINE, uid: UIDS[1] ?? "" }] }, {}, true],
  ["it is requested", { machines: [MACHINE] }, { "replace.cloud.marina.dev/node-1": "request" }, true],
  ["it is there as before", { machines: [MACHINE] }, {}, false],
])("a node that was to be replaced is found, when %s: %#", (_what, status, annotations, isFound) => {
  const record = findReplaced(aPool(status, annotations), MACHINE);
  expect([record?.id, record?.replacing]).toEqual(isFound ? [MACHINE.uid, true] : [undefined, undefined]);
});

test("a node is replacing while a rollout replaces it, also while it goes", () => {
  const outdated = { ...MACHINE, outdated: true };
  expect(presentNode(aPool({}), outdated).replacing).toBe(true);
  expect(presentNode(aPool({}), { ...outdated, phase: "Deleting" })).toMatchObject({
    status: "deleting",
    replacing: true,
  });
});

test("a page is in the order of uid, after the cursor, and has one more than the limit", () => {
  const pool = aPool({ machines: UIDS.toReversed().map((uid) => ({ ...MACHINE, uid })) });
  const idsOf = (cursor: string | undefined, limit: number) =>
    pageMachines(pool, { cursor, limit }).map(({ id }) => id);
  expect(idsOf(undefined, 1)).toEqual(UIDS.slice(0, 2));
  expect(idsOf(UIDS[0], 5)).toEqual(UIDS.slice(1));
  expect(idsOf(UIDS[2], 5)).toEqual([]);
});
