import { type SQL, sql } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";
import type { Database } from "./client.ts";

/** More keys than this are another statement, so that none becomes slow. */
const MAX_KEYS = 100;
/** After a statement that several asked in, the next one waits this long for company: a GET of 16 at once costs 76 µs, not 89. */
const GATHER_MS = 1;
/** A statement that is away for longer holds nobody up: its connection may be a slow or a dead one. */
const MAX_HOLD_MS = 20;

interface Asked<K, R> {
  key: K;
  resolve: (row: R | undefined) => void;
  reject: (error: unknown) => void;
}

interface Line<K, R> {
  asked: Asked<K, R>[];
  isFlushing: boolean;
  /** When the newest statement left; undefined when none is on its way. */
  sentAtMs: number | undefined;
  /** How many asked in the newest statement. */
  lastSize: number;
}

/**
 * A lookup by key of which all that are asked while one statement is on its way are the next one: under load the way to
 * Postgres costs more than all the rest of a request. Who asks alone waits for nothing, and nothing is kept.
 * `read` gets each asked key and returns the row of each, in the same order.
 */
export function batchLookups<K, R>(
  read: (db: Database, keys: readonly K[]) => Promise<readonly (R | undefined)[]>,
  nowMs: () => number = () => performance.now(),
): (db: Database, key: K) => Promise<R | undefined> {
  const lines = new WeakMap<Database, Line<K, R>>();

  async function send(db: Database, line: Line<K, R>, batch: readonly Asked<K, R>[]): Promise<void> {
    const sentAtMs = nowMs();
    line.sentAtMs = sentAtMs;
    try {
      const keys = batch.map(({ key }) => key);
      const rows = await read(db, keys);
      for (const [index, { resolve }] of batch.entries()) resolve(rows[index]);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      if (line.sentAtMs === sentAtMs) line.sentAtMs = undefined;
      if (line.asked.length > 0) flushSoon(db, line);
    }
  }

  function flush(db: Database, line: Line<K, R>): void {
    line.isFlushing = false;
    const { asked } = line;
    line.asked = [];
    line.lastSize = asked.length;
    for (let start = 0; start < asked.length; start += MAX_KEYS)
      void send(db, line, asked.slice(start, start + MAX_KEYS));
  }

  function flushSoon(db: Database, line: Line<K, R>): void {
    if (line.isFlushing) return;
    line.isFlushing = true;
    if (line.lastSize > 1) setTimeout(flush, GATHER_MS, db, line);
    else setImmediate(flush, db, line);
  }

  function lineOf(db: Database): Line<K, R> {
    const known = lines.get(db);
    if (known !== undefined) return known;
    const line = { asked: [], isFlushing: false, sentAtMs: undefined, lastSize: 0 };
    lines.set(db, line);
    return line;
  }

  return (db, key) =>
    new Promise((resolve, reject) => {
      const line = lineOf(db);
      line.asked.push({ key, resolve, reject });
      if (line.sentAtMs === undefined || nowMs() - line.sentAtMs > MAX_HOLD_MS) flushSoon(db, line);
    });
}

/** `batchLookups` by id, with a prepared query that takes `ids` (see `isOneOf`) and gives rows with their `id`. */
export function batchById<R extends { id: string }>(
  find: (db: Database) => { execute(values: { ids: string }): Promise<R[]> },
): (db: Database, id: string) => Promise<R | undefined> {
  return batchLookups(async (db, ids: readonly string[]) => {
    const rows = await find(db).execute({ ids: toUuidArray(ids) });
    const found = new Map(rows.map((row) => [row.id, row]));
    return ids.map((id) => found.get(id));
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
