import type { Cluster } from "../../shared/crd/cluster.ts";
import type { NodePool } from "../../shared/crd/node-pool.ts";
import type { Event } from "../../shared/kube/core-kinds.ts";
import { saysAllUpToDate } from "./history-rules.ts";

/** An object as it was written, and when the watch delivered it (ms since the epoch). */
export interface Sighting<T> {
  at: number;
  object: T;
  /** It was deleted then; `object` is its last state. */
  deleted?: boolean;
}

/** For how long after a state ended something may still tell of it; a repeated Event comes a minute later. */
const TOLERANCE_MS = 30_000;
const READY_NODES = /: (\d+) of (\d+) nodes are ready\.$/;
const SCALED = /Scaling to ([1-9]\d*) nodes: \1 exist, \1 are ready/;

/** Violations of the rules for every Event about our objects, one sentence each. */
export function findEventLies(
  events: readonly Sighting<Event>[],
  pools: readonly Sighting<NodePool>[],
): string[] {
  return events.flatMap((sighting) => {
    const { metadata, note = "" } = sighting.object;
    return judge(sighting, pools).map((lie) => `Event ${metadata.name} (${note}): ${lie}`);
  });
}

function judge(sighting: Sighting<Event>, pools: readonly Sighting<NodePool>[]): string[] {
  const { note = "", reason, related, series, deprecatedCount } = sighting.object;
  const lies: string[] = [];
  if (saysAllUpToDate(note) || SCALED.test(note)) lies.push("it reports as under way what is done");
  const counts = READY_NODES.exec(note);
  if (counts !== null) {
    if (Math.max(series?.count ?? 1, deprecatedCount ?? 1) > 1) lies.push("it repeats a change as news");
    const [ready, nodes] = [Number(counts[1]), Number(counts[2])];
    const isSo = ({ status }: NodePool) => status?.readyNodes === ready && status.nodes === nodes;
    if (!wasTrue(sighting, pools, isSo)) lies.push("it was not so at that time");
  }
  if (reason === "MachineMarkedUnhealthy" && related?.kind === "Machine") {
    const has = ({ status }: NodePool) => status?.machines?.some(({ uid }) => uid === related.uid) === true;
    const isOfAnother = (pool: Sighting<NodePool>) => has(pool.object);
    // A machine that no pool ever listed is one of the control plane.
    if (pools.some(isOfAnother) && !wasTrue({ ...sighting, object: {} }, pools, has))
      lies.push("that machine was long gone");
  }
  return lies;
}

/** Whether a pool (the one that the Event is about, if any) was so when the Event came, or shortly before or after. */
function wasTrue(
  { at, object }: Sighting<Pick<Event, "regarding"> | object>,
  pools: readonly Sighting<NodePool>[],
  isSo: (pool: NodePool) => boolean,
): boolean {
  const uid = "regarding" in object ? object.regarding?.uid : undefined;
  const own = pools.filter((pool) => uid === undefined || pool.object.metadata.uid === uid);
  return own.some((pool, index) => {
    const next = own.slice(index + 1).find((later) => later.object.metadata.uid === pool.object.metadata.uid);
    const isCurrent = pool.at <= at + TOLERANCE_MS && (next === undefined || next.at >= at - TOLERANCE_MS);
    return isCurrent && isSo(pool.object);
  });
}

/** Clusters whose counts of pools were written when no such number of pools was ready, one sentence each. */
export function findCountLies(
  clusters: readonly Sighting<Cluster>[],
  pools: readonly Sighting<NodePool>[],
): string[] {
  const last = new Map<string | undefined, string>();
  return clusters.flatMap(({ at, object: { metadata, status } }) => {
    const counts = JSON.stringify([status?.nodePools?.ready, status?.nodePools?.total]);
    const isNews = status?.nodePools !== undefined && last.get(metadata.uid) !== counts;
    last.set(metadata.uid, counts);
    const own = pools.filter(({ object }) => object.spec.clusterName === metadata.name);
    const moments = own.map((pool) => pool.at).filter((time) => Math.abs(time - at) <= TOLERANCE_MS);
    const wasSo = [at - TOLERANCE_MS, ...moments].some((time) => countPools(own, time) === counts);
    if (!isNews || wasSo) return [];
    return [`Cluster ${metadata.name} at ${metadata.resourceVersion}: ${counts} pools were never ready`];
  });
}

/** The ready pools and all pools at a time. */
function countPools(pools: readonly Sighting<NodePool>[], time: number): string {
  const latest = new Map(
    pools.filter(({ at }) => at <= time).map((pool) => [pool.object.metadata.uid, pool]),
  );
  const present = [...latest.values()].filter(({ deleted }) => deleted !== true);
  const ready = present.filter(
    ({ object: { metadata, status } }) =>
      status?.phase === "Ready" && status.observedGeneration === metadata.generation,
  );
  return JSON.stringify([ready.length, present.length]);
}
