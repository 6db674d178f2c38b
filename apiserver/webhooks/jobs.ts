import type { Deps } from "../deps.ts";
import type { PeriodicJob } from "../work/periodic.ts";
import { reviewFailing } from "./deliverer/disable-store.ts";
import {
  cancelForDeleted,
  cancelForDisabled,
  purgeDeletedWebhooks,
  purgeDeliveries,
  purgeResponses,
  purgeWebhookEvents,
} from "./deliverer/retention-store.ts";
import { reencryptSecrets } from "./secrets/rotate.ts";
import { deleteExpiredSecrets } from "./secrets/store.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const SECRETS_EVERY_MS = 10 * MINUTE_MS;

/**
 * The jobs of deliveries and of signing secrets: secrets are encrypted anew after a change of the keys, and removed once they sign no
 * longer.
 */
export function webhookJobs(deps: Pick<Deps, "config" | "db" | "log">): PeriodicJob[] {
  return [
    ...deliveryJobs(deps),
    {
      name: "reencrypt-webhook-secrets",
      everyMs: SECRETS_EVERY_MS,
      run: (signal) => reencryptSecrets(deps, signal),
    },
    { name: "expired-webhook-secrets", everyMs: SECRETS_EVERY_MS, run: () => deleteExpiredSecrets(deps.db) },
  ];
}

/**
 * Cancel what is pending for deleted webhooks, and for disabled ones what is older than 72 hours; disable what has failed for five
 * days and has used up the retries of two events; delete deliveries, events and deleted webhooks after 30 days, and what came back
 * of old deliveries of a webhook that has many. All in batches.
 */
export function deliveryJobs({ db }: Pick<Deps, "db">): PeriodicJob[] {
  return [
    {
      name: "cancel-deliveries-of-deleted-webhooks",
      everyMs: MINUTE_MS,
      run: (signal) => cancelForDeleted(db, signal),
    },
    {
      name: "cancel-deliveries-of-disabled-webhooks",
      everyMs: MINUTE_MS,
      run: (signal) => cancelForDisabled(db, signal),
    },
    { name: "review-failing-webhooks", everyMs: MINUTE_MS, run: () => reviewFailing(db) },
    { name: "purge-webhook-deliveries", everyMs: HOUR_MS, run: (signal) => purgeDeliveries(db, signal) },
    { name: "purge-webhook-responses", everyMs: HOUR_MS, run: (signal) => purgeResponses(db, signal) },
    { name: "purge-webhook-events", everyMs: HOUR_MS, run: (signal) => purgeWebhookEvents(db, signal) },
    { name: "purge-deleted-webhooks", everyMs: HOUR_MS, run: (signal) => purgeDeletedWebhooks(db, signal) },
  ];
}
