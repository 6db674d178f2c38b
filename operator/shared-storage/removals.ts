import { formatTime, remainingMs } from "../../shared/controller/time.ts";

/** A pool is kept for this long without an inventory: it may have been deleted by mistake. */
const KEEP_MS = 7 * 24 * 60 * 60_000;
/** Times that are kept at most, so that the object that holds them stays well below 1 MiB. */
const MAX_KEPT = 5_000;

/** Since when pools have had no inventory: RFC 3339 by the id of their organization. */
export type OrphanTimes = Readonly<Record<string, string>>;

export interface Removals {
  /** The organizations whose pools are to be removed. */
  remove: string[];
  /** The times to keep; the same object when none changed. */
  times: OrphanTimes;
}

/**
 * Which pools to remove, each at least 7 days after the first round that found no inventory of its organization. Without a
 * single inventory nothing is decided: then it is the inventories that are missing, as in a cluster that is being restored.
 */
export function decideRemovals(
  pools: readonly string[],
  organizations: ReadonlySet<string>,
  known: OrphanTimes,
  now: Date,
): Removals {
  if (organizations.size === 0) return { remove: [], times: known };
  const orphans = pools.filter((orgId) => !organizations.has(orgId));
  const remove: string[] = [];
  const times: Record<string, string> = {};
  for (const orgId of orphans) {
    const since = readTime(known[orgId], now);
    if (since === undefined) {
      if (Object.keys(times).length < MAX_KEPT) times[orgId] = formatTime(now);
      continue;
    }
    if (remainingMs(since, KEEP_MS, now) === undefined) remove.push(orgId);
    times[orgId] = since;
  }
  const isSame =
    Object.keys(times).length === Object.keys(known).length &&
    Object.entries(times).every(([orgId, since]) => known[orgId] === since);
  return { remove, times: isSame ? known : times };
}

/** A time that cannot be read, or lies ahead, begins anew: it must never lead to a removal. */
function readTime(since: string | undefined, now: Date): string | undefined {
  const at = Date.parse(since ?? "");
  return at <= now.getTime() ? since : undefined;
}
