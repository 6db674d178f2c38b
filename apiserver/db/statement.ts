import { getTableColumns, type Placeholder, type SQL, sql } from "drizzle-orm";
import type { PgColumn, PgTable, PgUpdateSetSource } from "drizzle-orm/pg-core";
import { drizzle } from "drizzle-orm/postgres-js";
import type { Queryable, Sql } from "./client.ts";
import { clientOf } from "./pool.ts";

/** What Drizzle builds of a statement: `client` is the connection that it is sent over. */
interface Prepared<Result> {
  client?: Sql;
  execute(values: Readonly<Record<string, unknown>>): Promise<Result>;
}

/** A query of Drizzle's builder, before it is built. */
interface Buildable<Result> {
  prepare(name: string): Prepared<Result>;
}

/** The value of a placeholder, as the driver takes it. */
type Value = string | number | boolean | null;

/** Builds without a connection. */
const builder = drizzle.mock();

/**
 * A statement that is built at its first use and then runs with other values: building costs more than everything else
 * that this process does for a short read. `names` are those of its values; `build` writes it with a placeholder for
 * each. What is returned runs it on the database or in a transaction, and resolves or rejects as the query itself does.
 */
export function prepareStatement<const Name extends string, Result>(
  names: readonly Name[],
  build: (db: Queryable, values: Readonly<Record<Name, Placeholder<Name>>>) => Buildable<Result>,
): (db: Queryable, values: Readonly<Record<Name, Value>>) => Promise<Result> {
  const placeholders = Object.fromEntries(names.map((name) => [name, sql.placeholder(name)]));
  let prepared: Prepared<Result> | undefined;
  return (db, values) => {
    prepared ??= build(builder, placeholders as Record<Name, Placeholder<Name>>).prepare("statement");
    // Drizzle binds what it has built to one connection; each transaction has another.
    const bound: Prepared<Result> = Object.create(prepared);
    bound.client = clientOf(db);
    return bound.execute(values);
  };
}

type Results<Sent extends readonly Promise<unknown>[]> = { [N in keyof Sent]: Awaited<Sent[N]> };

/**
 * The results of statements of one transaction that were sent without waiting for each other: Postgres runs them in the
 * order in which they were called, each after the one before has ended; none may await anything before it sends.
 * Rejects as the first one that failed does, once all have ended: Postgres refuses those after it because of it.
 */
export async function sendTogether<const Sent extends readonly Promise<unknown>[]>(
  ...sent: Sent
): Promise<Results<Sent>> {
  const ended = await Promise.allSettled(sent);
  const results = ended.map((one) => {
    if (one.status === "rejected") throw one.reason;
    return one.value;
  });
  return results as Results<Sent>;
}

/** Rows in one statement: each column of each is one of its 65,535 parameters. */
const ROWS_PER_STATEMENT = 1000;

/** Rows in parts that fit into a statement each; none for no rows. */
export function chunk<Row>(rows: readonly Row[]): Row[][] {
  const count = Math.ceil(rows.length / ROWS_PER_STATEMENT);
  return Array.from({ length: count }, (_, n) =>
    rows.slice(n * ROWS_PER_STATEMENT, (n + 1) * ROWS_PER_STATEMENT),
  );
}

/** For `on conflict … do update`: sets every column that is not generated to the value of the row to be inserted. */
export function setExcluded<T extends PgTable>(table: T): PgUpdateSetSource<T> {
  const columns = Object.entries<PgColumn>(getTableColumns(table));
  const written = columns.filter(
    ([, { generated, generatedIdentity }]) => generated === undefined && generatedIdentity === undefined,
  );
  const set: [string, SQL][] = written.map(([key, { name }]) => [key, sql`excluded.${sql.identifier(name)}`]);
  return Object.fromEntries(set) as PgUpdateSetSource<T>;
}

/**
 * The given value with U+FFFD for each NUL in its strings. Kubernetes accepts NUL in annotations and other free text;
 * Postgres stores it neither in text nor in jsonb (https://www.postgresql.org/docs/current/datatype-json.html). A value
 * without NUL is returned itself.
 */
export function toStorable<T>(value: T): T {
  return hasNul(value) ? (replaceNul(value) as T) : value;
}

function hasNul(value: unknown): boolean {
  if (typeof value === "string") return value.includes("\0");
  if (typeof value !== "object" || value === null) return false;
  for (const key in value)
    if (key.includes("\0") || hasNul((value as Record<string, unknown>)[key])) return true;
  return false;
}

function replaceNul(value: unknown): unknown {
  if (typeof value === "string") return value.replaceAll("\0", "\uFFFD");
  if (Array.isArray(value)) return value.map(replaceNul);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key.replaceAll("\0", "\uFFFD"), replaceNul(inner)]),
  );
}
