import { z } from "@hono/zod-openapi";
import { describeDeletionProtection, isProtected, type Protectable } from "../../../shared/crd/fields.ts";
import { ANNOTATION_HOLD } from "../../../shared/crd/names.ts";
import { withWireNames } from "../../../shared/crd/rest-words.ts";
import type { Queryable } from "../../db/client.ts";
import { ApiError, notFound } from "../../http/errors.ts";
import {
  findCluster,
  findNodePool,
  type ProjectedCluster,
  type ProjectedNodePool,
} from "../project/index.ts";

/** Query of an operation that has a dry run. */
export const dryRunQuery = z.strictObject({
  dry_run: z
    .enum(["true", "false"])
    .default("false")
    .transform((text) => text === "true")
    .openapi({
      type: "boolean",
      default: false,
      description:
        "A dry run: every check is made, and nothing is changed. The response is 200 with the record as it would be and the effects of the request.",
    }),
});

/** When a client may read again what was accepted with 202. */
export const RETRY_AFTER = { "Retry-After": "10" };

/** The projected cluster in a path. Throws 404. */
export async function requireCluster(
  db: Queryable,
  orgId: string,
  clusterId: string,
): Promise<ProjectedCluster> {
  const cluster = await findCluster(db, orgId, clusterId);
  if (cluster === undefined) throw notFound("cluster");
  return cluster;
}

/** Throws 409 conflict for a cluster that is suspended. */
export function requireNotSuspended({ object }: ProjectedCluster): void {
  if (object.spec.suspend !== true) return;
  const message =
    "The cluster is suspended: nothing about it can be changed until it is resumed. Ask the platform's operator.";
  // With Retry-After it is not stored under an Idempotency-Key: it ends with the suspension.
  throw new ApiError("conflict", message, { retryAfterSeconds: 60 });
}

/** Throws 409 conflict for a cluster that the platform holds. */
export function requireNotHeld({ object }: ProjectedCluster): void {
  const reason = object.metadata.annotations?.[ANNOTATION_HOLD];
  if (reason === undefined) return;
  const message = `The platform holds this cluster: ${reason}. It cannot be deleted until the platform's operator removes the hold.`;
  throw new ApiError("conflict", message);
}

/** Throws 409 deletion_protected for an object that is protected and not being deleted already. */
export function requireUnprotected(
  { object, displayName }: { object: Protectable; displayName: string },
  noun: string,
): void {
  if (!isProtected(object)) return;
  throw new ApiError("deletion_protected", withWireNames(describeDeletionProtection(noun, displayName)));
}

/**
 * Throws 404 for a cluster that is deleted, 409 conflict for one that is suspended. A change of one of its node pools calls it in the
 * transaction that commits the intent: the cluster may have been suspended since the request came.
 */
export async function requireUnsuspendedCluster(
  tx: Queryable,
  { orgId, clusterId }: Pick<ProjectedNodePool, "orgId" | "clusterId">,
): Promise<ProjectedCluster> {
  const cluster = await requireCluster(tx, orgId, clusterId);
  requireNotSuspended(cluster);
  return cluster;
}

/** The projected node pool in a path. Throws 404, also for its cluster. */
export async function requireNodePool(
  db: Queryable,
  orgId: string,
  clusterId: string,
  poolId: string,
): Promise<ProjectedNodePool> {
  const [, pool] = await Promise.all([
    requireCluster(db, orgId, clusterId),
    findNodePool(db, orgId, clusterId, poolId),
  ]);
  if (pool === undefined) throw notFound("node pool");
  return pool;
}
