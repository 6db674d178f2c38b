import { findRestoredAt } from "../../shared/crd/identity.ts";
import { DEFAULT_NODES, type NodePool } from "../../shared/crd/node-pool.ts";
import { isAutoscaled } from "../../shared/crd/node-pool-rules.ts";
import type { ManagedFieldsEntry } from "../../shared/kube/kind.ts";
import type { GrantedPool } from "../capi/granted-pool.ts";

/** Written by `kubectl apply` and Argo CD when they apply on the client's side: the manifest as it was applied last. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** Both times of a creation have whole seconds, and the one in managedFields is read a moment earlier. */
const SAME_CREATION_MS = 1_000;

/**
 * A pool whose managedFields are only those of `desiredNodes`: empty = nobody sets it. A manifest that was applied on the client's
 * side with the number that was there is in no other managedFields.
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
 * How many nodes of a pool Cluster API was asked for last: what its topology has, which may wait for an upgrade to reach the pool;
 * of an autoscaled one, `liveNodes`. Undefined = it does not have the pool yet.
 */
export function findPresentNodes(
  granted: GrantedPool | undefined,
  liveNodes: number | undefined,
): number | undefined {
  return granted?.size.kind === "fixed" ? granted.size.nodes : liveNodes;
}

/**
 * The number of nodes that a fixed pool is to have, when Cluster API was asked for `presentNodes` last. A count that nobody sets
 * any more has fallen to the default of its definition, which removes no node: then it is `presentNodes`.
 */
export function findFixedCount(pool: NodePool, presentNodes: number | undefined): number {
  return isCountReleased(pool, presentNodes) ? presentNodes : pool.spec.desiredNodes;
}

/**
 * Whether the count of a fixed pool fell to its default because its last owner has left it out, and the default would remove
 * nodes. Of a count that nobody owned before either, the Kubernetes API records no scale: it was scaled to.
 */
export function isCountReleased(pool: NodePool, presentNodes: number | undefined): presentNodes is number {
  const { spec, status } = pool;
  if (isCountOwned(pool) || isAutoscaled(spec) || status?.countUnmanaged === true) return false;
  return spec.desiredNodes === DEFAULT_NODES && presentNodes !== undefined && presentNodes > DEFAULT_NODES;
}

/**
 * `countUnmanaged` of the status: of a fixed pool whose nodes are known, for only they tell whether its count was released. An
 * autoscaled pool has no count, and may lose its last owner meanwhile.
 */
export function isCountUnmanaged(pool: NodePool, presentNodes: number | undefined): boolean {
  if (isAutoscaled(pool.spec) || isCountOwned(pool) || presentNodes === undefined) return false;
  return !isCountReleased(pool, presentNodes);
}

/** Owners that are not known are some. */
function isCountOwned({ metadata }: NodePool): boolean {
  return metadata.managedFields?.length !== 0;
}

/**
 * A server-side apply owns what its manifest has, any other write what it has changed. So a manifest that is applied on the
 * client's side without the count it had before owns the default, and of one with the count that was there nothing is recorded:
 * there the annotation tells.
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
