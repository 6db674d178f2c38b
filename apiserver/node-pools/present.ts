import type { z } from "@hono/zod-openapi";
import { type ConditionLike, findCondition } from "../../shared/controller/conditions.ts";
import type { Cluster } from "../../shared/crd/cluster.ts";
import { isProtected } from "../../shared/crd/fields.ts";
import { type NodePool, type NodePoolSpec, nodePoolConditionTypes } from "../../shared/crd/node-pool.ts";
import { findMaximaBelowOneNode, isAutoscaled } from "../../shared/crd/node-pool-rules.ts";
import { NODE_POOL_WIRE_NAMES, toRestWords } from "../../shared/crd/rest-words.ts";
import { toTimestamp } from "../http/contract/fields.ts";
import { type ProjectedNodePool, statusMessageOf } from "../resources/project/index.ts";
import type { MutablePoolField } from "./merge-update.ts";
import type { nodePoolRecord } from "./schema.ts";

export type NodePoolRecord = z.output<typeof nodePoolRecord>;

/**
 * The node pool record. An optional setting that was never set is absent, so that the platform default keeps
 * applying; k8s_version, first_ready_at and status_message are null while there is none. desired_nodes is what was requested,
 * current_nodes what is registered.
 */
export function presentNodePool(pool: ProjectedNodePool): NodePoolRecord {
  const { metadata, spec, status } = pool.object;
  const message = statusMessageOf(pool.object);
  return {
    id: pool.id,
    cluster_id: pool.clusterId,
    name: pool.displayName,
    labels: spec.labels ?? {},
    deletion_protection: spec.deletionProtection ?? false,
    deletion_protection_state: spec.deletionProtection ? protectionStateOf(pool.object) : "off",
    expires_at: toTimestamp(spec.expiresAt),
    vcpus: spec.vcpus,
    memory_gb: spec.memoryGB,
    disk_gb: spec.diskGB,
    min_nodes: spec.minNodes,
    max_nodes: spec.maxNodes,
    desired_nodes: spec.desiredNodes,
    ...omitUndefined({
      min_vcpus: spec.minVCPUs,
      max_vcpus: spec.maxVCPUs,
      min_memory_gb: spec.minMemoryGB,
      max_memory_gb: spec.maxMemoryGB,
      node_labels: spec.nodeLabels,
      node_taints: spec.nodeTaints,
      drain_timeout_seconds: spec.drainTimeoutSeconds,
      scale_down_delay_seconds: spec.scaleDownDelaySeconds,
      scale_down_utilization_percent: spec.scaleDownUtilizationPercent,
    }),
    autoscaling: isAutoscaled(spec),
    current_nodes: status?.nodes ?? 0,
    ready_nodes: status?.readyNodes ?? 0,
    k8s_version: status?.version?.replace(/^v/, "") ?? null,
    generation: metadata.generation ?? 1,
    // -1 until the operator has observed the object.
    observed_generation: Math.max(0, status?.observedGeneration ?? 0),
    first_ready_at: toTimestamp(status?.firstReadyAt),
    status: pool.status,
    status_message: message === undefined ? describeMaxima(spec) : toRestWords(message),
    conditions: presentConditions(status?.conditions, nodePoolConditionTypes),
    created_at: toTimestamp(metadata.creationTimestamp) ?? pool.updatedAt.toISOString(),
    updated_at: pool.updatedAt.toISOString(),
  };
}

/** Whether the protection of a cluster or a pool that asks for one holds in every way; `off` while it is being deleted. */
export function protectionStateOf(object: Cluster | NodePool): "off" | "pending" | "on" {
  if (!isProtected(object)) return "off";
  return findCondition(object.status?.conditions, "DeletionProtected")?.status === "True" ? "on" : "pending";
}

/** Marina's own conditions, of these types: what other controllers report of the object is for those who work with Kubernetes. */
export function presentConditions(
  conditions: readonly ConditionLike[] | undefined,
  types: readonly string[],
): NodePoolRecord["conditions"] {
  const own = types.flatMap((type) => findCondition(conditions, type) ?? []);
  return own.map(({ type, status, reason, message, lastTransitionTime }) => ({
    type,
    status,
    reason,
    message: toRestWords(message),
    last_transition_time: toTimestamp(lastTransitionTime) ?? lastTransitionTime,
  }));
}

/** The settings of a pool in an audit row, by wire name; only `fields` where they are given. */
export function auditNodePool(
  spec: NodePoolSpec,
  fields: readonly MutablePoolField[] = Object.keys(NODE_POOL_WIRE_NAMES) as MutablePoolField[],
): Record<string, unknown> {
  return Object.fromEntries(
    fields
      .filter((field) => spec[field] !== undefined)
      .map((field) => [NODE_POOL_WIRE_NAMES[field], spec[field]]),
  );
}

type Defined<T> = { [Key in keyof T]?: Exclude<T[Key], undefined> };

function omitUndefined<T extends object>(fields: T): Defined<T> {
  const defined: Defined<T> = {};
  for (const name of Object.keys(fields) as (keyof T)[]) {
    const value = fields[name];
    if (value !== undefined) defined[name] = value as Defined<T>[keyof T];
  }
  return defined;
}

/** Says that the pool keeps its first node when that node exceeds a maximum; null when no maximum is less than one node. */
function describeMaxima(spec: NodePoolSpec): string | null {
  const exceeded = findMaximaBelowOneNode(spec).map((field) => NODE_POOL_WIRE_NAMES[field]);
  if (exceeded.length === 0) return null;
  const size = `${spec.vcpus} vCPUs and ${spec.memoryGB} GiB`;
  return `The pool may have one node although a node (${size}) exceeds ${exceeded.join(" and ")}; raise it to allow more.`;
}
