import type { NodePool } from "../../shared/crd/node-pool.ts";
import type { Event } from "../../shared/kube/core-kinds.ts";
import { saysAllUpToDate } from "./history-rules.ts";

/** An object as it was written, and when the watch delivered it (ms since the epoch). */
export interface Sighting<T> {
  at: number;
  object: T;
  /** It was deleted, and this is its last state. */
  gone?: boolean;
}

/** For how long after a state ended an Event may still report it, on a slow machine too; a repeated Event comes a minute later. */
export const TOLERANCE_MS = 50_000;
const READY_NODES = /: Nodes ready: (\d+) of (\d+)\.$/;
const SCALED = /Scaling to ([1-9]\d*) nodes?: \1 exists?, \1 (is|are) ready/;

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
