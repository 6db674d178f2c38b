import { compareKubernetesVersions, type VersionCatalogue } from "../../../shared/crd/kubernetes-version.ts";
import { findForceReason } from "../../../shared/crd/upgrade-checks.ts";
import { truncateText } from "../../../shared/program/wording.ts";
import type { ProjectedCluster, ProjectedNodePool } from "../../resources/project/index.ts";
import { desiredVersionOf, findClusterStep, withoutPrefix } from "../kubernetes-version.ts";
import { type ClusterMerge, isDesired } from "../merge-update.ts";
import { MAX_WORKERS_ERROR_LENGTH } from "../schema.ts";

/**
 * What an upgrade writes: the full version of the next step; nothing when that is desired already, or when the
 * cluster runs the target and only pools are behind, which the operator upgrades anyway.
 */
export function mergeUpgrade(
  current: ProjectedCluster,
  pools: readonly ProjectedNodePool[],
  target: string,
  catalogue: VersionCatalogue,
): ClusterMerge {
  const step = findClusterStep(current, target, catalogue);
  if (step === undefined) return { outcome: "not_running" };
  if (step.ok)
    return { outcome: "patch", patch: isDesired(current, step.version) ? {} : { version: step.version } };
  const { version } = current.object.status ?? {};
  const running = version && withoutPrefix(version);
  const isRunning = running !== undefined && compareKubernetesVersions(target, running) === 0;
  if (isRunning && pools.some((pool) => isOlder(pool, running))) return { outcome: "patch", patch: {} };
  return {
    outcome: "invalid",
    details: [{ field: "target_version", code: step.code, message: step.message }],
  };
}

/**
 * Whether an upgrade to this full version was requested of the cluster, with the force that came with it; a later version says so
 * too, for no cluster goes back.
 */
export function isUpgradeMade(
  current: ProjectedCluster,
  version: string | null,
  force: { reason: string } | undefined,
): boolean {
  if (version === null) return false;
  if (compareKubernetesVersions(desiredVersionOf(current.object), version) > 0) return true;
  if (!isDesired(current, version)) return false;
  return force === undefined || findForceReason(current.object.metadata, version) === force.reason;
}

export interface WorkerRollout {
  workers_total: number;
  workers_patched: number;
  workers_pending?: number;
  workers_error?: string;
}

/**
 * How many of a cluster's pools are upgraded with it, and how many are blocked: stalled ones, and those that are being
 * deleted. `workers_error` has the reasons, by the names of the pools.
 */
export function countWorkers(pools: readonly ProjectedNodePool[]): WorkerRollout {
  const blockers = pools.flatMap((pool) => {
    const reason = findBlocker(pool);
    return reason === undefined ? [] : [`${pool.displayName}: ${reason}`];
  });
  return {
    workers_total: pools.length,
    workers_patched: pools.length - blockers.length,
    ...(blockers.length === 0
      ? {}
      : {
          workers_pending: blockers.length,
          workers_error: truncateText(blockers.join(" "), MAX_WORKERS_ERROR_LENGTH),
        }),
  };
}

function isOlder({ object }: ProjectedNodePool, running: string): boolean {
  const version = object.status?.version;
  return version !== undefined && compareKubernetesVersions(version, running) < 0;
}

function findBlocker({ status, object }: ProjectedNodePool): string | undefined {
  if (status === "deleting") return "The node pool is being deleted.";
  const stalled = object.status?.conditions?.find(({ type }) => type === "Stalled");
  if (stalled?.status !== "True") return undefined;
  return stalled.message === "" ? `The node pool is stalled: ${stalled.reason}.` : stalled.message;
}
