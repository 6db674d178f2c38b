import type { z } from "@hono/zod-openapi";
import { describe, expect, test } from "vitest";
import type { NodePoolSpec } from "../../shared/crd/node-pool.ts";
import { mergeNodePoolUpdate } from "./merge-update.ts";
import { toNodePoolChange, updateNodePoolBody } from "./schema.ts";

const SPEC: NodePoolSpec = {
  clusterName: "first-abcde",
  displayName: "general",
  vcpus: 2,
  memoryGB: 4,
  diskGB: 20,
  minNodes: 1,
  maxNodes: 5,
  desiredNodes: 3,
  nodeLabels: { team: "blue", tier: "web" },
  nodeTaints: [{ key: "gpu", effect: "NoSchedule" }],
  drainTimeoutSeconds: 120,
};
/** As it is sent. */
type Body = z.input<typeof updateNodePoolBody>;
const IDENTITY = { id: "pool-id", clusterId: "cluster-id" };

function merge(body: Body, spec: Partial<NodePoolSpec> = {}) {
  const current = { ...IDENTITY, displayName: "general", object: { spec: { ...SPEC, ...spec } } };
  return mergeNodePoolUpdate(current, toNodePoolChange(updateNodePoolBody.parse(body)));
}

function patchOf(body: Body, spec: Partial<NodePoolSpec> = {}) {
  const result = merge(body, spec);
  return result.ok ? result.patch : result.details.map(({ field, code }) => `${field}/${code}`);
}

describe("a change patches just the fields that it changes", () => {
  test.each<[string, Body, Record<string, unknown>]>([
    ["nothing sent", {}, {}],
    ["an omitted field keeps its value", { max_nodes: 6 }, { maxNodes: 6 }],
    ["an equal value is no change", { vcpus: 2, desired_nodes: 3, name: "general" }, {}],
    [
      "every setting by its own name",
      { vcpus: 4, memory_gb: 8, disk_gb: 40 },
      { vcpus: 4, memoryGB: 8, diskGB: 40 },
    ],
    ["protection that is off already", { deletion_protection: false }, {}],
    ["no end where there is none", { expires_at: null }, {}],
    ["an end", { expires_at: "2099-01-01T01:00:00+01:00" }, { expiresAt: "2099-01-01T00:00:00.000Z" }],
    ["protection", { deletion_protection: true }, { deletionProtection: true }],
    ["a new name", { name: "web" }, { displayName: "web" }],
    ["0 is a value", { min_nodes: 0 }, { minNodes: 0 }],
    ["null leaves a configured drain timeout", { drain_timeout_seconds: null }, {}],
    [
      "null leaves a platform default",
      { scale_down_delay_seconds: null, scale_down_utilization_percent: null },
      {},
    ],
    ["a drain timeout is set", { drain_timeout_seconds: 30 }, { drainTimeoutSeconds: 30 }],
    [
      "scale-down settings are set on a fixed pool too",
      { scale_down_delay_seconds: 60 },
      { scaleDownDelaySeconds: 60 },
    ],
    [
      "min, desired and max move together",
      { min_nodes: 6, desired_nodes: 7, max_nodes: 8 },
      { minNodes: 6, maxNodes: 8, desiredNodes: 7 },
    ],
    ["a budget makes the pool autoscale", { min_vcpus: 2, max_vcpus: 8 }, { minVCPUs: 2, maxVCPUs: 8 }],
    ["maxima of less than one node", { max_vcpus: 1, max_memory_gb: 1 }, { maxVCPUs: 1, maxMemoryGB: 1 }],
    [
      "both minima 0 with their maxima",
      { min_vcpus: 0, max_vcpus: 8, min_memory_gb: 0, max_memory_gb: 16 },
      { minVCPUs: 0, maxVCPUs: 8, minMemoryGB: 0, maxMemoryGB: 16 },
    ],
    [
      "labels are replaced: removed ones become null",
      { node_labels: { team: "red", zone: "a" } },
      { nodeLabels: { tier: null, team: "red", zone: "a" } },
    ],
    ["no labels at all", { node_labels: {} }, { nodeLabels: { team: null, tier: null } }],
    ["the same labels in another order", { node_labels: { tier: "web", team: "blue" } }, {}],
    [
      "fixed settings may be repeated",
      { id: "pool-id", cluster_id: "cluster-id", node_taints: [{ effect: "NoSchedule", key: "gpu" }] },
      {},
    ],
    [
      "observed fields are ignored whatever they say",
      {
        status: "failed",
        current_nodes: 99,
        created_at: 1,
        updated_at: null,
        first_ready_at: "x",
        status_message: [],
      },
      {},
    ],
  ])("%s", (_, body, patch) => {
    expect(patchOf(body)).toEqual(patch);
  });

  test("an object without a display name is not renamed by its own name", () => {
    const object = { spec: { ...SPEC, displayName: undefined } };
    const current = { ...IDENTITY, displayName: "general-abcde", object };
    const result = mergeNodePoolUpdate(current, toNodePoolChange({ name: "general-abcde" }));
    expect(result).toMatchObject({ ok: true, changed: [] });
  });
});

describe("a merged result that breaks a rule is refused", () => {
  test.each<[string, Body, string[]]>([
    ["min_nodes above the stored desired_nodes", { min_nodes: 4 }, ["min_nodes/min_gt_desired"]],
    ["desired_nodes below the stored min_nodes", { desired_nodes: 0 }, ["min_nodes/min_gt_desired"]],
    ["desired_nodes above the stored max_nodes", { desired_nodes: 6 }, ["desired_nodes/desired_gt_max"]],
    ["max_nodes below the stored desired_nodes", { max_nodes: 2 }, ["desired_nodes/desired_gt_max"]],
    ["min_vcpus above max_vcpus", { min_vcpus: 8, max_vcpus: 4 }, ["min_vcpus/min_gt_max"]],
    ["a minimum that covers no node", { min_vcpus: 1, max_vcpus: 8 }, ["min_vcpus/below_one_node"]],
    [
      "a range with no number of nodes in it",
      { min_vcpus: 8, max_vcpus: 9, max_memory_gb: 4 },
      ["min_vcpus/min_gt_max"],
    ],
    ["another id", { id: "other" }, ["id/immutable"]],
    ["another cluster", { cluster_id: null }, ["cluster_id/immutable"]],
    ["other taints", { node_taints: [] }, ["node_taints/immutable"]],
    ["several at once", { id: "x", min_nodes: 9 }, ["id/immutable", "min_nodes/min_gt_desired"]],
  ])("%s", (_, body, faults) => {
    expect(patchOf(body)).toEqual(faults);
  });

  test("the message uses the wire names", () => {
    const result = merge({ min_nodes: 4 });
    expect(result.ok ? [] : result.details).toEqual([
      { field: "min_nodes", code: "min_gt_desired", message: "must not be greater than desired_nodes" },
    ]);
  });
});

test("stored values that a rule refuses by now must be fixed by the change, and can be", () => {
  const stored = { maxNodes: 2 };
  expect(patchOf({ disk_gb: 50 }, stored)).toEqual(["desired_nodes/desired_gt_max"]);
  expect(patchOf({ disk_gb: 50, max_nodes: 4 }, stored)).toEqual({ diskGB: 50, maxNodes: 4 });
  expect(patchOf({ desired_nodes: 2 }, stored)).toEqual({ desiredNodes: 2 });
});

describe("the body of a change", () => {
  test.each<[string, unknown]>([
    ["vcpus 0", { vcpus: 0 }],
    ["vcpus 129", { vcpus: 129 }],
    ["memory_gb 513", { memory_gb: 513 }],
    ["disk_gb 2049", { disk_gb: 2049 }],
    ["max_vcpus 0", { max_vcpus: 0 }],
    ["max_memory_gb 0", { max_memory_gb: 0 }],
    ["drain timeout 0", { drain_timeout_seconds: 0 }],
    ["drain timeout 29", { drain_timeout_seconds: 29 }],
    ["drain timeout 3601", { drain_timeout_seconds: 3601 }],
    ["scale-down delay 59", { scale_down_delay_seconds: 59 }],
    ["scale-down utilisation 91", { scale_down_utilization_percent: 91 }],
    ["null where it means nothing", { desired_nodes: null }],
    ["a fraction", { desired_nodes: 1.5 }],
    ["an empty name", { name: "" }],
    ["a name of 64 characters", { name: "x".repeat(64) }],
    ["an unknown field", { clusterName: "x" }],
    ["a reserved label", { node_labels: { "kubernetes.io/os": "linux" } }],
  ])("refuses %s", (_, body) => {
    expect(updateNodePoolBody.safeParse(body).success).toBe(false);
  });
});
