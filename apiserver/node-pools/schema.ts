import { z } from "@hono/zod-openapi";
import { isExpired, MAX_NODES_PER_POOL } from "../../shared/crd/fields.ts";
import { MAX_NODE_TAINTS, nodeTaintSchema, taintsOf } from "../../shared/crd/node-metadata.ts";
import { type NodePoolSpec, nodePoolSpecSchema } from "../../shared/crd/node-pool.ts";
import { costEffectRecord } from "../billing/index.ts";
import {
  countField,
  idField,
  immutableField,
  nameField,
  readOnlyField,
  textField,
  timeSchema,
  timestampField,
} from "../http/contract/fields.ts";
import { labelSelectorQuery, replacedLabelsSchema } from "../http/contract/label-selector.ts";
import { pageQuery, pageSchema } from "../http/contract/page.ts";
import { type ErrorDetail, MAX_DETAILS } from "../http/errors.ts";
import { quotaEffectsField } from "../quotas/index.ts";
import { NODE_POOL_STATUSES } from "../resources/project/index.ts";
import { EXAMPLE_EFFECTS, exampleNodePool } from "./examples.ts";
import { conditionsField, tenantEffects, warningRecord } from "./fields-schema.ts";
import type { NodePoolChange } from "./merge-update.ts";

const END =
  "When it is deleted by itself; null: never. A deletion_protection that is true then holds it back. Events of the cluster announce it 7 days, 24 hours and 1 hour before.";

/** What holds the deletion of a cluster or node pool back, and when it happens by itself. */
export const deletionFields = {
  deletion_protection: z.boolean().openapi({
    description: "Whether a deletion is refused, by REST and by every other way. Set it to false first.",
    example: false,
  }),
  deletion_protection_state: z.enum(["off", "pending", "on"]).openapi({
    description:
      "Whether deletion_protection holds in every way: pending until the place where the platform keeps it is protected too, which takes moments; for good where that place is being deleted already.",
    example: "off",
  }),
  expires_at: timestampField(END).nullable(),
};

/** Its form in a body. */
export const deletionSettings = {
  deletion_protection: deletionFields.deletion_protection.optional(),
  expires_at: timeSchema
    .nullish()
    .openapi({ type: ["string", "null"], format: "date-time", description: END, example: null }),
};

/** The detail of an end date that would delete at once, which is refused: that is what DELETE is for. */
export function findPastExpiry(
  expiresAt: string | null | undefined,
  now: Date,
  field = "expires_at",
): ErrorDetail[] {
  if (!isExpired({ expiresAt: expiresAt ?? undefined }, now)) return [];
  return [{ field, code: "out_of_range", message: "must be in the future" }];
}

const MAX_NODES = 1_000_000;

/** What a request would do beyond the record itself. */
export const effectsRecord = z
  .object({
    quota: quotaEffectsField,
    nodes_replaced: countField(MAX_NODES, "Nodes that are replaced by new ones.", 3),
    nodes_added: countField(
      MAX_NODES,
      "Nodes beyond those that exist; of an autoscaled pool as far as it must grow.",
      3,
    ),
    nodes_removed: countField(MAX_NODES, "Nodes that are removed without a replacement."),
    warnings: z
      .array(warningRecord)
      .max(MAX_DETAILS)
      .openapi({ description: "What the request would be accepted with and yet not get." }),
    cost: costEffectRecord,
    ...tenantEffects,
  })
  .openapi("Effects", {
    description: "What the request does beyond the record itself.",
    example: EXAMPLE_EFFECTS,
  });

export type Effects = z.output<typeof effectsRecord>;
export type NodeEffects = Omit<Effects, "quota" | "cost" | "warnings" | keyof typeof tenantEffects>;

const spec = nodePoolSpecSchema.shape;

/** The bounds of the settings are those of the custom resource; only the names differ. */
const size = { vcpus: spec.vcpus, memory_gb: spec.memoryGB, disk_gb: spec.diskGB };
/** REST asks for them: only the custom resource has defaults. */
const nodeCounts = {
  min_nodes: spec.minNodes.unwrap(),
  max_nodes: spec.maxNodes.unwrap(),
  desired_nodes: spec.desiredNodes.unwrap(),
};
const optionalSettings = {
  min_vcpus: spec.minVCPUs,
  max_vcpus: spec.maxVCPUs,
  min_memory_gb: spec.minMemoryGB,
  max_memory_gb: spec.maxMemoryGB,
  node_labels: spec.nodeLabels,
};
const nodePoolLabels = spec.labels.unwrap();
const platformDefaulted = {
  drain_timeout_seconds: spec.drainTimeoutSeconds.describe(
    "Seconds to wait for the pods of a node to be evicted before the node is deleted. Absent: the platform's default of 600 applies.",
  ),
  scale_down_delay_seconds: spec.scaleDownDelaySeconds.describe(
    "Seconds that a node must stay underutilised before the autoscaler removes it. Absent: the platform's default of 600 applies. No effect in a fixed pool.",
  ),
  scale_down_utilization_percent: spec.scaleDownUtilizationPercent.describe(
    "A node is underutilised when its CPU and memory requests are both below this share of its capacity. Absent: the platform's default of 50 applies. No effect in a fixed pool.",
  ),
};
const nullIsNoChange = <S extends z.ZodType>(schema: S) =>
  schema
    .nullable()
    .describe(`${schema.description} null means no change. Cannot be cleared back to the default once set.`);

const MAX_GENERATION = Number.MAX_SAFE_INTEGER;

const taint = z.object(nodeTaintSchema.shape).openapi("Taint", {
  example: { key: "batch", value: "true", effect: "NoSchedule" },
});
/** Without unknown fields, which a custom resource drops and REST refuses. */
const createTaint = z
  .strictObject(nodeTaintSchema.shape)
  .openapi("CreateTaint", { example: { key: "batch", value: "true", effect: "NoSchedule" } });
export const nodePoolRecord = z
  .object({
    id: idField("The node pool."),
    cluster_id: idField("The cluster that it belongs to."),
    name: textField(63, "Name shown to people; unique in the cluster, letter case aside."),
    labels: nodePoolLabels,
    ...deletionFields,
    ...size,
    ...nodeCounts,
    ...optionalSettings,
    node_taints: z
      .array(taint)
      .max(MAX_NODE_TAINTS)
      .optional()
      .openapi({ description: "Taints that its nodes register with; fixed at creation." }),
    ...platformDefaulted,
    autoscaling: z.boolean().openapi({
      description:
        "Whether the cluster autoscaler chooses the number of nodes: within max_vcpus or max_memory_gb.",
    }),
    current_nodes: countField(MAX_NODES_PER_POOL, "Nodes that are registered now.", 3),
    ready_nodes: countField(MAX_NODES_PER_POOL, "Nodes that are ready now.", 3),
    k8s_version: textField(
      16,
      "The version that all of its nodes run; while they differ, the last one that all of them ran; null while there is none.",
      "1.34.2",
    ).nullable(),
    generation: countField(MAX_GENERATION, "Rises with each change of the settings."),
    observed_generation: countField(MAX_GENERATION, "The generation that status describes."),
    first_ready_at: timestampField("When it was ready for the first time.").nullable(),
    status: z.enum(NODE_POOL_STATUSES).openapi({ description: "Summary of the state." }),
    status_message: textField(
      1024,
      "What the pool waits for, or what went wrong and how to fix it.",
    ).nullable(),
    conditions: conditionsField("The conditions of the node pool."),
    created_at: timestampField("When it was created."),
    updated_at: timestampField(
      "When its settings changed last, or REST was asked to replace one of its nodes; in whole seconds.",
    ),
    effects: effectsRecord.optional(),
  })
  .openapi("NodePool", { example: exampleNodePool });

export const nodePoolListQuery = pageQuery.extend({ labels: labelSelectorQuery.optional() });

export const nodePoolPage = pageSchema(nodePoolRecord, "NodePoolPage");

const poolName = nameField(63, "Name shown to people; unique in the cluster, letter case aside.");

/** A pool to create. min_nodes and max_nodes default to desired_nodes. */
export const createNodePoolBody = z
  .strictObject({
    name: poolName,
    labels: nodePoolLabels.optional(),
    ...deletionSettings,
    ...size,
    desired_nodes: nodeCounts.desired_nodes,
    min_nodes: nodeCounts.min_nodes.optional(),
    max_nodes: nodeCounts.max_nodes.optional(),
    ...optionalSettings,
    node_taints: taintsOf(createTaint).optional(),
    ...platformDefaulted,
  })
  .openapi("CreateNodePool", {
    example: { name: "general", vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 3 },
  });

/** A change of a pool: omitted fields keep their values. What GET returns may be sent back unchanged. */
export const updateNodePoolBody = z
  .strictObject({
    labels: replacedLabelsSchema.optional(),
    ...deletionSettings,
    ...z.object({ name: poolName, ...size, ...nodeCounts }).partial().shape,
    ...optionalSettings,
    drain_timeout_seconds: nullIsNoChange(platformDefaulted.drain_timeout_seconds),
    scale_down_delay_seconds: nullIsNoChange(platformDefaulted.scale_down_delay_seconds),
    scale_down_utilization_percent: nullIsNoChange(platformDefaulted.scale_down_utilization_percent),
    id: immutableField(z.unknown()),
    cluster_id: immutableField(z.unknown()),
    node_taints: immutableField(z.unknown()),
    autoscaling: readOnlyField,
    current_nodes: readOnlyField,
    ready_nodes: readOnlyField,
    k8s_version: readOnlyField,
    generation: readOnlyField,
    observed_generation: readOnlyField,
    first_ready_at: readOnlyField,
    deletion_protection_state: readOnlyField,
    status: readOnlyField,
    status_message: readOnlyField,
    conditions: readOnlyField,
    created_at: readOnlyField,
    updated_at: readOnlyField,
    effects: readOnlyField,
  })
  .openapi("UpdateNodePool", { example: { desired_nodes: 5, max_nodes: 5 } });

export type CreateNodePoolBody = z.output<typeof createNodePoolBody>;
type UpdateNodePoolBody = z.output<typeof updateNodePoolBody>;

/** The NodePool spec of a create body. Rules between fields are not checked here. */
export function toNodePoolSpec(body: CreateNodePoolBody, clusterName: string): NodePoolSpec {
  return {
    clusterName,
    displayName: body.name,
    labels: body.labels,
    deletionProtection: body.deletion_protection,
    expiresAt: body.expires_at?.toISOString(),
    vcpus: body.vcpus,
    memoryGB: body.memory_gb,
    diskGB: body.disk_gb,
    desiredNodes: body.desired_nodes,
    minNodes: body.min_nodes ?? body.desired_nodes,
    maxNodes: body.max_nodes ?? body.desired_nodes,
    minVCPUs: body.min_vcpus,
    maxVCPUs: body.max_vcpus,
    minMemoryGB: body.min_memory_gb,
    maxMemoryGB: body.max_memory_gb,
    nodeLabels: body.node_labels,
    nodeTaints: body.node_taints,
    drainTimeoutSeconds: body.drain_timeout_seconds,
    scaleDownDelaySeconds: body.scale_down_delay_seconds,
    scaleDownUtilizationPercent: body.scale_down_utilization_percent,
  };
}

/** The change that a PUT body requests; fields that only the server writes are left out. */
export function toNodePoolChange(body: UpdateNodePoolBody): NodePoolChange {
  return {
    settings: {
      displayName: body.name,
      labels: body.labels,
      deletionProtection: body.deletion_protection,
      expiresAt: body.expires_at === null ? null : body.expires_at?.toISOString(),
      vcpus: body.vcpus,
      memoryGB: body.memory_gb,
      diskGB: body.disk_gb,
      minNodes: body.min_nodes,
      maxNodes: body.max_nodes,
      desiredNodes: body.desired_nodes,
      minVCPUs: body.min_vcpus,
      maxVCPUs: body.max_vcpus,
      minMemoryGB: body.min_memory_gb,
      maxMemoryGB: body.max_memory_gb,
      nodeLabels: body.node_labels,
      drainTimeoutSeconds: body.drain_timeout_seconds,
      scaleDownDelaySeconds: body.scale_down_delay_seconds,
      scaleDownUtilizationPercent: body.scale_down_utilization_percent,
    },
    immutable: { id: body.id, cluster_id: body.cluster_id, node_taints: body.node_taints },
  };
}
