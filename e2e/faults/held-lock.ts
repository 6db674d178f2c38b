import type postgres from "postgres";
import { waitFor } from "../platform/stack/testing.ts";
import type { SecondApiserver } from "../testing/second-apiserver.ts";

export interface Hold {
  /** Locks what the replica will wait for. */
  hold: (tx: postgres.TransactionSql) => Promise<unknown>;
  /** A table that the waiting transaction writes or wrote to; any transaction will do without it. */
  written?: string;
}

/**
 * How a request ends that waits for what is held and whose replica is killed meanwhile. A statement waits for 10 s at
 * most: then the answer is 503, and the request is sent again.
 */
export async function callUntilAnswered(
  call: () => Promise<{ status: number }>,
): Promise<"answered" | "broken off"> {
  for (;;) {
    const status = await call().then(
      (response) => response.status,
      () => undefined,
    );
    if (status !== 503) return status === undefined ? "broken off" : "answered";
  }
}

/**
 * Kills the replica that `start` starts when a transaction of it waits for what is held; then all of that is free
 * again.
 */
export async function killWhileHeld(
  sql: postgres.Sql,
  start: () => Promise<SecondApiserver>,
  { hold, written }: Hold,
): Promise<void> {
  const table = written ?? null;
  await sql.begin(async (tx) => {
    await hold(tx);
    const [{ pid: own } = { pid: 0 }] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`;
    const replica = await start();
    try {
      await waitFor(`the replica to wait${table === null ? "" : `, having written ${table}`}`, async () => {
        const rows = await sql`
          select 1 from pg_locks as held
          where ${own} = any(pg_blocking_pids(held.pid))
            and (${table}::text is null or held.relation = ${table}::regclass and held.mode = 'RowExclusiveLock')`;
        return rows.length > 0;
      });
    } finally {
      replica.signal("SIGKILL");
      await replica.exited;
    }
  });
}
