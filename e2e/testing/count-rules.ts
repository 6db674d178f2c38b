import { isDeepStrictEqual } from "node:util";
import type { Cluster } from "../../shared/crd/cluster.ts";
import type { NodePool } from "../../shared/crd/node-pool.ts";
import { type Sighting, TOLERANCE_MS } from "./moment-rules.ts";

/** What a cluster said of its ready pools from a moment on, and how many there were. */
interface Count {
  at: number;
  said: number | undefined;
  were: number;
  /** Others are deleted before they say that they are ready. */
  neverSaid: number;
  /** While a cluster is being created its counts are not written on their own. */
  isBeingCreated: boolean;
  /** This is when the operator wrote the cluster's status, which has the counts that it sees then. */
  isWritten: boolean;
}

/** A status that is written later than this after a count became wrong would have the right one. */
const STALE_WRITE_MS = 2 * TOLERANCE_MS;
/** The operator writes counts that changed within 40 s. On a third of a core it loses its Lease several times meanwhile. */
const STALE_MS = 400_000;

/**
 * Violations of `nodePools.ready`, one sentence each: it is the number of the cluster's pools that are ready. A count may be
 * late, and is while its cluster is being created; it is never one that was not so shortly before, and never stays wrong.
 * A cluster that is being created counts a pool before the pool says so, which a deletion in between prevents.
 * Nothing is known of what was so after a watch was interrupted, until it is there again.
 */
export function findCountLies(
  clusters: readonly Sighting<Cluster>[],
  pools: readonly Sighting<NodePool>[],
  endMs: number,
  interruptedAt: readonly number[] = [],
): string[] {
  const isSeen = ({ at }: Count) => !interruptedAt.some((since) => at >= since && at <= since + TOLERANCE_MS);
  return [...followCounts(clusters, pools)].flatMap(([name, counts]) => [
    ...findInvented(counts)
      .filter(isSeen)
      .map(({ said, were }) => `${name}: ready pools: ${said}, not ${were}`),
    ...findStale(counts, endMs).map(({ said, were }) => `${name}: ready pools: still ${said}, not ${were}`),
  ]);
}

/** By cluster, one entry for every change of it or of a pool of it. */
function followCounts(
  clusters: readonly Sighting<Cluster>[],
  pools: readonly Sighting<NodePool>[],
): Map<string, Count[]> {
  const [states, ready] = [new Map<string, Cluster>(), new Map<string, NodePool>()];
  const counts = new Map<string, Count[]>();
  const deleted = new Set(pools.filter(({ gone }) => gone).map(({ object }) => object.metadata.uid));
  const wereReady = new Set(
    pools.filter(({ object }) => isReady(object)).map(({ object }) => object.metadata.uid),
  );
  const unready = new Map<string, NodePool>();
  for (const { at, object, gone } of [...clusters, ...pools].toSorted((left, right) => left.at - right.at)) {
    const { uid = "" } = object.metadata;
    const isWritten = !isPool(object) && !isDeepStrictEqual(states.get(uid)?.status, object.status);
    if (isPool(object)) {
      put(ready, uid, gone || !isReady(object) ? undefined : object);
      const isNeverReady = deleted.has(uid) && !wereReady.has(uid) && !isBeingDeleted(object);
      put(unready, uid, gone || !isNeverReady ? undefined : object);
    } else put(states, uid, gone ? undefined : object);
    const changed = isPool(object) ? object.spec.clusterName : object.metadata.name;
    const [were, neverSaid] = [countOf(ready, changed), countOf(unready, changed)];
    for (const [id, { metadata, status }] of states) {
      if (metadata.name !== changed) continue;
      const key = `Cluster ${metadata.name} (${id})`;
      const isBeingCreated = status?.phase === "Provisioning";
      const count = { at, said: status?.nodePools?.ready, were, neverSaid, isBeingCreated, isWritten };
      counts.set(key, [...(counts.get(key) ?? []), count]);
    }
    // Nothing is said of it any more.
    if (gone && !isPool(object)) {
      counts
        .get(`Cluster ${changed} (${uid})`)
        ?.push({ at, said: undefined, were, neverSaid, isBeingCreated: false, isWritten: false });
    }
  }
  return counts;
}

function countOf(pools: Map<string, NodePool>, clusterName: string): number {
  return [...pools.values()].filter(({ spec }) => spec.clusterName === clusterName).length;
}

function put<T>(map: Map<string, T>, key: string, value: T | undefined): void {
  if (value === undefined) map.delete(key);
  else map.set(key, value);
}

function isPool(object: Cluster | NodePool): object is NodePool {
  return object.kind === "NodePool";
}

function isBeingDeleted({ metadata }: NodePool): boolean {
  return metadata.deletionTimestamp !== undefined;
}

function isReady({ metadata, status }: NodePool): boolean {
  return status?.phase === "Ready" && status.observedGeneration === metadata.generation;
}

/**
 * Counts that were never so around the moment at which they were first said. A pool's status may be seen after its cluster's:
 * the two are written apart, and one such write took 9 s on a busy machine.
 */
function findInvented(counts: readonly Count[]): Count[] {
  return counts.filter(({ at, said }, index) => {
    if (said === undefined || counts[index - 1]?.said === said) return false;
    const around = counts.filter(
      (count, other) =>
        count.at <= at + TOLERANCE_MS && (counts[other + 1]?.at ?? Infinity) >= at - TOLERANCE_MS,
    );
    return !around.some(
      ({ were, neverSaid, isBeingCreated }) =>
        were <= said && said <= were + (isBeingCreated ? neverSaid : 0),
    );
  });
}

/** Counts that stayed wrong: the status was written again with them, or was not written for long. */
function findStale(counts: readonly Count[], endMs: number): Count[] {
  const stale: Count[] = [];
  let wrongSince: number | undefined;
  for (const [index, count] of counts.entries()) {
    const isWrong = count.said !== undefined && !count.isBeingCreated && count.said !== count.were;
    if (!isWrong) wrongSince = undefined;
    else {
      // What has changed once more may be late once more.
      wrongSince = count.were === counts[index - 1]?.were ? (wrongSince ?? count.at) : count.at;
      const until = counts[index + 1]?.at ?? endMs;
      const isWrittenAgain = count.isWritten && count.at - wrongSince > STALE_WRITE_MS;
      if (isWrittenAgain || until - wrongSince > STALE_MS) {
        stale.push(count);
        wrongSince = until;
      }
    }
  }
  return stale;
}
