import type { Deps } from "../../deps.ts";
import type { PeriodicJob } from "../../work/periodic.ts";
import { cancelForDeleted, cancelHeldTooLong } from "./cancel-store.ts";
import { reviewFailing } from "./failing-store.ts";
import { purgeDeletedWebhooks, purgeDeliveries, purgeWebhookEvents } from "./retention-store.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * Cancel what is pending for deleted webhooks, or for disabled ones since 72 hours; disable what has failed for five days;
 * delete deliveries, events and deleted webhooks after 30 days. All in batches.
 */
export function deliveryJobs({ db }: Pick<Deps, "db">): PeriodicJob[] {
  return [
    {
      name: "cancel-deliveries-of-deleted-webhooks",
      everyMs: MINUTE_MS,
      run: (signal) => cancelForDeleted(db, signal),
    },
    { name: "cancel-held-deliveries", everyMs: MINUTE_MS, run: (signal) => cancelHeldTooLong(db, signal) },
    { name: "review-failing-webhooks", everyMs: MINUTE_MS, run: () => reviewFailing(db) },
    { name: "purge-webhook-deliveries", everyMs: HOUR_MS, run: (signal) => purgeDeliveries(db, signal) },
    { name: "purge-webhook-events", everyMs: HOUR_MS, run: (signal) => purgeWebhookEvents(db, signal) },
    { name: "purge-deleted-webhooks", everyMs: HOUR_MS, run: (signal) => purgeDeletedWebhooks(db, signal) },
  ];
}
