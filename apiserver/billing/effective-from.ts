/**
 * When a change of prices takes effect: now, but at least 1 ms after the one before, so that changes follow each other also
 * when the clock was set back.
 */
export function effectiveAfter(last: Date, now: Date): Date {
  return new Date(Math.max(now.getTime(), last.getTime() + 1));
}
