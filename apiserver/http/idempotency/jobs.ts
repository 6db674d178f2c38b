import type { Database } from "../../db/client.ts";
import type { PeriodicJob } from "../../work/periodic.ts";
import { purgeIdempotencyKeys } from "./store.ts";

const EVERY_MS = 3_600_000;

/** Deletes expired keys. */
export function idempotencyJobs({ db }: { db: Database }): PeriodicJob[] {
  const run = async () => void (await purgeIdempotencyKeys(db));
  return [{ name: "purge-idempotency-keys", everyMs: EVERY_MS, run }];
}
