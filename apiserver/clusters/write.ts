import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import type { ClassCapabilitiesByPlan } from "../../shared/crd/published-config.ts";
import { CLUSTER_AMOUNTS, NO_AMOUNTS } from "../../shared/crd/quota.ts";
import { CLUSTER_WIRE_NAMES } from "../../shared/crd/rest-words.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import { assessCost } from "../billing/index.ts";
import type { Queryable } from "../db/client.ts";
import type { Deps } from "../deps.ts";
import type { Caller } from "../http/contract/caller.ts";
import type { Preconditions } from "../http/contract/etag.ts";
import { ApiError, type ErrorDetail, validationFailed } from "../http/errors.ts";
import {
  amountsOfDelete,
  type Effects,
  effectsOfDelete,
  effectsOfUpgrade,
  findPastExpiry,
  sumEffects,
  toRemainingPools,
} from "../node-pools/index.ts";
import { assessQuota } from "../quotas/index.ts";
import { findPlanCapabilities } from "../resources/platform-config.ts";
import {
  listAllNodePools,
  type ProjectedCluster,
  type ProjectedNodePool,
  toProjectedCluster,
} from "../resources/project/index.ts";
import {
  type Collection,
  changeObject,
  deleteObject,
  patchOfMap,
  requireNotHeld,
  requireNotSuspended,
  requireUnprotected,
  type ScheduledOption,
  saveProjection,
  type WriteResult,
} from "../resources/write/index.ts";
import type { ClusterMerge, ClusterPatch } from "./merge-update.ts";
import { auditCluster } from "./present.ts";
import {
  type CheckedUpgrade,
  decideForce,
  findBlockWarnings,
  findNewVersion,
  findUnsupportedByClass,
  requireUnblocked,
} from "./upgrade-decision.ts";

const NOT_RUNNING_RETRY_SECONDS = 30;

type ClusterResult = WriteResult<ProjectedCluster, Effects>;

interface ClusterChange {
  action: "cluster.update" | "cluster.upgrade" | "cluster.rotate_credentials";
  preconditions: Preconditions | undefined;
  dryRun?: boolean;
  /** What to change of the current cluster, by the rules. */
  merge: (current: ProjectedCluster) => ClusterMerge;
  /** Called with the fields that change before anything is written; throws 403 for one that is not allowed. */
  requirePermissions?: (patch: ClusterPatch, current: ProjectedCluster) => void;
  /** What the body says of an upgrade; undefined = it can be none. */
  upgrade?: CheckedUpgrade;
  /** What the classes of new clusters are known to have; an upgrade brings the one of its plan. */
  classes?: ClassCapabilitiesByPlan;
}

/**
 * Changes a cluster: what is there already is not written. `newVersion` is undefined where no upgrade begins. Throws 422
 * for what is decided, 403, 409 upgrade_blocked, cluster_not_running, already_exists or conflict, and what `changeObject` throws.
 */
export async function changeCluster(
  deps: Deps,
  caller: Caller,
  cluster: ProjectedCluster,
  { action, preconditions, dryRun = false, merge, requirePermissions, upgrade, classes = {} }: ClusterChange,
): Promise<ClusterResult & { newVersion: string | undefined }> {
  const clusters = clustersOf(cluster.orgId);
  let newVersion: string | undefined;
  const result = await changeObject<Cluster, ProjectedCluster, Effects>(deps, caller, clusters, cluster, {
    action,
    preconditions,
    dryRun,
    decide(current) {
      const patch = requirePatch(current, merge(current));
      requirePermissions?.(patch, current);
      newVersion = findNewVersion(current, patch.version);
      const { spec, metadata } = current.object;
      if (newVersion !== undefined && upgrade !== undefined) {
        const capabilities = findPlanCapabilities(classes, spec.plan);
        const [lack, ...others] = findUnsupportedByClass(current, capabilities, upgrade.field);
        if (lack !== undefined) throw validationFailed([lack, ...others]);
      }
      const { expiresAt = spec.expiresAt, ...settings } = patch;
      const desired = { ...spec, ...settings, expiresAt: expiresAt ?? undefined };
      const warnings = findBlockWarnings(desired, newVersion, upgrade);
      const effects = async (db: Queryable) => ({
        ...(await findUpgradeEffects(deps, db, current, desired.version)),
        warnings,
      });
      const annotations = upgrade === undefined ? {} : decideForce(current, patch, upgrade);
      const isForced = Object.keys(annotations).length > 0;
      if (Object.keys(patch).length === 0 && !isForced) return { spec: {}, effects };
      const [fault] = findPastExpiry(patch.expiresAt, deps.now());
      if (fault !== undefined) throw validationFailed([fault]);
      if (isAboutDeletionAlone(patch) && !isForced) requireNotDeleting(current);
      else requireChangeable(current);
      if (upgrade !== undefined && !dryRun) requireUnblocked(desired, newVersion, upgrade);
      return {
        spec: {
          ...patch,
          ...(patch.labels !== undefined && { labels: patchOfMap(spec.labels, patch.labels) }),
        },
        before: auditCluster(spec, metadata.name),
        after: { ...auditCluster(desired, metadata.name), ...(isForced && { force: upgrade?.force }) },
        annotations,
        displayName: patch.displayName,
        effects,
      };
    },
  });
  return { ...result, newVersion };
}

/**
 * Requests the deletion of a cluster, also of a suspended one, by a request or as `scheduled`. Throws 409 deletion_protected for a protected
 * one, 409 conflict for one that the platform holds, and what `deleteObject` throws.
 */
export async function deleteCluster(
  deps: Deps,
  caller: Caller,
  cluster: ProjectedCluster,
  {
    dryRun = false,
    preconditions,
    scheduled,
  }: { dryRun?: boolean; preconditions?: Preconditions | undefined } & ScheduledOption<ProjectedCluster> = {},
): Promise<ClusterResult> {
  return deleteObject(deps, caller, clustersOf(cluster.orgId), cluster, {
    action: "cluster.delete",
    preconditions,
    dryRun,
    decide(current) {
      const { spec, metadata } = current.object;
      requireNotHeld(current);
      requireUnprotected(current, "cluster");
      return {
        ...scheduled?.(current),
        before: auditCluster(spec, metadata.name),
        effects: (db) => findDeletionEffects(deps, db, cluster),
      };
    },
  });
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

/** The nodes that an upgrade replaces: those of every pool that stays. */
async function findUpgradeEffects(
  { config, now }: Deps,
  db: Queryable,
  { orgId, id, object }: ProjectedCluster,
  version: string,
): Promise<Effects> {
  const isUpgrade = object.status?.version !== undefined;
  const pools = await listAllNodePools(db, orgId, id);
  const billed = { cluster: object, pools: toRemainingPools(pools) };
  const staying = isUpgrade ? pools.filter(({ status }) => status !== "deleting") : [];
  return {
    quota: await assessQuota(db, { orgId, defaults: config.quotas }, []),
    ...sumEffects(staying.map((pool) => effectsOfUpgrade(pool.object, version))),
    warnings: [],
    cost: await assessCost(db, now(), billed, billed),
  };
}

async function findDeletionEffects(
  { config, now }: Deps,
  db: Queryable,
  { orgId, id, object: cluster }: ProjectedCluster,
): Promise<Effects> {
  const pools = await listAllNodePools(db, orgId, id);
  const changes = [
    { objectId: id, current: CLUSTER_AMOUNTS, desired: NO_AMOUNTS },
    ...pools.map((pool) => amountsOfDelete(pool.id, pool.object)),
  ];
  return {
    quota: await assessQuota(db, { orgId, defaults: config.quotas }, changes),
    ...sumEffects(pools.map(({ object }) => effectsOfDelete(object))),
    warnings: pools.filter(({ object }) => object.spec.deletionProtection === true).map(warnOfProtectedPool),
    cost: await assessCost(
      db,
      now(),
      { cluster, pools: toRemainingPools(pools) },
      { cluster: undefined, pools: [] },
    ),
  };
}

/** The protection of a pool does not hold back the deletion of its cluster. */
function warnOfProtectedPool({ displayName }: ProjectedNodePool): ErrorDetail {
  const message = `The node pool ${displayName} is protected from deletion, and is deleted with its cluster all the same.`;
  return { field: "deletion_protection", code: "deletion_protected", message };
}

/** A cluster as it is written: its projection may be of moments before. One that is deleted is returned as it was known. */
export async function readLiveCluster(
  kube: Pick<KubeClient, "get">,
  known: ProjectedCluster,
): Promise<ProjectedCluster> {
  const live = await kube.get(clusterKind, known.namespace, known.name);
  if (live === undefined || live.metadata.uid !== known.uid) return known;
  return toProjectedCluster(live, known.orgId) ?? known;
}

/** The clusters of one organization. */
export function clustersOf(orgId: string): Collection<Cluster, ProjectedCluster> {
  return {
    kindName: "Cluster",
    kind: clusterKind,
    noun: "cluster",
    targetKind: "cluster",
    orgId,
    parent: { noun: "organization", id: orgId },
    takenNameCode: "already_exists",
    wireNames: CLUSTER_WIRE_NAMES,
    project(object) {
      const projected = toProjectedCluster(object, orgId);
      if (projected === undefined) throw new Error(`cluster ${object.metadata.name} has lost its id`);
      return projected;
    },
    save: saveProjection,
  };
}

/** A suspended cluster may be deleted, for which its protection must be lifted first; and its end date may be moved. */
function isAboutDeletionAlone(patch: ClusterPatch): boolean {
  const others = Object.keys(patch).filter((field) => !["deletionProtection", "expiresAt"].includes(field));
  return others.length === 0 && patch.deletionProtection !== true;
}

/** Throws 409 conflict for a cluster that is being deleted, or is suspended. */
export function requireChangeable(cluster: ProjectedCluster): void {
  requireNotDeleting(cluster);
  requireNotSuspended(cluster);
}

function requireNotDeleting(cluster: ProjectedCluster): void {
  if (cluster.status === "deleting")
    throw new ApiError("conflict", "The cluster is being deleted; it can no longer be changed.");
}
