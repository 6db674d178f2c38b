import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readStack, waitFor } from "../../e2e/platform/stack/testing.ts";
import { createLogger } from "../../shared/program/log.ts";
import { connectDatabase, type DatabaseClients } from "../db/client.ts";
import { createTestDatabase, type TestDatabase } from "../db/testing.ts";
import { runAsLeader } from "./leader.ts";

const log = createLogger({ name: "test", level: "silent" });
let database: TestDatabase;
let replicas: DatabaseClients[];

beforeAll(async () => {
  database = await createTestDatabase(readStack().databaseUrl);
  replicas = [connectDatabase(database.url), connectDatabase(database.url)];
});
afterAll(async () => {
  await Promise.all(replicas.map((replica) => replica.close()));
  await database.drop();
});

/** Starts both replicas; returns which of them lead now. */
function compete(name: string) {
  const leading = new Set<number>();
  const terms: number[] = [];
  const drains = [new AbortController(), new AbortController()];
  const ended = replicas.map(({ sql }, index) =>
    runAsLeader({ sql, log, name, signal: drains[index]?.signal ?? AbortSignal.abort() }, async (signal) => {
      leading.add(index);
      terms.push(index);
      while (!signal.aborted) await sleep(20, undefined, { signal }).catch(() => undefined);
      leading.delete(index);
    }),
  );
  return { leading, terms, drains, ended };
}

/** Ends the connection that holds the lock, as a failing network would. */
async function killLockHolder(): Promise<void> {
  const admin = connectDatabase(database.url);
  await admin.sql`
    select pg_terminate_backend(pid) from pg_locks
    where locktype = 'advisory' and granted
    and database = (select oid from pg_database where datname = current_database())`;
  await admin.close();
}

test("one replica leads, and another takes over when it drains", async () => {
  const { leading, drains, ended } = compete("handover");
  const [first = 0] = await waitFor("a leader", () => (leading.size === 1 ? [...leading] : undefined));
  drains[first]?.abort();
  await ended[first];
  await waitFor("the other to lead", () => leading.has(1 - first));
  for (const drain of drains) drain.abort();
  await Promise.all(ended);
  expect(leading.size).toBe(0);
});

test("after a leader lost its connection one leads again, and no more than one", async () => {
  const { leading, terms, drains, ended } = compete("lost");
  await waitFor("a leader", () => leading.size === 1);
  await killLockHolder();
  // A leader ends its term too when Postgres does not respond for 5 s.
  await waitFor("a second term", () => terms.length >= 2);
  await waitFor("one leader", () => leading.size === 1);
  for (const drain of drains) drain.abort();
  await Promise.all(ended);
  expect(leading.size).toBe(0);
});

/** Passes connections on to Postgres, until the current ones are cut off silently. */
async function startProxy(databaseUrl: string) {
  const { hostname, port } = new URL(databaseUrl);
  const pairs: [Socket, Socket][] = [];
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    pairs.push([near, far]);
    near.pipe(far).pipe(near);
    for (const socket of [near, far]) socket.on("error", () => undefined);
    near.on("close", () => far.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = new URL(databaseUrl);
  url.hostname = "127.0.0.1";
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    silence() {
      for (const [near, far] of pairs.splice(0)) far.unpipe(near).resume();
    },
    close: () => server.close(),
  };
}

test("a leader whose connection falls silent leads again on another one, and drains", async () => {
  const proxy = await startProxy(database.url);
  const replica = connectDatabase(proxy.url);
  const drain = new AbortController();
  let terms = 0;
  const ended = runAsLeader({ sql: replica.sql, log, name: "silent", signal: drain.signal }, (signal) => {
    terms++;
    return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  });
  await waitFor("the first term", () => terms > 0);
  const before = terms;
  proxy.silence();
  await waitFor("the next term", () => terms > before);
  drain.abort();
  await expect(ended).resolves.toBeUndefined();
  await replica.close();
  proxy.close();
});
