import { compareKubernetesVersions, type VersionCatalogue } from "../../shared/kubernetes-version.ts";
import type { ProjectedCluster, ProjectedNodePool } from "../projection/store.ts";
import { type ClusterMerge, isWanted } from "./merge-update.ts";
import { withoutPrefix } from "./present-cluster.ts";
import { MAX_WORKERS_ERROR_LENGTH } from "./schema.ts";
import { findClusterStep } from "./upgrade-step.ts";

/**
 * What an upgrade (spec 4.21) writes: the full version that one step leads to; nothing when that is wanted already, or
 * when the cluster runs the target and only pools are behind, which follow by themselves.
 */
export function planUpgrade(
  current: ProjectedCluster,
  pools: readonly ProjectedNodePool[],
  target: string,
  catalogue: VersionCatalogue,
): ClusterMerge {
  const step = findClusterStep(current, target, catalogue);
  if (step === undefined) return { outcome: "not_running" };
  if (step.ok)
    return { outcome: "patch", patch: isWanted(current, step.version) ? {} : { version: step.version } };
  const running = withoutPrefix(current.object.status?.version ?? "");
  const isRunning = compareKubernetesVersions(target, running) === 0;
  if (isRunning && pools.some((pool) => isOlder(pool, running))) return { outcome: "patch", patch: {} };
  return {
    outcome: "invalid",
    details: [{ field: "target_version", code: step.code, message: step.message }],
  };
}

export interface WorkerRollout {
  workers_total: number;
  workers_patched: number;
  workers_pending?: number;
  workers_error?: string;
}

/**
 * How many of a cluster's pools follow an upgrade, and how many cannot take it now: those that only people can help,
 * and those that are being deleted. The reasons of these stand in `workers_error`, by the names of the pools.
 */
export function countWorkers(pools: readonly ProjectedNodePool[]): WorkerRollout {
  const obstacles = pools.flatMap((pool) => {
    const reason = findObstacle(pool);
    return reason === undefined ? [] : [`${pool.displayName}: ${reason}`];
  });
  return {
    workers_total: pools.length,
    workers_patched: pools.length - obstacles.length,
    ...(obstacles.length === 0
      ? {}
      : {
          workers_pending: obstacles.length,
          workers_error: obstacles.join(" ").slice(0, MAX_WORKERS_ERROR_LENGTH),
        }),
  };
}

function isOlder({ object }: ProjectedNodePool, running: string): boolean {
  const version = object.status?.version;
  return version !== undefined && compareKubernetesVersions(version, running) < 0;
}

function findObstacle({ status, object }: ProjectedNodePool): string | undefined {
  if (status === "deleting") return "The node pool is being deleted.";
  const stalled = object.status?.conditions?.find(({ type }) => type === "Stalled");
  if (stalled?.status !== "True") return undefined;
  return stalled.message === "" ? `The node pool is stalled: ${stalled.reason}.` : stalled.message;
}
