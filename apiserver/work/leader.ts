import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../../shared/program/errors.ts";
import type { Logger } from "../../shared/program/log.ts";
import { openOwnConnection, type Sql } from "../db/client.ts";
import { pause } from "./loop.ts";

const RETRY_MS = 2000;
/** How long a leader whose connection broke may go on before it notices. */
const HEARTBEAT_MS = 2000;
/**
 * A query of the connection that holds the lock and takes longer ends the leadership, and the connection is closed. Seen after
 * a restart of Postgres: a query whose promise postgres.js never resolved.
 */
const QUERY_TIMEOUT_MS = 5000;

export interface LeaderOptions {
  sql: Sql;
  log: Logger;
  /** One replica leads per name. */
  name: string;
  signal: AbortSignal;
}

/**
 * Runs `lead` in at most one process: the one that holds the Postgres advisory lock of this name. Its signal aborts
 * when the lock's connection is lost or the process drains; then, and after a failure, the lock is requested again.
 * Resolves when `signal` aborts. Leaders may overlap for seconds after a broken connection: `lead` must tolerate that.
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
        await leadIfFree(options, connection, lead);
        await pause(RETRY_MS, signal);
      }
    } catch (error) {
      const message = messageOf(error);
      log.warn({ leader: name, message }, "leadership ended");
      await pause(RETRY_MS, signal);
    } finally {
      await connection.end({ timeout: 1 });
    }
  }
}

async function leadIfFree(
  options: LeaderOptions,
  connection: Sql,
  lead: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const key = `marina:${options.name}`;
  const [lock] = await withTimeout(connection<{ held: boolean; pid: number }[]>`
    select pg_try_advisory_lock(hashtextextended(${key}, 0)) as held, pg_backend_pid() as pid`);
  if (lock?.held !== true) return;
  options.log.info({ leader: options.name }, "leading");
  try {
    await leadWhileHeld(options, connection, lock.pid, lead);
  } finally {
    await withTimeout(connection`select pg_advisory_unlock(hashtextextended(${key}, 0))`);
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

/** postgres.js replaces a broken connection silently, and the lock is lost with it: only the same backend holds it. */
async function watchConnection(connection: Sql, pid: number, lost: AbortController): Promise<void> {
  while (!lost.signal.aborted) {
    await pause(HEARTBEAT_MS, lost.signal);
    if (lost.signal.aborted) return;
    if ((await findBackend(connection)) !== pid) lost.abort();
  }
}

async function findBackend(connection: Sql): Promise<number | undefined> {
  try {
    const [row] = await withTimeout(connection<{ pid: number }[]>`select pg_backend_pid() as pid`);
    return row?.pid;
  } catch {
    return undefined;
  }
}

/** Resolves or rejects as the query does; rejects after the timeout. */
async function withTimeout<T>(query: PromiseLike<T>): Promise<T> {
  const late = sleep(QUERY_TIMEOUT_MS, undefined, { ref: false }).then(() => {
    throw new Error(`Postgres did not respond within ${QUERY_TIMEOUT_MS / 1000} s`);
  });
  return Promise.race([query, late]);
}
