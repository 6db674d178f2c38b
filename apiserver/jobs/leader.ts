import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "../../shared/log.ts";
import { openOwnConnection, type Sql } from "../db/client.ts";

const RETRY_MS = 2000;
/** How long a leader whose connection broke may go on before it notices. */
const HEARTBEAT_MS = 2000;
/** Then the connection is given up. Seen after a restart of Postgres: a query that postgres.js never settled. */
const ANSWER_TIMEOUT_MS = 5000;

export interface LeaderOptions {
  sql: Sql;
  log: Logger;
  /** Among all replicas one leads per name. */
  name: string;
  signal: AbortSignal;
}

/**
 * Runs `lead` in at most one process: the one that holds a Postgres advisory lock of this name. Its signal aborts
 * when the lock's connection is lost or the process drains; then, and after a failure, the lock is sought again.
 * Resolves when `signal` aborts. Leadership may overlap for seconds after a broken connection: `lead` must bear that.
 */
export async function runAsLeader(
  options: LeaderOptions,
  lead: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const { log, name, signal } = options;
  while (!signal.aborted) {
    const connection = openOwnConnection(options.sql);
    try {
      while (!signal.aborted) {
        await seekOnce(options, connection, lead);
        await pause(signal);
      }
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      log.warn({ leader: name, message }, "leading ended");
      await pause(signal);
    } finally {
      await connection.end({ timeout: 1 });
    }
  }
}

async function pause(signal: AbortSignal): Promise<void> {
  await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
}

async function seekOnce(
  options: LeaderOptions,
  connection: Sql,
  lead: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const key = `marina:${options.name}`;
  const [lock] = await settleInTime(connection<{ held: boolean; pid: number }[]>`
    select pg_try_advisory_lock(hashtextextended(${key}, 0)) as held, pg_backend_pid() as pid`);
  if (lock?.held !== true) return;
  options.log.info({ leader: options.name }, "leading");
  try {
    await leadWhileHeld(options, connection, lock.pid, lead);
  } finally {
    await settleInTime(connection`select pg_advisory_unlock(hashtextextended(${key}, 0))`);
  }
}

async function leadWhileHeld(
  options: LeaderOptions,
  connection: Sql,
  pid: number,
  lead: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const lost = new AbortController();
  const stop = () => lost.abort();
  options.signal.addEventListener("abort", stop, { once: true });
  const watching = watchConnection(connection, pid, lost);
  try {
    await lead(lost.signal);
  } finally {
    options.signal.removeEventListener("abort", stop);
    lost.abort();
    await watching;
  }
}

/** A broken connection is replaced silently, and the lock died with it: only the same backend still holds it. */
async function watchConnection(connection: Sql, pid: number, lost: AbortController): Promise<void> {
  while (!lost.signal.aborted) {
    await sleep(HEARTBEAT_MS, undefined, { signal: lost.signal }).catch(() => undefined);
    if (lost.signal.aborted) return;
    if ((await findBackend(connection)) !== pid) lost.abort();
  }
}

async function findBackend(connection: Sql): Promise<number | undefined> {
  try {
    const [row] = await settleInTime(connection<{ pid: number }[]>`select pg_backend_pid() as pid`);
    return row?.pid;
  } catch {
    return undefined;
  }
}

/** Settles as the query does; rejects when there is no answer in time. */
async function settleInTime<T>(query: PromiseLike<T>): Promise<T> {
  const late = sleep(ANSWER_TIMEOUT_MS, undefined, { ref: false }).then(() => {
    throw new Error(`Postgres did not answer within ${ANSWER_TIMEOUT_MS / 1000} s`);
  });
  return Promise.race([query, late]);
}
