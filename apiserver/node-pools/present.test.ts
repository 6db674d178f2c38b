import { expect, test } from "vitest";
import type { NodePool } from "../../shared/crd/node-pool.ts";
import { toProjectedNodePool } from "../resources/project/index.ts";
import { mergeNodePoolUpdate } from "./merge-update.ts";
import { presentNodePool } from "./present.ts";
import { nodePoolRecord, toNodePoolChange, updateNodePoolBody } from "./schema.ts";

const ID = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11";
const POOL: NodePool = {
  apiVersion: "cloud.marina.dev/v1",
  kind: "NodePool",
  metadata: {
    name: "general-abcde",
    namespace: "org-1",
    uid: "7205b06a-a404-49fb-bc96-844d27d421e3",
    resourceVersion: "12",
    generation: 1,
    creationTimestamp: "2026-11-21T09:00:00Z",
    labels: { "cloud.marina.dev/id": ID },
  },
  spec: {
    clusterName: "first",
    vcpus: 2,
    memoryGB: 4,
    diskGB: 20,
    minNodes: 1,
    maxNodes: 3,
    desiredNodes: 2,
  },
};

function present(change: Partial<NodePool> = {}) {
  const projected = toProjectedNodePool({ ...POOL, ...change }, ID, ID);
  if (projected === undefined) throw new Error("not projected");
  return presentNodePool(projected);
}

test("a new pool has no optional setting, and null for what has not happened", () => {
  expect(present()).toEqual({
    id: ID,
    cluster_id: ID,
    name: "general-abcde",
    labels: {},
    deletion_protection: false,
    deletion_protection_state: "off",
    expires_at: null,
    vcpus: 2,
    memory_gb: 4,
    disk_gb: 20,
    min_nodes: 1,
    max_nodes: 3,
    desired_nodes: 2,
    autoscaling: false,
    current_nodes: 0,
    ready_nodes: 0,
    k8s_version: null,
    generation: 1,
    observed_generation: 0,
    first_ready_at: null,
    status: "provisioning",
    status_message: "The request was accepted and is carried out within moments.",
    conditions: [],
    created_at: "2026-11-21T09:00:00.000Z",
    updated_at: "2026-11-21T09:00:00.000Z",
  });
});

test("every setting and everything observed appears under its wire name", () => {
  const record = present({
    spec: {
      ...POOL.spec,
      displayName: "General",
      minVCPUs: 2,
      maxVCPUs: 8,
      minMemoryGB: 4,
      maxMemoryGB: 16,
      nodeLabels: { a: "b" },
      nodeTaints: [{ key: "k", value: "v", effect: "NoExecute" }],
      drainTimeoutSeconds: 30,
      scaleDownDelaySeconds: 60,
      scaleDownUtilizationPercent: 10,
    },
    status: {
      observedGeneration: 1,
      phase: "Ready",
      nodes: 4,
      readyNodes: 3,
      version: "1.34.2",
      firstReadyAt: "2026-11-21T09:05:00Z",
      message: "one node waits",
    },
  });
  expect(record).toMatchObject({
    name: "General",
    min_vcpus: 2,
    max_vcpus: 8,
    min_memory_gb: 4,
    max_memory_gb: 16,
    node_labels: { a: "b" },
    node_taints: [{ key: "k", value: "v", effect: "NoExecute" }],
    drain_timeout_seconds: 30,
    scale_down_delay_seconds: 60,
    scale_down_utilization_percent: 10,
    status: "ready",
    autoscaling: true,
    current_nodes: 4,
    ready_nodes: 3,
    k8s_version: "1.34.2",
    generation: 1,
    observed_generation: 1,
    desired_nodes: 2,
    first_ready_at: "2026-11-21T09:05:00.000Z",
    status_message: "one node waits",
  });
  expect(nodePoolRecord.safeParse(record).success).toBe(true);
});

test("the conditions are Marina's own, in the words of REST", () => {
  const lastTransitionTime = "2026-11-21T09:05:00Z";
  const message =
    "The node pool general was to be deleted, which is held back: spec.deletionProtection is true.";
  const conditions = [
    { type: "example.com/BackedUp", status: "True", reason: "Done", message: "", lastTransitionTime },
    { type: "ExpiryHeld", status: "True", reason: "DeletionProtected", message, lastTransitionTime },
    { type: "Ready", status: "Unknown", reason: "Provisioning", message: "", lastTransitionTime },
  ] as const;
  const record = present({ status: { conditions: [...conditions] } });
  const last_transition_time = "2026-11-21T09:05:00.000Z";
  expect(record.conditions).toEqual([
    { type: "Ready", status: "Unknown", reason: "Provisioning", message: "", last_transition_time },
    {
      type: "ExpiryHeld",
      status: "True",
      reason: "DeletionProtected",
      message: message.replace("spec.deletionProtection", "deletion_protection"),
      last_transition_time,
    },
  ]);
  expect(nodePoolRecord.safeParse(record).success).toBe(true);
});

test("a record that GET returned may be sent back by PUT and changes nothing", () => {
  const spec = { ...POOL.spec, nodeLabels: { a: "b" }, nodeTaints: [], drainTimeoutSeconds: 30 };
  const record = present({ spec });
  const change = toNodePoolChange(updateNodePoolBody.parse(JSON.parse(JSON.stringify(record))));
  const current = { id: ID, clusterId: ID, displayName: record.name, object: { spec } };
  expect(mergeNodePoolUpdate(current, change)).toMatchObject({ ok: true, changed: [] });
});

test.each([
  [{ maxVCPUs: 1 }, "max_vcpus"],
  [{ maxVCPUs: 1, maxMemoryGB: 3 }, "max_vcpus and max_memory_gb"],
])("a pool whose first node exceeds its maxima says that it may have one: %j", (totals, named) => {
  const status = { phase: "Ready", observedGeneration: 1 } as const;
  expect(present({ spec: { ...POOL.spec, ...totals }, status }).status_message).toBe(
    `The pool may have one node although a node (2 vCPUs and 4 GiB) exceeds ${named}; raise it to allow more.`,
  );
});

test("a protected pool that is deleted with its cluster is not protected any more", () => {
  const spec = { ...POOL.spec, deletionProtection: true };
  expect(present({ spec }).deletion_protection_state).toBe("pending");
  const metadata = { ...POOL.metadata, deletionTimestamp: "2026-11-21T10:00:00Z" };
  expect(present({ spec, metadata })).toMatchObject({
    deletion_protection: true,
    deletion_protection_state: "off",
  });
});
