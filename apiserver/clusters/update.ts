import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import { MANAGER_APISERVER } from "../../shared/crd/names.ts";
import type { VersionCatalogue } from "../../shared/kubernetes-version.ts";
import { recordAudit } from "../audit/store.ts";
import type { Deps } from "../deps.ts";
import { ApiError, validationFailed } from "../http/errors.ts";
import { objectTag, requireMatch } from "../http/etag.ts";
import type { Origin } from "../http/principal.ts";
import { findApplyOwner, isCertainlyNotWritten, patchOnce } from "../node-pools/store.ts";
import { type ProjectedCluster, projectSights, releaseName, reserveName } from "../projection/store.ts";
import { presentAudit } from "./audit-fields.ts";
import { nameTaken, projectLive, readLive } from "./live.ts";
import { mergeUpdate } from "./merge-update.ts";
import { CLUSTER_WIRE_NAMES, type UpdateClusterBody } from "./schema.ts";

const MAX_ATTEMPTS = 5;
const NOT_RUNNING_RETRY_SECONDS = 30;

export interface ClusterUpdate {
  body: UpdateClusterBody;
  catalogue: VersionCatalogue;
  ifMatch: string | undefined;
  /** Called with the fields that change before anything is written; throws 403 for one that is not allowed. */
  requirePermissions(patch: { displayName?: string; version?: string }): void;
}

/**
 * Changes a cluster: merges with a live read and patches just the fields that change, on the version that was read; a
 * conflict is read and merged again, at most five times. Throws 404, 412 for If-Match, 422 for the merged result, 403,
 * 409 cluster_not_running, already_exists, managed_elsewhere or conflict.
 */
export async function updateCluster(
  deps: Deps,
  origin: Origin,
  cluster: ProjectedCluster,
  update: ClusterUpdate,
): Promise<ProjectedCluster> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const live = await readLive(deps, cluster);
    requireMatch(update.ifMatch, objectTag(live.metadata));
    const current = projectLive(live, cluster.orgId);
    const patch = requirePatch(current, update);
    update.requirePermissions(patch);
    if (Object.keys(patch).length === 0) return current;
    if (current.status === "deleting")
      throw new ApiError("conflict", "The cluster is being deleted; it cannot be changed any more.");
    requireUnmanaged(live, patch);

    const written = await patchReserved(deps, origin, current, live, patch);
    if (written !== undefined) return commit(deps, origin, live, written, cluster.orgId);
  }
  throw new ApiError("conflict", "The cluster is being changed by others at this moment; try again.", {
    retryAfterSeconds: 1,
  });
}

type Patch = { displayName?: string; version?: string };

function requirePatch(current: ProjectedCluster, { body, catalogue }: ClusterUpdate): Patch {
  const merge = mergeUpdate(current, body, catalogue);
  if (merge.outcome === "patch") return merge.patch;
  if (merge.outcome === "invalid") throw validationFailed(merge.details);
  throw new ApiError(
    "cluster_not_running",
    `An upgrade needs a running cluster; this one is ${current.status}.`,
    {
      retryAfterSeconds: NOT_RUNNING_RETRY_SECONDS,
    },
  );
}

function requireUnmanaged(live: Cluster, patch: Patch): void {
  for (const field of Object.keys(patch) as (keyof Patch)[]) {
    const owner = findApplyOwner(live.metadata.managedFields, field, MANAGER_APISERVER);
    if (owner !== undefined)
      throw new ApiError(
        "managed_elsewhere",
        `${CLUSTER_WIRE_NAMES[field]} is managed by ${owner}; change it there, or it would be set back.`,
      );
  }
}

async function patchReserved(
  deps: Deps,
  { requestId }: Origin,
  { orgId, id }: ProjectedCluster,
  live: Cluster,
  patch: Patch,
): Promise<Cluster | undefined> {
  const write = () => patchOnce(deps.kube, clusterKind, live, { ...patch }, requestId, CLUSTER_WIRE_NAMES);
  const name = patch.displayName;
  if (name === undefined) return write();
  if (!(await reserveName(deps.db, orgId, name, id))) throw await nameTaken(deps, orgId, name);
  try {
    return await write();
  } catch (error) {
    if (isCertainlyNotWritten(error) || error instanceof ApiError)
      await releaseName(deps.db, orgId, name, id);
    throw error;
  }
}

async function commit(
  deps: Deps,
  origin: Origin,
  before: Cluster,
  after: Cluster,
  orgId: string,
): Promise<ProjectedCluster> {
  const projected = projectLive(after, orgId);
  await deps.db.transaction(async (tx) => {
    await recordAudit(tx, origin, {
      action: "cluster.update",
      orgId,
      target: { kind: "cluster", id: projected.id },
      before: presentAudit(before.spec, before.metadata.name),
      after: presentAudit(after.spec, after.metadata.name),
      result: "done",
    });
    await projectSights(tx, [{ object: projected }]);
  });
  return projected;
}
