import { DEFAULT_NODES, type NodePool } from "../../shared/crd/node-pool.ts";
import { isAutoscaled } from "../../shared/crd/node-pool-rules.ts";
import type { ManagedFieldsEntry, ObjectMeta } from "../../shared/kube/kind.ts";

/** Written by `kubectl apply` and Argo CD when they apply on the client's side: the manifest as it was applied last. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** A pool whose managedFields are only those of `desiredNodes`: empty = nobody sets it. */
export function trimNodePool(pool: NodePool): NodePool {
  const { managedFields = [], ...metadata } = pool.metadata;
  const owners = managedFields.filter((entry) => setsCount(entry, pool.metadata));
  return { ...pool, metadata: { ...metadata, managedFields: owners.map(keepCount) } };
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

/** `countUnmanaged` of the status. */
export function isCountUnmanaged(pool: NodePool, presentNodes: number | undefined): boolean {
  return !isCountOwned(pool) && !isCountReleased(pool, presentNodes);
}

/** Owners that are not known are some. */
function isCountOwned({ metadata }: NodePool): boolean {
  return metadata.managedFields?.length !== 0;
}

/**
 * A server-side apply owns what its manifest has, any other write what it has changed. So a manifest that is applied on the
 * client's side without the count it had before owns the default: there the annotation tells.
 */
function setsCount({ fieldsV1, subresource }: ManagedFieldsEntry, { annotations }: ObjectMeta): boolean {
  if (subresource === "status" || !hasKey(fieldsV1?.["f:spec"], "f:desiredNodes")) return false;
  const own = fieldsV1?.["f:metadata"] as { "f:annotations"?: unknown } | undefined;
  return !hasKey(own?.["f:annotations"], `f:${LAST_APPLIED}`) || appliesCount(annotations?.[LAST_APPLIED]);
}

function appliesCount(manifest = ""): boolean {
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
