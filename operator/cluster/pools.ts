import { isDeepStrictEqual } from "node:util";
import {
  TAINTS_UNAVAILABLE,
  UNAPPLIED_POOL_PREFIX,
  type UnappliedPart,
} from "../../shared/crd/conditions.ts";
import type { ClassCapabilities } from "../capi/cluster-class.ts";
import { readVariable } from "../capi/cluster-state.ts";
import type { CapiCluster } from "../capi/kinds.ts";
import { findLiveReplicas } from "../capi/pool-replicas.ts";
import { type DesiredPool, readTopologyPools } from "../capi/worker-pool.ts";
import { isExpiredNewPool } from "../expiry/expiry.ts";
import { displayNameOf, isDeleting, mayBeMade } from "../identity/identity.ts";
import { composeDesiredPool, limitGrowth } from "../node-pool/children.ts";
import { measurePool } from "../node-pool/progress.ts";
import type { Facts, MeasuredPool } from "./conditions.ts";
import type { ObservedCluster, ObservedClusterPool } from "./observe.ts";
import { findPoolRemovalWait } from "./waits.ts";

/** The pools of a cluster in its topology, and those of them that are not as specified there, or not there at all. */
export interface PoolChoice {
  pools: DesiredPool[];
  unapplied: UnappliedPart[];
}

/**
 * Every pool as specified; one that is blocked keeps the number of nodes and the machine size that Cluster API has, or is
 * left out. A rejected machine size is as it is there, rejected taints are left out, and so is a new pool that Cluster API rejects.
 */
export function choosePools(
  observed: ObservedCluster,
  { variables }: Pick<ClassCapabilities, "variables">,
  now: Date,
): PoolChoice {
  const { capi, settings, rejected } = observed;
  const entries = readTopologyPools(capi?.object);
  // Where the class sets taints by its own variable, the feature gate MachineTaintPropagation says nothing.
  const areTaintsRejected = rejected.has("taints") && !variables.has("nodeTaints");
  const choice: PoolChoice = { pools: [], unapplied: [] };
  for (const one of observed.pools.filter((each) => isDesired(observed, each, now))) {
    const { pool, machineDeployment, blocked, machines } = one;
    const { name } = pool.metadata;
    const entry = entries.get(name);
    const lacksTaints = areTaintsRejected && (pool.spec.nodeTaints ?? []).length > 0;
    const isMachineRejected = rejected.has(`machine ${name}`);
    const problem = findProblem(observed, one, lacksTaints);
    if (problem !== undefined)
      choice.unapplied.push({ field: `${UNAPPLIED_POOL_PREFIX}${name}`, ...problem });
    if (entry === undefined && (blocked || problem !== undefined || isExpiredNewPool(pool, entry, now)))
      continue;
    const liveReplicas = findLiveReplicas(entry, machineDeployment?.replicas);
    const specified = composeDesiredPool(pool, settings.poolDefaults, liveReplicas);
    const desired = {
      ...specified,
      ...(lacksTaints && { taints: [] }),
      ...((blocked || isMachineRejected) && entry?.machineSize && { machineSize: entry.machineSize }),
    };
    choice.pools.push(
      blocked && entry !== undefined ? { ...desired, scale: entry.scale } : limitGrowth(desired, machines),
    );
  }
  return choice;
}

/** A pool is in the topology once it has our finalizer or an id in its status, until its deletion can be passed on; a duplicate never is. */
function isDesired(observed: ObservedCluster, one: ObservedClusterPool, now: Date): boolean {
  const { metadata } = one.pool;
  const mustStay =
    metadata.deletionTimestamp === undefined || findPoolRemovalWait(observed, one, now) !== undefined;
  return mustStay && mayBeMade(one) && !one.capiDeleting && one.olderDuplicate === undefined;
}

/** Why a pool is not as specified in the topology although it may be. Without its taints a new one would take Pods that it is not meant for. */
function findProblem(
  { rejected, capi }: ObservedCluster,
  { pool }: ObservedClusterPool,
  lacksTaints: boolean,
): Pick<UnappliedPart, "reason" | "message"> | undefined {
  const { name } = pool.metadata;
  const shown = displayNameOf(pool);
  const why = rejected.get(`pool ${name}`) ?? rejected.get(`machine ${name}`);
  if (why !== undefined) {
    const message = `Cluster API rejects the node pool ${shown} as specified: ${why}. Change it, or ask the platform's operator.`;
    return { reason: "RejectedByClusterAPI", message };
  }
  if (!lacksTaints) return undefined;
  const effect = capi?.state.poolNames.includes(name)
    ? `new nodes of the node pool ${shown} have none`
    : `the node pool ${shown} is not created`;
  const message = `The platform cannot set taints of nodes, so ${effect}. Create it again without taints, or ask the platform's operator to enable them in Cluster API (MachineTaintPropagation).`;
  return { reason: TAINTS_UNAVAILABLE, message };
}

/**
 * What is not applied while nothing is sent: what the last status says, without deleted pools and without parts that
 * Cluster API already has as they are decided now, as after a change that was taken back.
 */
export function keepUnapplied(
  { cluster, pools, capi }: ObservedCluster,
  decided:
    | (Record<"unapplied" | "unappliedRules", readonly UnappliedPart[]> & { capiCluster: CapiCluster })
    | undefined,
): UnappliedPart[] {
  const there = pools.filter(({ pool }) => !isDeleting(pool));
  const fields = new Set(there.map(({ pool }) => `${UNAPPLIED_POOL_PREFIX}${pool.metadata.name}`));
  const isAsDecided = (field: string) =>
    decided !== undefined &&
    !decided.unapplied.some((part) => part.field === field) &&
    isDeepStrictEqual(readPart(decided.capiCluster, field), readPart(capi?.object, field));
  return (cluster.status?.unapplied ?? []).filter(({ field, reason }) => {
    // Those of the network rules are decided whatever is sent, but what Cluster API said of one it says again only when that is sent.
    const isDecided = decided?.unappliedRules.some((part) => part.field === field);
    if (field.startsWith("network.") && (isDecided || reason !== "RejectedByClusterAPI")) return false;
    const isGone = field.startsWith(UNAPPLIED_POOL_PREFIX) && !fields.has(field);
    return !isGone && !isAsDecided(field);
  });
}

/** What Cluster API gets, or has, of a part that `status.unapplied` names. */
function readPart(capiCluster: CapiCluster | undefined, field: string): unknown {
  const topology = capiCluster?.spec?.topology;
  if (field === "version") return [topology?.version, topology?.classRef.name];
  if (field === "controlPlaneReplicas") return topology?.controlPlane?.replicas;
  return field.startsWith(UNAPPLIED_POOL_PREFIX)
    ? readTopologyPools(capiCluster).get(field.slice(UNAPPLIED_POOL_PREFIX.length))
    : capiCluster && readVariable(capiCluster, field.replace(/^network\./, ""));
}

/** How far each pool is; one with an unapplied part is measured by what Cluster API has. */
export function measurePools(
  { observed, unapplied }: Pick<Facts, "observed" | "unapplied">,
  now: Date,
): MeasuredPool[] {
  const { nodeDegradedAfterSeconds, poolDefaults } = observed.settings;
  const entries = readTopologyPools(observed.capi?.object);
  const unappliedFields = new Set(unapplied.map(({ field }) => field));
  const found = observed.pools.map((one) => ({
    ...one,
    entry: entries.get(one.pool.metadata.name),
    keepsLive: one.blocked || unappliedFields.has(`${UNAPPLIED_POOL_PREFIX}${one.pool.metadata.name}`),
  }));
  // The cluster does not wait for a blocked or expired pool that was never created.
  const admitted = found.filter(({ pool, entry, keepsLive, machineDeployment }) => {
    const mayBeLeftOut = keepsLive || isExpiredNewPool(pool, entry, now);
    return !mayBeLeftOut || machineDeployment !== undefined;
  });
  return admitted.map(({ pool, entry, machineDeployment, machines, keepsLive }) => {
    const liveReplicas = findLiveReplicas(entry, machineDeployment?.replicas);
    const options = { nodeDegradedAfterSeconds, poolDefaults, liveReplicas, keepsLive };
    return {
      name: displayNameOf(pool),
      objectName: pool.metadata.name,
      deleting: pool.metadata.deletionTimestamp !== undefined,
      progress: measurePool(pool, machineDeployment, machines, options, now),
    };
  });
}
