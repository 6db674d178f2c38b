const MS_PER_DAY = 86_400_000;
const CLOSES_AFTER_MS = 6 * 3_600_000;

/** A calendar month in UTC: half-open, from its first instant to the first of the next month. */
export interface Month {
  /** `YYYY-MM`. */
  name: string;
  start: Date;
  end: Date;
  days: number;
  seconds: number;
}

/** The month of a name such as `2026-02`; undefined for any other text. */
export function parseMonth(name: string): Month | undefined {
  const match = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(name);
  return match === null ? undefined : toMonth(Number(match[1]), Number(match[2]) - 1);
}

/** The month that an instant lies in. */
export function monthOf(instant: Date): Month {
  return toMonth(instant.getUTCFullYear(), instant.getUTCMonth());
}

/** The month before one. */
export function monthBefore(month: Month): Month {
  return monthOf(new Date(month.start.getTime() - 1));
}

/**
 * From when on the invoices of a month are issued: 06:00 UTC on the first day of the next one, once its usage is in the
 * ledger. What becomes known afterwards is on a later invoice.
 */
export function closesAt(month: Month): Date {
  return new Date(month.end.getTime() + CLOSES_AFTER_MS);
}

/** The first day of a month, as `2026-02-01`: how Postgres stores it. */
export function periodOf(month: Month): string {
  return dateOf(month, 1);
}

/** A day of a month, counted from 1, as `2026-02-01`. */
export function dateOf(month: Month, dayOfMonth: number): string {
  return `${month.name}-${String(dayOfMonth).padStart(2, "0")}`;
}

/** The month of a first day. Throws for any other text. */
export function monthOfPeriod(period: string): Month {
  const month = parseMonth(period.slice(0, -"-01".length));
  if (month === undefined || periodOf(month) !== period)
    throw new Error(`${period} is no first day of a month`);
  return month;
}

/**
 * When a change of prices takes effect: now, but at least 1 ms after the one before, so that changes follow each other
 * also when the clock was set back.
 */
export function effectiveAfter(last: Date, now: Date): Date {
  return new Date(Math.max(now.getTime(), last.getTime() + 1));
}

function toMonth(year: number, index: number): Month {
  const start = new Date(Date.UTC(year, index));
  const end = new Date(Date.UTC(year, index + 1));
  return {
    name: start.toISOString().slice(0, 7),
    start,
    end,
    days: (end.getTime() - start.getTime()) / MS_PER_DAY,
    seconds: (end.getTime() - start.getTime()) / 1000,
  };
}
