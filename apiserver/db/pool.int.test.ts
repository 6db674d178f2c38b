import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readStack, waitFor } from "../../e2e/platform/stack/testing.ts";
import { createRegistry } from "../../shared/program/metrics.ts";
import { author } from "../clusters/create/testing.ts";
import { asAuthorized, transactAs } from "../http/contract/caller.ts";
import { addPoolMetrics, connectDatabase, type DatabaseClients } from "./client.ts";
import { isDatabaseUnavailable } from "./errors.ts";
import { forTenant } from "./pool.ts";
import { createTestDatabase, type TestDatabase } from "./testing.ts";

let database: TestDatabase;
let clients: DatabaseClients;

beforeAll(async () => {
  database = await createTestDatabase(readStack().databaseUrl);
  clients = connectDatabase(database.url);
});
afterAll(async () => {
  await clients.close();
  await database.drop();
});

const insert = sql`insert into users (id, issuer) values (gen_random_uuid(), 'x')`;

async function countUsers(): Promise<number> {
  const [row] = await clients.db.execute<{ count: string }>(sql`select count(*) from users`);
  return Number(row?.count);
}

/** The error of a broken connection comes before its close, and the pool is replaced at the close. */
const waitForAnotherPool = (lostBefore: number) =>
  waitFor("another pool", () => clients.poolFigures.lost > lostBefore, { intervalMs: 5 });

describe("a connection that breaks inside a transaction", () => {
  test.each([
    ["between two queries", async () => undefined],
    ["during a query", (tx: Pick<typeof clients.db, "execute">) => tx.execute(sql`select pg_sleep(5)`)],
  ])("%s fails it as a whole, leaves nothing of it, and the next one works", async (_when, meanwhile) => {
    const before = await countUsers();
    const { lost } = clients.poolFigures;
    const work = clients.db.transaction(async (tx) => {
      await tx.execute(insert);
      const [row] = await tx.execute<{ pid: number }>(sql`select pg_backend_pid() as pid`);
      const killed = clients.sql`select pg_terminate_backend(${row?.pid ?? 0})`.execute();
      await meanwhile(tx);
      await killed;
      await tx.execute(sql`select pg_sleep(0.2)`);
      await tx.execute(insert);
    });
    const error = await work.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(isDatabaseUnavailable(error)).toBe(true);
    await waitForAnotherPool(lost);
    await waitFor("a transaction that works", () => clients.db.transaction((tx) => tx.execute(insert)));
    expect(await countUsers()).toBe(before + 1);
  });

  test("costs no connection: all of the pool still respond", async () => {
    for (let round = 0; round < 12; round++) {
      const { lost } = clients.poolFigures;
      await clients.db
        .transaction(async (tx) => {
          await tx.execute(sql`select pg_terminate_backend(pg_backend_pid())`);
        })
        .catch(() => undefined);
      await waitForAnotherPool(lost);
    }
    const results = await Promise.all(Array.from({ length: 30 }, () => clients.db.execute(sql`select 1`)));
    expect(results).toHaveLength(30);
  });
});

test("a transaction that fails by itself is rolled back, and the pool stays as it is", async () => {
  const before = await countUsers();
  const work = clients.db.transaction(async (tx) => {
    await tx.execute(insert);
    await tx.transaction((inner) => inner.execute(insert));
    throw new Error("changed my mind");
  });
  await expect(work).rejects.toThrow("changed my mind");
  expect(await countUsers()).toBe(before);
});

test("a transaction in which a statement failed fails with its error and leaves nothing, though its work went on", async () => {
  const before = await countUsers();
  const work = clients.db.transaction(async (tx) => {
    await tx.execute(insert);
    await tx.execute(sql`select 1 / 0`).catch(() => undefined);
  });
  await expect(work).rejects.toThrow("division by zero");
  expect(await countUsers()).toBe(before);
});

test("a part of a transaction that fails by itself is rolled back alone", async () => {
  const before = await countUsers();
  await clients.db.transaction(async (tx) => {
    await tx.execute(insert);
    await tx.transaction((inner) => inner.execute(sql`select 1 / 0`)).catch(() => undefined);
    await tx.execute(insert);
  });
  expect(await countUsers()).toBe(before + 2);
});

test("a transaction that is over leaves nothing in memory, neither what it returned nor its error", async () => {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  const run = async (): Promise<WeakRef<object>[]> => {
    const result = await clients.db.transaction(async (tx) => ({ rows: await tx.execute(sql`select 1`) }));
    const error = new Error("changed my mind");
    await clients.db.transaction(() => Promise.reject(error)).catch(() => undefined);
    return [new WeakRef(result), new WeakRef(error)];
  };
  const references = await run();
  // Each connection of the driver holds on to the last one.
  await Promise.all(Array.from({ length: 20 }, run));
  const countKept = () => {
    collectGarbage();
    return references.filter((reference) => reference.deref() !== undefined).length;
  };
  await expect.poll(countKept).toBe(0);
});

test("the metrics report open transactions, those that wait for a connection, and the time of a query", async () => {
  const small = connectDatabase(database.url, { poolSize: 1 });
  const registry = createRegistry();
  addPoolMetrics(registry, small);
  const { promise: entered, resolve: enter } = Promise.withResolvers<void>();
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const first = small.db.transaction(async (tx) => {
    await tx.execute(sql`select 1`);
    enter();
    await held;
  });
  await entered;
  const second = small.db.transaction((tx) => tx.execute(sql`select 1`));
  const busy = await registry.metrics();
  expect(busy).toContain('marina_apiserver_db_transactions{state="open"} 1');
  expect(busy).toContain('marina_apiserver_db_transactions{state="waiting"} 1');
  expect(busy).toContain("marina_apiserver_db_roundtrip_seconds Nan");

  release();
  await Promise.all([first, second]);
  const idle = await waitFor("a query that is answered within the 2 s of the metrics", async () => {
    const text = await registry.metrics();
    return /^marina_apiserver_db_roundtrip_seconds \d\S*$/m.test(text) && text;
  });
  expect(idle).toContain('marina_apiserver_db_transactions{state="open"} 0');
  expect(idle).toContain('marina_apiserver_db_transactions{state="waiting"} 0');

  const killed = small.db.execute(sql`select pg_terminate_backend(pg_backend_pid())`);
  await expect(killed).rejects.toThrow("Failed query");
  await waitFor("the lost pool to be counted", async () =>
    (await registry.metrics()).includes("marina_apiserver_db_pools_lost_total 1"),
  );
  await small.close();
});

describe("the connections of a pool", () => {
  const ofTenant = ({ db }: DatabaseClients, tenant: string, signal?: AbortSignal) =>
    forTenant(db, { tenant, signal });

  test("are held by one tenant up to a quarter; the others are left to everybody else", async () => {
    const eight = connectDatabase(database.url, { poolSize: 8 });
    let entered = 0;
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const hold = () =>
      ofTenant(eight, "loud").transaction(async (tx) => {
        entered += 1;
        await tx.execute(sql`select 1`);
        await held;
      });
    const loud = Array.from({ length: 20 }, hold);
    const queries = Array.from({ length: 20 }, () => ofTenant(eight, "loud").execute(sql`select 1`));
    await ofTenant(eight, "quiet").execute(sql`select 1`);
    await eight.db.transaction((tx) => tx.execute(sql`select 1`));
    await expect.poll(() => entered).toBe(2);
    release();
    await Promise.all([...loud, ...queries]);
    expect(entered).toBe(20);
    await eight.close();
  });

  test.each([
    { holders: ["a"], code: "CONNECT_TIMEOUT" },
    { holders: ["b", "c", "d", "e"], code: "bad_request" },
  ])("that $holders hold are not used by a request of a that ends meanwhile", async ({ holders, code }) => {
    const four = connectDatabase(database.url, { poolSize: 4 });
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const busy = Promise.all(holders.map((tenant) => ofTenant(four, tenant).transaction(() => held)));
    const client = new AbortController();
    const request = {
      acquireSlot: async () => undefined,
      releaseSlot: () => undefined,
      tenant: "a",
      signal: undefined,
      ended: client.signal,
      get isEnded() {
        return client.signal.aborted;
      },
    };
    const caller = { ...asAuthorized(author), request };
    const written: string[] = [];
    const write = (what: string) => transactAs(ofTenant(four, "a"), caller, async () => written.push(what));
    const waiting = write("before");
    const statement = ofTenant(four, "a", client.signal).execute(sql`select 1`).catch(isDatabaseUnavailable);
    client.abort();
    release();
    await expect(waiting).rejects.toMatchObject({ code });
    expect(await statement).toBe(true);
    await busy;
    await expect(write("after")).rejects.toMatchObject({ code: "bad_request" });
    expect(written).toEqual([]);
    await four.close();
  });

  test("are asked for once by a transaction of a tenant, whatever it runs", async () => {
    const four = connectDatabase(database.url, { poolSize: 4 });
    const work = ofTenant(four, "a").transaction((tx) =>
      tx.transaction((inner) => inner.execute(sql`select 1`)),
    );
    expect(await work).toHaveLength(1);
    await four.close();
  });

  test.each(["backgroundDb", "rightsDb"] as const)(
    "are not those of %s, which is served while requests hold all",
    async (other) => {
      const one = connectDatabase(database.url, { poolSize: 1 });
      const { promise: held, resolve: release } = Promise.withResolvers<void>();
      const busy = one.db.transaction(async (tx) => {
        await tx.execute(sql`select 1`);
        await held;
      });
      await expect(one[other].execute(sql`select 1`)).resolves.toHaveLength(1);
      release();
      await busy;
      await one.close();
    },
  );
});

test.each(["db", "backgroundDb"] as const)(
  "Postgres ends a transaction of %s that is idle for a minute, and with it its locks",
  async (pool) => {
    const [row] = await clients[pool].execute<{ limit: string }>(
      sql`select current_setting('idle_in_transaction_session_timeout') as limit`,
    );
    expect(row?.limit).toBe("1min");
  },
);
