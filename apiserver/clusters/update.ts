import { type Cluster, type ClusterSpec, clusterKind } from "../../shared/crd/cluster.ts";
import type { AuditEntry } from "../audit/index.ts";
import type { Deps } from "../deps.ts";
import type { Origin } from "../http/authentication/principal.ts";
import { objectTag, requireMatch } from "../http/contract/etag.ts";
import { ApiError, validationFailed } from "../http/errors.ts";
import { patchOnce, requireUnmanaged, retryOvertaken } from "../node-pools/store.ts";
import { type ProjectedCluster, projectObservations, releaseName, reserveName } from "../projection/store.ts";
import { type Claims, type Written, writeWithIntent } from "../write-intents/store.ts";
import { presentAudit } from "./audit-fields.ts";
import { nameTaken, projectLive, readLive, requireNotDeleting } from "./live.ts";
import type { ClusterMerge, ClusterPatch } from "./merge-update.ts";
import { CLUSTER_WIRE_NAMES } from "./schema.ts";

const NOT_RUNNING_RETRY_SECONDS = 30;

export interface ClusterChange {
  /** What the audit row calls it. */
  action: "cluster.update" | "cluster.upgrade" | "cluster.rotate_credentials";
  ifMatch: string | undefined;
  /** What has to change, by the rules, of the cluster as it is in this very moment. */
  decide(current: ProjectedCluster): ClusterMerge;
  /** Called with the fields that change before anything is written; throws 403 for one that is not allowed. */
  requirePermissions(patch: ClusterPatch): void;
}

/**
 * Changes a cluster: decides by a live read and patches just the fields that change, on the version that was read; a
 * conflict is read and decided again, at most five times. Throws 404, 412 for If-Match, 422 for what is decided, 403,
 * 409 cluster_not_running, already_exists, managed_elsewhere or conflict.
 */
export async function changeCluster(
  deps: Deps,
  origin: Origin,
  cluster: ProjectedCluster,
  change: ClusterChange,
): Promise<ProjectedCluster> {
  return retryOvertaken("The cluster", async () => {
    const { live, current, patch } = await decideChange(deps, cluster, change);
    if (Object.keys(patch).length === 0) return current;
    const entry = toAudit(change.action, current, live, { ...live.spec, ...patch });
    const written = await writeWithIntent(
      deps,
      origin,
      { kind: "Cluster", verb: "change", metadata: live.metadata, entry },
      () =>
        patchOnce(deps.kube, clusterKind, live, {
          spec: { ...patch },
          requestId: origin.requestId,
          wireNames: CLUSTER_WIRE_NAMES,
        }),
      claimsOf(current, patch.displayName),
    );
    return written === undefined ? undefined : commit(deps, cluster.orgId, written);
  });
}

/** What a change has to write of the cluster as it is in this very moment. Throws what `changeCluster` does of it. */
export async function decideChange(
  deps: Deps,
  cluster: ProjectedCluster,
  change: ClusterChange,
): Promise<{ live: Cluster; current: ProjectedCluster; patch: ClusterPatch }> {
  const live = await readLive(deps, cluster);
  requireMatch(change.ifMatch, objectTag(live.metadata));
  const current = projectLive(live, cluster.orgId);
  const patch = requirePatch(current, change.decide(current));
  change.requirePermissions(patch);
  const changed = Object.keys(patch) as (keyof ClusterPatch)[];
  if (changed.length === 0) return { live, current, patch };
  requireNotDeleting(current);
  requireUnmanaged(live.metadata.managedFields, changed, CLUSTER_WIRE_NAMES);
  return { live, current, patch };
}

function requirePatch(current: ProjectedCluster, merge: ClusterMerge): ClusterPatch {
  if (merge.outcome === "patch") return merge.patch;
  if (merge.outcome === "invalid") throw validationFailed(merge.details);
  throw new ApiError(
    "cluster_not_running",
    `An upgrade needs a running cluster; this one is ${current.status}.`,
    { retryAfterSeconds: NOT_RUNNING_RETRY_SECONDS },
  );
}

/** The claim of a new name; undefined where the name stays. */
function claimsOf({ orgId, id }: ProjectedCluster, name: string | undefined): Claims | undefined {
  if (name === undefined) return undefined;
  return {
    async take(tx) {
      if (!(await reserveName(tx, orgId, name, id))) throw await nameTaken(tx, orgId, name);
    },
    // The projection makes the name the cluster's own.
    settle: async () => undefined,
    release: (tx) => releaseName(tx, orgId, name, id),
  };
}

function toAudit(
  action: ClusterChange["action"],
  { orgId, id }: ProjectedCluster,
  live: Cluster,
  wanted: ClusterSpec,
): AuditEntry {
  return {
    action,
    orgId,
    target: { kind: "cluster", id },
    before: presentAudit(live.spec, live.metadata.name),
    after: presentAudit(wanted, live.metadata.name),
    result: "done",
  };
}

async function commit(
  deps: Deps,
  orgId: string,
  { object, tell }: Written<Cluster>,
): Promise<ProjectedCluster> {
  const projected = projectLive(object, orgId);
  await deps.db.transaction(async (tx) => {
    await tell(tx);
    await projectObservations(tx, [{ object: projected }]);
  });
  return projected;
}
