import type { Deps } from "../deps.ts";
import type { PeriodicJob } from "../work/periodic.ts";
import { deliveryJobs } from "./delivery/jobs.ts";
import { reencryptSecrets } from "./secrets/rotate.ts";
import { deleteExpiredSecrets } from "./secrets/store.ts";

const EVERY_MS = 10 * 60_000;

/** Those of deliveries; besides, encrypts secrets anew after a change of the keys, and removes those that sign no longer. */
export function webhookJobs(deps: Pick<Deps, "config" | "db" | "log">): PeriodicJob[] {
  return [
    ...deliveryJobs(deps),
    { name: "reencrypt-webhook-secrets", everyMs: EVERY_MS, run: (signal) => reencryptSecrets(deps, signal) },
    { name: "expired-webhook-secrets", everyMs: EVERY_MS, run: () => deleteExpiredSecrets(deps.db) },
  ];
}
