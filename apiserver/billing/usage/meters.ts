import { type Evidence, type EvidenceKind, isOfKind } from "./evidence.ts";
import type { MeteredType, UsageInterval } from "./interval.ts";

/** An interval of the ledger, with what it was made from. */
export interface LedgerInterval extends UsageInterval {
  id: string;
  subject: string;
  evidenceId: string;
}

/** The last interval of one resource type of one subject: what is in use, and until when it is billed. */
export type Meter = Pick<LedgerInterval, "id" | "resourceType" | "quantity" | "startedAt" | "endedAt">;

/** The meters of each subject by resource type. */
export type Meters = Map<string, Map<MeteredType, Meter>>;

/** What evidence changes in the ledger. */
export interface LedgerChanges {
  opened: LedgerInterval[];
  /** Intervals of the ledger that end. */
  ended: { id: string; endedAt: Date }[];
}

/** The meters of a subject that evidence of this kind covers. */
export function metersOf(meters: Meters, kind: EvidenceKind, subject: string): Meter[] {
  return [...(meters.get(subject)?.values() ?? [])].filter((meter) => isOfKind(kind, meter.resourceType));
}

/** Makes `meter` the last one of its resource type. */
export function setMeter(meters: Meters, subject: string, meter: Meter): void {
  const ofSubject = meters.get(subject) ?? new Map<MeteredType, Meter>();
  meters.set(subject, ofSubject.set(meter.resourceType, meter));
}

/**
 * The changes that follow from evidence, in its order; `meters` is updated. An interval never begins before the end of
 * the one before it and never ends before its own start, so that no second counts twice whatever the times say.
 */
export function applyEvidence(
  meters: Meters,
  evidence: readonly Evidence[],
  newId: () => string,
): LedgerChanges {
  const opened = new Map<string, LedgerInterval>();
  const ended = new Map<string, Date>();
  for (const item of evidence) {
    const at = new Date(item.sample.at);
    const wanted = readQuantities(item);
    for (const meter of metersOf(meters, item.kind, item.subject)) {
      if (meter.endedAt !== null || meter.quantity === wanted.get(meter.resourceType)) continue;
      meter.endedAt = latest(at, meter.startedAt);
      if (!opened.has(meter.id)) ended.set(meter.id, meter.endedAt);
    }
    for (const [resourceType, quantity] of wanted) {
      const before = meters.get(item.subject)?.get(resourceType);
      if (before?.endedAt === null) continue;
      const startedAt = before === undefined ? at : latest(at, before.endedAt);
      const interval = toInterval(item, { id: newId(), resourceType, quantity, startedAt });
      opened.set(interval.id, interval);
      setMeter(meters, item.subject, interval);
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

function latest(one: Date, other: Date): Date {
  return one > other ? one : other;
}
