/**
 * What is left in milliseconds of a wait that began at `since` (RFC 3339); undefined when it is over. A beginning that lies
 * ahead (a clock that is behind) or is unknown is nothing to wait for.
 */
export function remainingMs(since: string | undefined, waitMs: number, now: Date): number | undefined {
  const ageMs = now.getTime() - Date.parse(since ?? "");
  return ageMs >= 0 && ageMs < waitMs ? waitMs - ageMs : undefined;
}
