import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { drizzle, type PostgresJsDatabase } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import { Counter, Gauge, type Registry } from "../../shared/program/metrics.ts";
import { createPool, type PoolFigures } from "./pool.ts";

export type Sql = postgres.Sql;
export type Database = PostgresJsDatabase;
/** A transaction of Database, or the database itself. */
export type Queryable = Pick<
  Database,
  "_" | "select" | "selectDistinctOn" | "insert" | "update" | "delete" | "execute"
>;

/** An open transaction; the database itself is none. */
export type Transaction = Parameters<Parameters<Database["transaction"]>[0]>[0];

/** For requests and background jobs, over their pools; the statements of `sql` have no limit. */
const STATEMENT_TIMEOUT_MS = 10_000;
/**
 * Postgres ends a transaction that is idle for longer, which releases its locks; longer than one call inside it (25 s).
 */
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 60_000;
const CONNECT_TIMEOUT_SECONDS = 5;
/** One tenant may use a quarter of them: that leaves connections for its reads during two slow changes. */
const POOL_SIZE = 16;
const BACKGROUND_POOL_SIZE = 5;
/** So few that under load the reads of many requests go out together, which costs less than a connection for each. */
const RIGHTS_POOL_SIZE = 2;
/** Between two attempts to connect: short and constant, so that the service recovers as soon as Postgres does. */
const RECONNECT_SECONDS = 0.25;

export interface DatabaseClients {
  db: Database;
  /** Like `db`, over a separate pool, for background jobs. */
  backgroundDb: Database;
  /** Like `db`, over a separate pool, for reads of what a caller may do: they wait for nothing that a tenant does. */
  rightsDb: Database;
  sql: Sql;
  /** Counts of the pool that requests use. */
  poolFigures: Readonly<PoolFigures>;
  /** Waits at most 5 s for running queries, then closes all pools. */
  close(): Promise<void>;
}

/**
 * Four pools, opened at the first query: for requests, for what their callers may do, for background jobs, for plain SQL.
 * The last is separate because drizzle() changes the parsers of its client, and because a slow query delays those
 * pipelined behind it.
 */
export function connectDatabase(databaseUrl: string, options: { poolSize?: number } = {}): DatabaseClients {
  const shared = {
    connect_timeout: CONNECT_TIMEOUT_SECONDS,
    backoff: () => RECONNECT_SECONDS,
    keep_alive: 30,
    onnotice: () => undefined,
  };
  const connection = {
    application_name: "marina-apiserver",
    statement_timeout: STATEMENT_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
  };
  const pool = createPool(databaseUrl, { ...shared, max: options.poolSize ?? POOL_SIZE, connection });
  const rights = createPool(databaseUrl, { ...shared, max: RIGHTS_POOL_SIZE, connection });
  const background = createPool(databaseUrl, {
    ...shared,
    max: BACKGROUND_POOL_SIZE,
    // The queues of jobs grow from nothing within seconds: a cached plan would read whole tables afterwards.
    connection: { ...connection, plan_cache_mode: "force_custom_plan" },
  });
  const sql = postgres(databaseUrl, {
    ...shared,
    max: 2,
    connection: { application_name: "marina-apiserver-jobs", statement_timeout: 0 },
  });
  return {
    db: drizzle(pool.client),
    backgroundDb: drizzle(background.client),
    rightsDb: drizzle(rights.client),
    sql,
    poolFigures: pool.figures,
    async close() {
      await Promise.all([pool.close(), rights.close(), background.close(), sql.end({ timeout: 5 })]);
    },
  };
}

/**
 * A dedicated connection to the same database, for a lock or a session: never shared, and not recycled by age. A
 * broken one is replaced at the next query, by another backend. The caller ends it.
 */
export function openOwnConnection(sql: Sql): Sql {
  // postgres.js accepts its own parsed options (as its listen() does); the types know only the written form.
  const options = { ...sql.options, max: 1, idle_timeout: null, max_lifetime: null };
  return postgres(options as unknown as postgres.Options<Record<string, never>>);
}

/** Whether Postgres responds; rejects when it refuses. The caller sets the deadline. */
export async function probeDatabase(sql: Sql): Promise<boolean> {
  const rows = await sql`select 1`;
  return rows.length === 1;
}

/** Thrown to roll a transaction back; never leaves this file. */
class Rollback extends Error {}

/** Runs `work` with all its checks in a transaction that is rolled back. Throws what `work` throws. */
export async function runThenRollBack<T>(db: Database, work: (tx: Transaction) => Promise<T>): Promise<T> {
  let result: { value: T } | undefined;
  try {
    await db.transaction(async (tx) => {
      result = { value: await work(tx) };
      throw new Rollback();
    });
  } catch (error) {
    if (!(error instanceof Rollback)) throw error;
  }
  if (result === undefined) throw new Error("the transaction ended without a result");
  return result.value;
}

const ROUND_TRIP_DEADLINE_MS = 2000;

/**
 * The figures of the pool that requests use: `marina_apiserver_db_transactions{state}`,
 * `marina_apiserver_db_pools_lost_total` and, measured at each scrape, `marina_apiserver_db_roundtrip_seconds`.
 */
export function addPoolMetrics(
  registry: Registry,
  { db, poolFigures }: Pick<DatabaseClients, "db" | "poolFigures">,
): void {
  const registers = [registry];
  new Gauge({
    name: "marina_apiserver_db_transactions",
    help: "Transactions by state: waiting for a connection, or open",
    labelNames: ["state"],
    registers,
    collect() {
      this.set({ state: "waiting" }, poolFigures.waiting);
      this.set({ state: "open" }, poolFigures.open);
    },
  });
  new Counter({
    name: "marina_apiserver_db_pools_lost_total",
    help: "Pools that were replaced after a broken connection",
    registers,
    collect() {
      this.reset();
      this.inc(poolFigures.lost);
    },
  });
  new Gauge({
    name: "marina_apiserver_db_roundtrip_seconds",
    help: "An empty query at the time of the scrape, the wait for a connection included; NaN without a response within 2 s",
    registers,
    async collect() {
      this.set(await timeQuery(db));
    },
  });
}

async function timeQuery(db: DatabaseClients["db"]): Promise<number> {
  const startedMs = performance.now();
  const measured = db.execute(sql`select 1`).then(
    () => (performance.now() - startedMs) / 1000,
    () => Number.NaN,
  );
  return Promise.race([measured, sleep(ROUND_TRIP_DEADLINE_MS, Number.NaN, { ref: false })]);
}
