import type { Logger } from "../../../shared/program/log.ts";
import type { Database } from "../../db/client.ts";
import { describeDatabaseError, LOCK_NOT_AVAILABLE } from "../../db/errors.ts";
import { describeFailure, runLoop, type Wakeup } from "../../work/loop.ts";
import { fanOutEvents, listEventsToFanOut } from "./fan-out-store.ts";

/** While no event is to be fanned out the database is asked this often, in case a notification was lost. */
const POLL_MS = 1000;
/**
 * So that a batch takes many events when many happen, and one that fails is not tried again at once by each wake-up.
 */
const MIN_INTERVAL_MS = 10;

/**
 * Makes the deliveries of events until the signal aborts. When a batch fails, each event is tried alone. One that fails because the
 * queue of a webhook is locked has waited for a second; a later one for all of the same webhooks would too, and is left for the
 * next pass.
 */
export async function runFanOut(
  { db, log, onFannedOut }: { db: Database; log: Logger; onFannedOut: () => void },
  wakeup: Wakeup,
  signal: AbortSignal,
): Promise<void> {
  const failure = "cannot make the deliveries of events; retrying shortly";
  const options = { log, signal, wakeup, failure, retryMs: POLL_MS, minIntervalMs: MIN_INTERVAL_MS };
  await runLoop(options, async () => {
    const count = (await listEventsToFanOut(db, 1)).length > 0 ? await fanOutBatch() : 0;
    if (count > 0) onFannedOut();
    return count > 0 ? 0 : POLL_MS;
  });

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
    const locked: (readonly string[])[] = [];
    for (const { id, pendingWebhookIds } of await listEventsToFanOut(db)) {
      if (signal.aborted) break;
      const webhookIds = pendingWebhookIds ?? [];
      if (locked.some((ids) => ids.every((webhookId) => webhookIds.includes(webhookId)))) continue;
      try {
        count += await fanOutEvents(db, id);
      } catch (error) {
        if (describeDatabaseError(error)?.code === LOCK_NOT_AVAILABLE) locked.push(webhookIds);
        warn(error, `cannot make the deliveries of the event ${id}; retrying shortly`);
      }
    }
    return count;
  }

  function warn(error: unknown, text: string): void {
    log.warn({ message: describeFailure(error) }, text);
  }
}
