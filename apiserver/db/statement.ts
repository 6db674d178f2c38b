import { type Placeholder, sql } from "drizzle-orm";
import { drizzle, type PostgresJsSession } from "drizzle-orm/postgres-js";
import type { Queryable, Sql } from "./client.ts";

/** What Drizzle builds of a statement: `client` is the connection that it is sent over. */
interface Prepared<Result> {
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
 * that this process does for a short read. `names` are those of its values; `build` writes it with a placeholder for each.
 * What is returned runs it on the database or in a transaction, and resolves or rejects as the query itself does.
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
    const bound: Prepared<Result> = Object.create(prepared, { client: { value: clientOf(db) } });
    return bound.execute(values);
  };
}

function clientOf(db: Queryable): Sql {
  const { session } = db._;
  return (session as unknown as PostgresJsSession<Sql, Record<string, never>, Record<string, never>>).client;
}
