import type { Logger } from "../../shared/program/log.ts";
import type { Sql } from "../db/client.ts";
import { runAsLeader } from "./leader.ts";
import { runLoop } from "./loop.ts";

/** Reconciles state with what it should be; safe to run twice, or to skip. */
export interface PeriodicJob {
  name: string;
  everyMs: number;
  run(signal: AbortSignal): Promise<void>;
}

export interface PeriodicOptions {
  sql: Sql;
  log: Logger;
  signal: AbortSignal;
}

/**
 * Runs every job on one of all replicas: at once, then at its own interval (with up to 10 % jitter). A failing job is
 * logged and runs again at its next interval. Resolves when `signal` aborts.
 */
export async function runPeriodically(options: PeriodicOptions, jobs: readonly PeriodicJob[]): Promise<void> {
  await runAsLeader({ ...options, name: "periodic-jobs" }, async (signal) => {
    await Promise.all(jobs.map((job) => repeat(job, options.log, signal)));
  });
}

async function repeat(job: PeriodicJob, log: Logger, signal: AbortSignal): Promise<void> {
  const nextMs = () => job.everyMs * (1 + Math.random() / 10);
  const options = { log, signal, failure: "job failed", fields: { job: job.name }, retryMs: nextMs() };
  await runLoop(options, async () => {
    await job.run(signal);
    return nextMs();
  });
}

/** Does one after the other until `signal` aborts, and resolves to the errors: one that fails delays no other. */
export async function collectErrors<T>(
  items: readonly T[],
  signal: AbortSignal,
  handle: (item: T) => Promise<unknown>,
): Promise<unknown[]> {
  const errors: unknown[] = [];
  for (const item of items) {
    if (signal.aborted) break;
    await handle(item).catch((error: unknown) => errors.push(error));
  }
  return errors;
}

/** Throws the first of these errors; without one it returns. */
export function throwFirst(errors: readonly unknown[]): void {
  if (errors.length > 0) throw errors[0];
}
