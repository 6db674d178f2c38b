import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../../../shared/program/errors.ts";
import type { Logger } from "../../../shared/program/log.ts";
import type { Database } from "../../db/client.ts";
import { describeDatabaseError } from "../../db/errors.ts";
import { fanOutEvents, listPendingEventIds } from "./fan-out-store.ts";

/** While no event is pending the database is asked this often, in case a notification was lost. */
const POLL_MS = 1000;
/** Between two batches: so that one takes many events when many happen. */
const MIN_INTERVAL_MS = 10;

/**
 * Makes the deliveries of events until the signal aborts. When a batch fails, each of its events is tried alone: one that
 * fails, because the queue of its webhook is locked, delays no other.
 */
export async function runFanOut(
  { db, log, onFannedOut }: { db: Database; log: Logger; onFannedOut: () => void },
  wakeup: Wakeup,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const woken = wakeup.next();
    let count = 0;
    try {
      if ((await listPendingEventIds(db, 1)).length > 0) count = await fanOutBatch();
    } catch (error) {
      warn(error, "cannot make the deliveries of events; retrying shortly");
    }
    if (count > 0) onFannedOut();
    await pause(MIN_INTERVAL_MS, signal);
    if (count === 0) await Promise.race([woken, pause(POLL_MS, signal)]);
  }

  async function fanOutBatch(): Promise<number> {
    try {
      return await fanOutEvents(db);
    } catch (error) {
      warn(error, "cannot make the deliveries of a batch of events; each is tried alone");
      return fanOutEach();
    }
  }

  async function fanOutEach(): Promise<number> {
    let count = 0;
    for (const id of await listPendingEventIds(db)) {
      if (signal.aborted) break;
      try {
        count += await fanOutEvents(db, id);
      } catch (error) {
        warn(error, `cannot make the deliveries of the event ${id}; retrying shortly`);
      }
    }
    return count;
  }

  function warn(error: unknown, text: string): void {
    log.warn({ message: describeDatabaseError(error)?.message ?? messageOf(error) }, text);
  }
}

/** Wakes a loop that waits. */
interface Wakeup {
  wake: () => void;
  /** Resolves at the next `wake`, or when the signal aborts. */
  next: () => Promise<void>;
}

export function createWakeup(signal: AbortSignal): Wakeup {
  let resolveNext = () => {};
  signal.addEventListener("abort", () => resolveNext(), { once: true });
  return {
    wake: () => resolveNext(),
    next: () =>
      new Promise((resolve) => {
        resolveNext = resolve;
      }),
  };
}

/** Waits, at most until the signal aborts. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0) return;
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}
