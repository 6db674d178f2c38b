import { createHash, randomBytes } from "node:crypto";
import postgres from "postgres";
import { readJournal } from "./journal.ts";
import { migrate } from "./migrate.ts";

/** The error of Postgres for a database with connections. */
const OBJECT_IN_USE = "55006";

export interface TestDatabase {
  url: string;
  drop(): Promise<void>;
}

/**
 * A separate database for one test file: a clone of a template that holds the newest schema. The template is made
 * once per server and set of migrations; `adminUrl` needs the right to create databases.
 */
export async function createTestDatabase(adminUrl: string): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString("hex")}`;
  await withAdmin(adminUrl, async (sql) => {
    const template = await ensureTemplate(sql, adminUrl);
    await sql`create database ${sql(name)} template ${sql(template)}`;
  });
  return {
    url: databaseUrl(adminUrl, name),
    drop: () => withAdmin(adminUrl, (sql) => dropDatabase(sql, name)),
  };
}

/** How many transactions wait for a lock. Ask outside of a transaction, in which the first answer would be kept. */
export async function countLockWaits(sql: postgres.Sql): Promise<number> {
  const rows = await sql`select from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`;
  return rows.length;
}

/** How many rows each table has, and a digest of them, by its name. */
export type TableDigests = Record<string, { count: number; digest: string | null }>;

/**
 * Makes one statement that digests each table but those `without` and the times at which tokens were last used.
 */
export async function prepareDigest(
  sql: postgres.Sql,
  without: readonly string[] = [],
): Promise<(tx: postgres.TransactionSql) => Promise<TableDigests>> {
  const tables = await sql`select c.oid::regclass::text as name from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition order by 1`;
  const digests = tables.flatMap(({ name }) =>
    without.includes(name)
      ? []
      : `select '${name}' as name, count(*)::int, md5(string_agg(text, ' ' order by text)) as digest
      from (select (to_jsonb(t) - 'last_used_at')::text as text from ${name} t) all_rows`,
  );
  const statement = digests.join(" union all ");
  return async (tx) => {
    // Otherwise Postgres starts processes for each.
    await tx`set local max_parallel_workers_per_gather = 0`;
    const rows = await tx.unsafe(statement, [], { prepare: true });
    return Object.fromEntries(rows.map(({ name, ...digest }) => [name, digest])) as TableDigests;
  };
}

async function ensureTemplate(sql: postgres.Sql, adminUrl: string): Promise<string> {
  const digest = createHash("sha256").update(JSON.stringify(readJournal())).digest("hex").slice(0, 12);
  const name = `template_${digest}`;
  await sql`select pg_advisory_lock(hashtextextended(${name}, 0))`;
  const [found] = await sql`select datallowconn from pg_database where datname = ${name}`;
  if (found?.datallowconn === false) return name;
  await dropDatabase(sql, name);
  await sql`create database ${sql(name)}`;
  await migrate(databaseUrl(adminUrl, name));
  // Closed to connections = complete; a template with open connections cannot be cloned.
  await sql`alter database ${sql(name)} with allow_connections false`;
  return name;
}

/**
 * Not `with (force)`: it is refused while autovacuum, which belongs to no role, works in the database. Without it
 * Postgres ends autovacuum itself and waits 5 s for the other connections to go, which on a slow machine take longer.
 */
async function dropDatabase(sql: postgres.Sql, name: string): Promise<void> {
  await sql`
    select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name} and usename = current_user`;
  try {
    await sql`drop database if exists ${sql(name)}`;
  } catch (error) {
    if (!(error instanceof postgres.PostgresError && error.code === OBJECT_IN_USE)) throw error;
    await dropDatabase(sql, name);
  }
}

async function withAdmin(adminUrl: string, use: (sql: postgres.Sql) => Promise<void>): Promise<void> {
  const sql = postgres(adminUrl, { max: 1, onnotice: () => undefined });
  try {
    await use(sql);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

function databaseUrl(adminUrl: string, name: string): string {
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return url.href;
}
