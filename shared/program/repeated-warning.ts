import type { Logger } from "./log.ts";

const REPEAT_MS = 60_000;

/**
 * Logs warnings of something that is tried again and again: another sentence than the last at once, the same one once a
 * minute.
 */
export function createRepeatedWarning(
  log: Pick<Logger, "warn">,
  nowMs: () => number = Date.now,
): (sentence: string) => void {
  let last: { sentence: string; atMs: number } | undefined;
  return (sentence) => {
    if (last?.sentence === sentence && nowMs() - last.atMs < REPEAT_MS) return;
    last = { sentence, atMs: nowMs() };
    log.warn(sentence);
  };
}
