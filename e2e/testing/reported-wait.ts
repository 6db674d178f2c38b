import { setTimeout as sleep } from "node:timers/promises";

/** How waits are reported and bounded. */
export interface Waiting {
  /** Called every 10 s of a wait: what is awaited, for how long, and what was seen last. */
  onWait?: (wait: { what: string; seconds: number; seen: string }) => void;
  /** Deadline of each wait; default 180. */
  deadlineSeconds?: number;
  /** Between two reads; default 500. */
  pollMs?: number;
  /** Ends a wait with its reason. */
  signal?: AbortSignal;
}

/**
 * Reads until `holds`, and returns what was read. The error at the deadline names what was awaited and the last result.
 */
export type Until = <T>(what: string, read: () => Promise<T>, holds: (value: T) => boolean) => Promise<T>;

const REPORT_MS = 10_000;

/** Creates waits that report progress; `describe` says in a few words what a read saw. */
export function createUntil(
  describe: (value: unknown) => string,
  { onWait, deadlineSeconds = 180, pollMs = 500, signal }: Waiting,
): Until {
  return async (what, read, holds) => {
    const startedAt = Date.now();
    let reportedAt = startedAt;
    let seen = "nothing";
    const report = (): void => {
      const now = Date.now();
      if (now - reportedAt < REPORT_MS) return;
      reportedAt = now;
      onWait?.({ what, seconds: (now - startedAt) / 1000, seen });
    };
    // A read that hangs is reported too.
    const timer = setInterval(report, Math.min(pollMs, REPORT_MS));
    try {
      for (;;) {
        signal?.throwIfAborted();
        const value = await read();
        if (holds(value)) return value;
        seen = describe(value);
        if (Date.now() - startedAt > deadlineSeconds * 1000)
          throw new Error(`waited ${deadlineSeconds} s for ${what}; last result: ${JSON.stringify(value)}`);
        await sleep(pollMs);
      }
    } finally {
      clearInterval(timer);
    }
  };
}
