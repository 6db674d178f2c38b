import type { Cluster } from "../../shared/crd/cluster.ts";
import type { NodePool } from "../../shared/crd/node-pool.ts";
import type { Event } from "../../shared/kube/core-kinds.ts";
import { findTenantTextFault } from "../contract/seen/message-forms.ts";
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
/** Two Events that say the same within this time report one fact. */
const SAME_FACT_MS = 5_000;
const READY_NODES = /: Nodes ready: (\d+) of (\d+)\.$/;
const SCALED = /Scaling to ([1-9]\d*) nodes?: \1 exists?, \1 (is|are) ready/;

/** Violations of the rules for every Event about our objects, one sentence each. */
export function findEventLies(
  events: readonly Sighting<Event>[],
  pools: readonly Sighting<NodePool>[],
  clusters: readonly Sighting<Cluster>[] = [],
): string[] {
  const names = listOtherNames([...pools, ...clusters]);
  // They are written side by side, and may come in another order than that in which it was so.
  const inOrder = events.toSorted((left, right) => timeOf(left) - timeOf(right));
  return inOrder.flatMap((sighting, index) => {
    const { metadata, note = "" } = sighting.object;
    const earlier = inOrder.slice(0, index);
    return [...judge(sighting, pools), ...judgeWords(note, names), ...judgeRepetition(sighting, earlier)].map(
      (lie) => `Event ${metadata.name} (${note}): ${lie}`,
    );
  });
}

/** Tenants read what they call their clusters and pools, and nothing that is the platform's alone. */
function judgeWords(text: string, names: readonly OtherName[]): string[] {
  const fault = findTenantTextFault(text);
  // Nothing but its name in Kubernetes is known of a cluster or a pool that is not there.
  const isAbsent = /There is no cluster|missing here:/.test(text);
  const called = isAbsent ? [] : names.filter(({ pattern }) => pattern.test(text)).map(({ lie }) => lie);
  return [...(fault === undefined ? [] : [`it ${fault}`]), ...called];
}

/** The name of an object that its owner calls otherwise. */
interface OtherName {
  /** It alone: it may be a part of the name of a machine or of a host. */
  pattern: RegExp;
  lie: string;
}

function listOtherNames(objects: readonly Sighting<Cluster | NodePool>[]): OtherName[] {
  const named = new Map(objects.map(({ object }) => [object.metadata.uid, object]));
  return [...named.values()].flatMap(({ metadata: { name }, spec: { displayName = name } }) =>
    displayName === name
      ? []
      : [
          {
            pattern: new RegExp(`(?<![\\w./-]|ClusterProfile )${name}(?!\\.?\\w|-)`),
            lie: `it calls ${displayName} ${name}`,
          },
        ],
  );
}

/** Violations of the rules for the words of every text in a status, one sentence each. */
export function findWordLies(objects: readonly Sighting<Cluster | NodePool>[]): string[] {
  const names = listOtherNames(objects);
  const texts = objects.flatMap(({ object: { kind, status } }) =>
    [status?.message, ...(status?.conditions ?? []).map(({ message }) => message)].map(
      (text = "") => `${kind}: ${text}`,
    ),
  );
  return [...new Set(texts)].flatMap((text) => judgeWords(text, names).map((lie) => `${text}: ${lie}`));
}

/** A fact is one Event; one that is counted on happened later than it had before. */
function judgeRepetition({ at, object }: Sighting<Event>, earlier: readonly Sighting<Event>[]): string[] {
  const ofSame = earlier.filter(({ object: { regarding } }) => regarding?.uid === object.regarding?.uid);
  const before = ofSame.findLast((one) => one.object.metadata.name === object.metadata.name);
  const [last, now] = [before?.object.series, object.series];
  if (last && now && now.count > last.count && now.lastObservedTime === last.lastObservedTime)
    return ["it is counted on, and not seen later"];
  // What has changed in between and back again is another fact.
  const other = ofSame.findLast((one) => one.object.related?.uid === object.related?.uid);
  if (other === undefined || other.object.metadata.name === object.metadata.name) return [];
  const isSame = other.object.note === object.note && at - other.at < SAME_FACT_MS;
  return isSame ? ["another Event says the same"] : [];
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
    // A machine that no pool ever listed is one of the control plane. An operator that was away reports later, with the
    // time at which it was so.
    if (pools.some(isOfAnother) && !wasTrue({ at: timeOf(sighting), object: {} }, pools, has))
      lies.push("that machine was long gone");
  }
  return lies;
}

/** When it was so: as the Event says, at the latest when it came. */
function timeOf({ at, object: { eventTime } }: Sighting<Event>): number {
  return eventTime == null ? at : Math.min(at, Date.parse(eventTime));
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
