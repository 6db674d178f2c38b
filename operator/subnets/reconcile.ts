import { composePlan, type Plan } from "../../shared/controller/plan.ts";
import type { Cluster } from "../../shared/crd/cluster.ts";
import type { ConfigMap } from "../../shared/kube/core-kinds.ts";
import { elapsedMs } from "../../shared/program/time.ts";
import { type Allocation, planOrphanRecord, planSubnetRelease } from "./allocation.ts";

/** All that is known about one subnet allocation when it is reconciled: plain data, no client. */
export interface ObservedAllocation {
  configMap: ConfigMap;
  allocation: Allocation;
  /** The cluster that the subnet was assigned to; undefined = it is deleted, or not in the cache yet. */
  owner: Cluster | undefined;
  /** Cluster API has a cluster with this id, whose nodes use the subnet. */
  runsInCapi: boolean;
}

/** A new allocation may be for a cluster that the cache does not show yet. */
const MIN_AGE_MS = 10 * 60_000;
/**
 * A cluster that the operator did not delete may come back from a backup, with nodes that have addresses of this
 * subnet.
 */
const KEPT_MS = 30 * 24 * 3_600_000;

/**
 * Releases a subnet whose cluster uses another one, and one whose cluster has been missing for 30 days. The deletion of
 * a cluster releases its subnet itself, so an allocation without a cluster is of one that was
 * removed by force, or whose restore is under way.
 */
export function reconcileAllocation(observed: ObservedAllocation, now: Date): Plan<never> {
  const { configMap, allocation, owner, runsInCapi } = observed;
  const subnet = owner?.status?.workerSubnet;
  const usesAnother = subnet !== undefined && subnet !== allocation.subnet;
  if (!usesAnother && (owner !== undefined || runsInCapi))
    return composePlan({
      write: allocation.orphanedAt === undefined ? [] : [planOrphanRecord(configMap, undefined)],
    });
  const youngMs = findWaitMs(allocation.createdAt, MIN_AGE_MS, now);
  if (youngMs !== undefined) return composePlan({ requeueAfterMs: youngMs });
  if (!usesAnother && allocation.orphanedAt === undefined)
    return composePlan({ write: [planOrphanRecord(configMap, now)], requeueAfterMs: KEPT_MS });
  const keptMs = usesAnother ? undefined : findWaitMs(allocation.orphanedAt, KEPT_MS, now);
  if (keptMs !== undefined) return composePlan({ requeueAfterMs: keptMs });
  return composePlan({ remove: [planSubnetRelease(configMap.metadata.namespace ?? "", allocation)] });
}

/** The rest of a wait since a time. One ahead of this clock is waited for whole: a subnet is rather kept too long. */
function findWaitMs(since: string | undefined, durationMs: number, now: Date): number | undefined {
  const ageMs = elapsedMs(since, now);
  if (ageMs >= durationMs) return undefined;
  return durationMs - (ageMs || 0);
}
