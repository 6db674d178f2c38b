import type { Database } from "../db/client.ts";
import { repeatBatches } from "../work/loop.ts";
import type { PeriodicJob } from "../work/periodic.ts";
import { purgeRevokedTokens } from "./store.ts";

const EVERY_MS = 3_600_000;
const BATCH = 500;

/** Deletes tokens 30 days after they were revoked. */
export function apiTokenJobs({ db }: { db: Database }): PeriodicJob[] {
  const run = async (signal: AbortSignal) =>
    void (await repeatBatches(BATCH, signal, () => purgeRevokedTokens(db, BATCH)));
  return [{ name: "purge-revoked-api-tokens", everyMs: EVERY_MS, run }];
}
