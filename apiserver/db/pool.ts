import { sql } from "drizzle-orm";
import { PgDialect } from "drizzle-orm/pg-core";
import { PostgresJsDatabase, PostgresJsSession } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import { createKeyedSlots, type TenantContext } from "../../shared/program/limits.ts";

type Sql = postgres.Sql;
/** What Drizzle needs of a transaction. */
type Transaction = Pick<postgres.TransactionSql, "unsafe"> & {
  savepoint<T>(run: (inner: Transaction) => Promise<T>): Promise<unknown>;
};

/**
 * postgres.js 3.4 fails on a connection that breaks inside a transaction: it writes the ROLLBACK to a closed socket,
 * which ends the process (porsager/postgres issues 1133, 1208), or runs the rest of the transaction in another one
 * (1216). So the whole pool is replaced at its first broken connection, and none of its transactions continues.
 */
interface Generation {
  sql: Sql;
  isLost: boolean;
  /** Reject the transactions that are open. One promise for all would keep what each has returned, for ever. */
  rejectOpen: Set<(error: Error) => void>;
}

/** What a pool is doing. */
export interface PoolFigures {
  /** Transactions that have no connection yet. */
  waiting: number;
  /** Transactions that have one. */
  open: number;
  /** Pools that were replaced after a broken connection. */
  lost: number;
}

/** What Drizzle needs of a client (`options`, `unsafe`, `begin`), always on the current pool. */
export interface PoolClient extends Sql {
  /**
   * The client for the work of one tenant, which holds a quarter of the connections at most, and waits for its own until the
   * tenant's signal aborts. What
   * runs in one of its transactions uses that alone: a second connection might be waited for for ever.
   */
  forTenant(tenant: TenantContext): Sql;
}

export interface Pool {
  figures: Readonly<PoolFigures>;
  client: PoolClient;
  close(): Promise<void>;
}

/** How long queries on the other connections of a lost pool may take to complete. */
const LOST_POOL_SECONDS = 1;

/** The part of the connections that the work of one tenant may hold. */
const TENANT_SHARE = 0.25;

type Values = Parameters<Sql["unsafe"]>[1];

/** Each prepared statement costs memory in every backend. */
const MAX_PREPARED = 1000;
/** Longer texts are statements over many rows, which differ by the number of rows. */
const MAX_PREPARED_LENGTH = 2000;
const preparedTexts = new Set<string>();
/** A comment that has a statement planned for its values and not prepared: of one whose text depends on what a caller sends. */
const NOT_PREPARED_TEXT = "/* not prepared */";
export const NOT_PREPARED = sql.raw(NOT_PREPARED_TEXT);

/**
 * Whether a text is sent as a prepared statement, which saves a round trip and the planning: the first thousand short
 * ones are, so that texts which grow with their input cannot fill the memory of the backends. Texts with NOT_PREPARED
 * are never prepared and do not count.
 */
export function isPreparable(text: string): boolean {
  if (preparedTexts.has(text)) return true;
  if (text.includes(NOT_PREPARED_TEXT)) return false;
  if (text.length > MAX_PREPARED_LENGTH || preparedTexts.size >= MAX_PREPARED) return false;
  preparedTexts.add(text);
  return true;
}

/** Opens a pool of connections at the first query; a broken connection is replaced by a new pool. */
export function createPool(databaseUrl: string, options: postgres.Options<Record<string, never>>): Pool {
  let closing = false;
  const figures = { waiting: 0, open: 0, lost: 0 };
  const slots = createKeyedSlots(Math.max(1, Math.floor((options.max ?? 10) * TENANT_SHARE)));
  let current = open();
  const { parsers, serializers } = current.sql.options;

  function open(): Generation {
    // Connections are not recycled by age: every close is a failure.
    const onclose = () => replace(generation);
    const sql = postgres(databaseUrl, { ...options, max_lifetime: null, idle_timeout: 0, onclose });
    const generation: Generation = { sql, isLost: false, rejectOpen: new Set() };
    return generation;
  }

  function replace(generation: Generation): void {
    if (generation.isLost || closing) return;
    generation.isLost = true;
    figures.lost += 1;
    for (const reject of generation.rejectOpen) reject(connectionLost());
    current = open();
    // Drizzle has set its own parsers on the first pool.
    Object.assign(current.sql.options.parsers, parsers);
    Object.assign(current.sql.options.serializers, serializers);
    generation.sql.end({ timeout: LOST_POOL_SECONDS }).catch(() => undefined);
  }

  const { options: parsed } = current.sql;
  // Drizzle's driver uses no other members of a client.
  const client = {
    options: parsed,
    unsafe: (text: string, values?: Values) =>
      current.sql.unsafe(text, values, { prepare: isPreparable(text) }),
    begin: <T>(run: (tx: Transaction) => Promise<T>) => begin(current, run, figures),
    forTenant(context: TenantContext) {
      const { tenant } = context;
      const tryTake = () => slots.tryTake(tenant);
      // The signal is made when it is first asked for: most work never waits.
      const take = async () => tryTake() ?? (await slots.take(tenant, context.signal).catch(throwUnawaited));
      const share = { take, tryTake };
      return {
        options: parsed,
        forTenant: (other: TenantContext) => client.forTenant(other),
        unsafe: (text: string, values?: Values) => withinShare(share, () => client.unsafe(text, values)),
        begin: <T>(run: (tx: Transaction) => Promise<T>) => holdConnection(share, () => client.begin(run)),
      };
    },
  };
  return {
    figures,
    client: client as unknown as PoolClient,
    async close() {
      closing = true;
      await current.sql.end({ timeout: 5 });
    },
  };
}

/** The connection that a database or a transaction sends its statements over. */
export function clientOf({ _: { session } }: Pick<PostgresJsDatabase, "_">): Sql {
  return (session as unknown as PostgresJsSession<Sql, Record<string, never>, Record<string, never>>).client;
}

/** Shared by all tenants: drizzle() would make one, and set the parsers of its client, for every request. */
const dialect = new PgDialect();

/** The database for the work of one tenant: see PoolClient. It costs about a microsecond. */
export function forTenant(db: PostgresJsDatabase, tenant: TenantContext): PostgresJsDatabase {
  const client = (clientOf(db) as PoolClient).forTenant(tenant);
  return new PostgresJsDatabase(dialect, new PostgresJsSession(client, dialect, undefined), undefined);
}

/** The connections that one tenant may hold. */
interface Share {
  take(): Promise<() => void>;
  /** One that is free now; then as `take`. */
  tryTake(): (() => void) | undefined;
}

/** Runs work that holds one connection, once the tenant's share has one left. */
async function holdConnection<T>(share: Share, work: () => Promise<T>): Promise<T> {
  const release = await share.take();
  try {
    return await work();
  } finally {
    release();
  }
}

/** A query as Drizzle uses it: awaited, or asked for `values()` right away. It is sent once the share has a connection. */
function withinShare(share: Share, query: () => ReturnType<Sql["unsafe"]>) {
  const release = share.tryTake();
  if (release === undefined) return waitForShare(share, query);
  const sent = query();
  // Later: a query of postgres.js is sent by its first `then`, and Drizzle says before what it shall return.
  queueMicrotask(() => void sent.then(release, release));
  return sent;
}

function waitForShare(share: Share, query: () => ReturnType<Sql["unsafe"]>) {
  let asValues = false;
  const sent = Promise.resolve().then(() =>
    holdConnection<unknown>(share, async () => (asValues ? query().values() : query())),
  );
  const values = () => {
    asValues = true;
    return sent;
  };
  return Object.assign(sent, { values });
}

async function begin<T>(
  generation: Generation,
  run: (tx: Transaction) => Promise<T>,
  figures: PoolFigures,
): Promise<T> {
  let state: "waiting" | "open" | "over" = "waiting";
  figures.waiting += 1;
  const work = generation.sql.begin((tx) => {
    if (state === "waiting") {
      state = "open";
      figures.waiting -= 1;
      figures.open += 1;
    }
    return runWhileAlive(generation, () => run(guard(generation, tx)));
  });
  work.catch(() => undefined);
  const { promise: lost, reject } = Promise.withResolvers<never>();
  generation.rejectOpen.add(reject);
  try {
    return await Promise.race([work as Promise<T>, lost]);
  } finally {
    generation.rejectOpen.delete(reject);
    figures[state as "waiting" | "open"] -= 1;
    state = "over";
  }
}

function guard(generation: Generation, tx: Transaction): Transaction {
  return {
    unsafe: ((text: string, values?: Values) => {
      if (generation.isLost) throw connectionLost();
      return tx.unsafe(text, values, { prepare: isPreparable(text) });
    }) as Transaction["unsafe"],
    savepoint: (run) =>
      tx.savepoint((inner) => runWhileAlive(generation, () => run(guard(generation, inner)))),
  };
}

/** Resolves or rejects as `run` does; never once the pool is lost, because the driver would write COMMIT or ROLLBACK. */
async function runWhileAlive<T>(generation: Generation, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } finally {
    if (generation.isLost) await new Promise<never>(() => undefined);
  }
}

function throwUnawaited(cause: unknown): never {
  const error = new Error("the request ended before it had a connection", { cause });
  throw Object.assign(error, { code: "CONNECT_TIMEOUT" });
}

function connectionLost(): Error {
  return Object.assign(new Error("the connection to Postgres broke"), { code: "CONNECTION_CLOSED" });
}
