import { composeEvidence, type EndReason, type Metered, type NewEvidence } from "./evidence.ts";
import { type Meters, metersOf } from "./meters.ts";
import { isInUse, isNothing, type Use } from "./uses.ts";

/** A figure holds until the next one, but for no longer than this. */
const HOLDS_MS = 24 * 3_600_000;

/** A quantity that was measured. */
export interface Figure {
  use: Use;
  measuredAt: Date;
}

/** The time of the newest figure of a subject after this one was checked. A time in the future is taken as now. */
export function newestFigureTime(
  figure: Figure | undefined,
  lastMeasuredAt: Date | undefined,
  now: Date,
): Date | undefined {
  if (figure === undefined) return lastMeasuredAt;
  const measuredAt = earliest(figure.measuredAt, now);
  return lastMeasuredAt !== undefined && measuredAt <= lastMeasuredAt ? lastMeasuredAt : measuredAt;
}

/**
 * What a figure shows that the ledger does not have yet. undefined: there is no figure any more, and what was in use
 * ended now. `lastMeasuredAt` is the time of the newest figure that was checked before.
 */
export function findFigureEvidence(
  metered: Metered,
  meters: Meters,
  {
    figure,
    lastMeasuredAt,
    now,
  }: { figure: Figure | undefined; lastMeasuredAt: Date | undefined; now: Date },
): NewEvidence[] {
  const measuredAt = newestFigureTime(figure, lastMeasuredAt, now);
  const next = measuredAt === lastMeasuredAt || measuredAt === undefined ? undefined : measuredAt;
  const known = metersOf(meters, metered.kind, metered.subject);
  const evidence: NewEvidence[] = [];
  let isRunning = known.some(({ endedAt }) => endedAt === null);
  const end = (at: Date, reason: EndReason) => {
    evidence.push(composeEvidence(metered, at, {}, reason));
    isRunning = false;
  };

  const expiry = expiryOf(lastMeasuredAt);
  if (isRunning && expiry <= (next ?? now)) end(expiry, "expired");
  if (isRunning && figure === undefined) end(now, "ended");
  if (next === undefined || figure === undefined) return evidence;
  const isSame = isRunning ? isInUse(known, figure.use) : isNothing(figure.use);
  if (!isSame) evidence.push(composeEvidence(metered, next, figure.use));
  return evidence;
}

/** A use that no figure is known of has expired. */
function expiryOf(measuredAt: Date | undefined): Date {
  return new Date((measuredAt?.getTime() ?? -HOLDS_MS) + HOLDS_MS);
}

function earliest(one: Date, other: Date): Date {
  return one < other ? one : other;
}
