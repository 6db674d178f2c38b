/** A calendar month in UTC: half-open, from its first instant to the first of the next month. */
export interface Month {
  /** `YYYY-MM`. */
  name: string;
  start: Date;
  end: Date;
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

function toMonth(year: number, index: number): Month {
  const start = new Date(Date.UTC(year, index));
  const end = new Date(Date.UTC(year, index + 1));
  return {
    name: start.toISOString().slice(0, 7),
    start,
    end,
    seconds: (end.getTime() - start.getTime()) / 1000,
  };
}
