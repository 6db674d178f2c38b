import { type SQL, sql } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";
import type { Database } from "./client.ts";

/** More keys than this are another statement, so that none becomes slow. */
const MAX_KEYS = 100;

interface Asked<K, R> {
  key: K;
  resolve: (row: R | undefined) => void;
  reject: (error: unknown) => void;
}

/**
 * A lookup by key of which all that are asked in one turn of the event loop are one statement: under load the way to
 * Postgres costs more than all the rest of a request. It waits for nothing and keeps nothing; `read` gets each asked key
 * and returns the row of each, in the same order.
 */
export function batchLookups<K, R>(
  read: (db: Database, keys: readonly K[]) => Promise<readonly (R | undefined)[]>,
): (db: Database, key: K) => Promise<R | undefined> {
  const waiting = new Map<Database, Asked<K, R>[]>();

  async function send(db: Database, batch: readonly Asked<K, R>[]): Promise<void> {
    try {
      const keys = batch.map(({ key }) => key);
      const rows = await read(db, keys);
      for (const [index, { resolve }] of batch.entries()) resolve(rows[index]);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  function flush(db: Database): void {
    const asked = waiting.get(db) ?? [];
    waiting.delete(db);
    for (let start = 0; start < asked.length; start += MAX_KEYS)
      void send(db, asked.slice(start, start + MAX_KEYS));
  }

  return (db, key) =>
    new Promise((resolve, reject) => {
      const asked = waiting.get(db);
      if (asked === undefined) {
        waiting.set(db, [{ key, resolve, reject }]);
        setImmediate(flush, db);
      } else asked.push({ key, resolve, reject });
    });
}

/** That a column is one of the ids in a parameter made by `toUuidArray`. */
export function isOneOf(column: PgColumn, placeholder: string): SQL {
  return sql`${column} = any(${sql.placeholder(placeholder)}::uuid[])`;
}

/** The same with the ids themselves. */
export function isAmong(column: PgColumn, ids: readonly string[]): SQL {
  return sql`${column} = any(${toUuidArray(ids)}::uuid[])`;
}

/** Ids as one parameter `$1::uuid[]`. They must be UUIDs: another text would fail the statement of all who asked. */
export function toUuidArray(ids: readonly string[]): string {
  return `{${ids.join(",")}}`;
}
