import type { MeteredType, UsageInterval } from "../resource-types.ts";
import { type Evidence, type EvidenceKind, isOfKind } from "./evidence.ts";

/** An interval of the ledger, with what it was made from. */
export interface LedgerInterval extends UsageInterval {
  id: string;
  subject: string;
  evidenceId: string;
}

/** The last interval of one resource type of one subject: what is in use, and until when it is billed. */
export type LatestInterval = Pick<
  LedgerInterval,
  "id" | "resourceType" | "quantity" | "startedAt" | "endedAt"
>;

/** The latest intervals of each subject, by resource type. */
export type LatestIntervals = Map<string, Map<MeteredType, LatestInterval>>;

/** What evidence changes in the ledger. */
export interface LedgerChanges {
  opened: LedgerInterval[];
  /** Intervals of the ledger that end. */
  ended: { id: string; endedAt: Date }[];
}

/** The latest intervals of a subject that evidence of this kind covers. */
export function latestIntervalsOf(
  latest: LatestIntervals,
  kind: EvidenceKind,
  subject: string,
): LatestInterval[] {
  return [...(latest.get(subject)?.values() ?? [])].filter((interval) =>
    isOfKind(kind, interval.resourceType),
  );
}

/** Makes `interval` the last one of its resource type. */
export function setLatestInterval(latest: LatestIntervals, subject: string, interval: LatestInterval): void {
  const ofSubject = latest.get(subject) ?? new Map<MeteredType, LatestInterval>();
  latest.set(subject, ofSubject.set(interval.resourceType, interval));
}

/**
 * The changes that follow from evidence, in its order; `latest` is updated. An interval never begins before the end of
 * the one before it and never ends before its own start, so that no second counts twice whatever the times say.
 */
export function applyEvidence(
  latest: LatestIntervals,
  evidence: readonly Evidence[],
  newId: () => string,
): LedgerChanges {
  const opened = new Map<string, LedgerInterval>();
  const ended = new Map<string, Date>();
  for (const item of evidence) {
    const at = new Date(item.sample.at);
    const wanted = readQuantities(item);
    for (const interval of latestIntervalsOf(latest, item.kind, item.subject)) {
      if (interval.endedAt !== null || interval.quantity === wanted.get(interval.resourceType)) continue;
      interval.endedAt = laterOf(at, interval.startedAt);
      if (!opened.has(interval.id)) ended.set(interval.id, interval.endedAt);
    }
    for (const [resourceType, quantity] of wanted) {
      const before = latest.get(item.subject)?.get(resourceType);
      if (before?.endedAt === null) continue;
      const startedAt = before === undefined ? at : laterOf(at, before.endedAt);
      const interval = toInterval(item, { id: newId(), resourceType, quantity, startedAt });
      opened.set(interval.id, interval);
      setLatestInterval(latest, item.subject, interval);
    }
  }
  return { opened: [...opened.values()], ended: [...ended].map(([id, endedAt]) => ({ id, endedAt })) };
}

/** The ledger as evidence alone makes it, in the order in which it was stored. */
export function rebuildIntervals(evidence: readonly Evidence[], newId: () => string): LedgerInterval[] {
  return applyEvidence(new Map(), evidence, newId).opened;
}

function readQuantities({ sample }: Evidence): Map<MeteredType, bigint> {
  const quantities = Object.entries(sample.quantities);
  return new Map(quantities.map(([type, quantity]) => [type as MeteredType, BigInt(quantity ?? 0)]));
}

function toInterval(
  { id: evidenceId, organizationId, subject, sample }: Evidence,
  use: Pick<LedgerInterval, "id" | "resourceType" | "quantity" | "startedAt">,
): LedgerInterval {
  const { clusterId, clusterName, nodePoolId } = sample;
  return { ...use, endedAt: null, organizationId, clusterId, clusterName, nodePoolId, subject, evidenceId };
}

function laterOf(one: Date, other: Date): Date {
  return one > other ? one : other;
}
