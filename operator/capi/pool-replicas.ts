import { findRestoredAt } from "../../shared/crd/identity.ts";
import { DEFAULT_NODES, type NodePool } from "../../shared/crd/node-pool.ts";
import { isAutoscaled } from "../../shared/crd/node-pool-rules.ts";
import type { ManagedFieldsEntry } from "../../shared/kube/kind.ts";
import type { TopologyPool } from "./worker-pool.ts";

/** Written by `kubectl apply` and Argo CD when they apply on the client's side: the manifest as it was applied last. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** Both times of a creation have whole seconds, and the one in managedFields is read a moment earlier. */
const SAME_CREATION_MS = 1_000;

/**
 * A pool whose managedFields are only those of `desiredNodes`: empty = no manager sets it. A manifest that was applied on
 * the client's side with the number that was there is in no other managedFields.
 */
export function trimNodePool(pool: NodePool): NodePool {
  const { managedFields = [], ...metadata } = pool.metadata;
  const owners = managedFields
    .filter((entry) => setsCount(entry) && !isOfRestoring(entry, pool))
    .map(keepCount);
  if (appliesCount(metadata.annotations?.[LAST_APPLIED]))
    owners.push({ manager: LAST_APPLIED, operation: "Update" });
  return { ...pool, metadata: { ...metadata, managedFields: owners } };
}

/**
 * The number of nodes that Cluster API is asked for now: the replicas of a pool's entry in the live topology, or those of its
 * MachineDeployment where the entry is autoscaled, and so has none, or is not there. Undefined = neither has any.
 */
export function findLiveReplicas(
  topologyPool: TopologyPool | undefined,
  machineDeploymentReplicas: number | undefined,
): number | undefined {
  return topologyPool?.scale.kind === "fixed" ? topologyPool.scale.nodes : machineDeploymentReplicas;
}

/**
 * The number of nodes that a fixed pool is to have. Once no manager sets it (`isCountReleased`) it is `replicas`, so
 * that no node is removed.
 */
export function findFixedCount(pool: NodePool, replicas: number | undefined): number {
  return isCountReleased(pool, replicas) ? replicas : pool.spec.desiredNodes;
}

/**
 * Whether the last manager of a fixed pool's count has stopped setting it (`CountReleased`), as when a manifest with 5 nodes
 * is applied again without them: Kubernetes stores the default, and the pool keeps 5. A count that had no manager before
 * either (`countUnmanaged`) is no release: a client scaled it to the default, which Kubernetes does not record.
 */
export function isCountReleased(pool: NodePool, replicas: number | undefined): replicas is number {
  const { spec, status } = pool;
  if (isCountOwned(pool) || isAutoscaled(spec) || status?.countUnmanaged === true) return false;
  return spec.desiredNodes === DEFAULT_NODES && replicas !== undefined && replicas > DEFAULT_NODES;
}

/**
 * `countUnmanaged` of the status: the count has no manager, and is no case of `isCountReleased`. False while the nodes
 * of the pool are unknown, for these tell the two apart, and of an autoscaled pool: it has no count.
 */
export function isCountUnmanaged(pool: NodePool, replicas: number | undefined): boolean {
  if (isAutoscaled(pool.spec) || isCountOwned(pool) || replicas === undefined) return false;
  return !isCountReleased(pool, replicas);
}

/** Without managedFields the owners are unknown: then the count counts as owned. */
function isCountOwned({ metadata }: NodePool): boolean {
  return metadata.managedFields?.length !== 0;
}

/**
 * Whether the writer of an entry sets the count. A server-side apply owns what its manifest has, any other write what
 * it has changed: a client-side apply without the count owns the default, and one with the same count owns nothing.
 * Entries that write the annotation with the manifest do not count, for that says it (`appliesCount`).
 */
function setsCount({ fieldsV1, subresource }: ManagedFieldsEntry): boolean {
  if (subresource === "status" || !hasKey(fieldsV1?.["f:spec"], "f:desiredNodes")) return false;
  const own = fieldsV1?.["f:metadata"] as { "f:annotations"?: unknown } | undefined;
  return !hasKey(own?.["f:annotations"], `f:${LAST_APPLIED}`);
}

/** Whether a program that restored the pool from a backup wrote the default, as it wrote every field. */
function isOfRestoring({ operation, time = "" }: ManagedFieldsEntry, pool: NodePool): boolean {
  const restoredAt = findRestoredAt(pool)?.getTime();
  if (restoredAt === undefined || operation !== "Update" || pool.spec.desiredNodes !== DEFAULT_NODES)
    return false;
  return Math.abs(Date.parse(time) - restoredAt) <= SAME_CREATION_MS;
}

function appliesCount(manifest: string | undefined): boolean {
  if (manifest === undefined) return false;
  try {
    return hasKey(JSON.parse(manifest)?.spec, "desiredNodes");
  } catch {
    return true;
  }
}

function hasKey(fields: unknown, key: string): boolean {
  return typeof fields === "object" && fields !== null && Object.hasOwn(fields, key);
}

function keepCount({ manager, operation }: ManagedFieldsEntry): ManagedFieldsEntry {
  return { manager, operation };
}
