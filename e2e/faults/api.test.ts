import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { expect } from "vitest";
import { fetchConforming } from "../contract/openapi/conformance.ts";
import type { Stack } from "../platform/stack/stack.ts";
import { waitFor } from "../platform/stack/testing.ts";
import { startPostgres } from "./restart-postgres.ts";
import { test } from "./shared-stack.ts";

/**
 * Far above the 55 s after which every request is answered, on any machine; below the 300 s after which the client
 * gives up.
 */
const DEADLINE_MS = 200_000;
const CLIENTS = 16;

let stack: Stack;

test.beforeAll(async ({ stack: shared }) => {
  stack = shared;
});

interface Attempt {
  name: string;
  ms: number;
  /** Undefined: there was no response. */
  status: number | undefined;
  code: string | undefined;
}

/** Creates organizations without a pause, 16 at a time, until `signal` aborts; every attempt is kept. */
function putLoad(prefix: string, signal: AbortSignal): { attempts: Attempt[]; done: Promise<unknown> } {
  const attempts: Attempt[] = [];
  const client = async (number: number) => {
    for (let n = 0; !signal.aborted; n++) {
      const attempt = await createOrganization(`${prefix} ${number}-${n}`);
      attempts.push(attempt);
      // A refused connection costs nothing: without this the clients would only spin.
      if (attempt.status === undefined) await sleep(50);
    }
  };
  return { attempts, done: Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number))) };
}

async function createOrganization(name: string): Promise<Attempt> {
  const startedMs = performance.now();
  const ms = () => performance.now() - startedMs;
  try {
    const response = await fetchConforming(`${stack.info.apiUrl}/api/v1/organizations`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${stack.info.tokens.alice}`,
        "content-type": "application/json",
        "idempotency-key": name.replaceAll(" ", "-"),
      },
      body: JSON.stringify({ name }),
    });
    const body = (await response.json()) as { error?: { code: string } };
    return { name, ms: ms(), status: response.status, code: body.error?.code };
  } catch {
    return { name, ms: ms(), status: undefined, code: undefined };
  }
}

/** Names of the organizations with this prefix, and those of them without an audit row of their creation. */
async function readOrganizations(prefix: string): Promise<{ names: string[]; unaudited: string[] }> {
  const database = postgres(stack.info.databaseUrl, { max: 1, onnotice: () => undefined });
  try {
    const rows = await database<{ name: string; audited: number }[]>`
      SELECT name, (SELECT count(*)::int FROM audit_log
                     WHERE target_id = organizations.id::text AND action = 'organization.create') AS audited
        FROM organizations WHERE name LIKE ${`${prefix} %`}`;
    return {
      names: rows.map(({ name }) => name),
      unaudited: rows.filter(({ audited }) => audited !== 1).map(({ name }) => name),
    };
  } finally {
    await database.end();
  }
}

test("Postgres killed and restarted under load: no request hangs, no effect lacks its audit row, no restart is needed", async () => {
  const { pid } = stack.part("apiserver");
  const stop = new AbortController();
  const load = putLoad("Postgres", stop.signal);
  await waitFor("the load to run", () => load.attempts.length > 100);
  await stack.part("postgres").kill("SIGKILL");
  const gone = load.attempts.length;
  await waitFor("requests to be refused", () => load.attempts.length > gone + 50);
  await startPostgres(stack);
  const back = load.attempts.length;
  await waitFor(
    "requests to succeed again",
    () => load.attempts.slice(back).filter(({ status }) => status === 201).length > 100,
  );
  stop.abort();
  await load.done;

  expect(load.attempts.filter(({ ms }) => ms > DEADLINE_MS)).toEqual([]);
  const outcomes = new Set(load.attempts.map(({ status, code }) => `${status} ${code ?? ""}`.trim()));
  expect([...outcomes].sort()).toEqual(["201", "503 dependency_unavailable"]);
  expect(stack.part("apiserver").pid).toBe(pid);
  const { names, unaudited } = await readOrganizations("Postgres");
  expect(unaudited).toEqual([]);
  const created = load.attempts.filter(({ status }) => status === 201).map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(created));
  expect(new Set(names).size, "nothing was created twice").toBe(names.length);

  // A client that got 503 retries with the same key, at the latest when the lease of the first attempt has ended: that
  // creates each organization once, whatever became of the first attempt.
  const refused = load.attempts.filter(({ status }) => status === 503).slice(0, 20);
  for (const { name } of refused) {
    await waitFor(
      `${name} to be created by its retry`,
      async () => {
        const again = await createOrganization(name);
        outcomes.add(`${again.status} ${again.code ?? ""}`.trim());
        return again.status === 201;
      },
      { intervalMs: 1000 },
    );
  }
  outcomes.delete("409 operation_in_progress");
  expect([...outcomes].sort()).toEqual(["201", "503 dependency_unavailable"]);
  const after = await readOrganizations("Postgres");
  expect(new Set(after.names).size).toBe(after.names.length);
  expect(after.unaudited).toEqual([]);
  console.log(`Postgres: ${load.attempts.length} requests, longest ${maxMs(load.attempts)} ms`);
});

test("SIGTERM under load: every request that had an effect got its response", async () => {
  const stop = new AbortController();
  const load = putLoad("Drain", stop.signal);
  await waitFor("the load to run", () => load.attempts.length > 200);
  const apiserver = stack.part("apiserver");
  await apiserver.kill("SIGTERM");
  stop.abort();
  await load.done;

  const completed = load.attempts.filter(({ status }) => status !== undefined);
  expect(completed.filter(({ status }) => status !== 201)).toEqual([]);
  const { names, unaudited } = await readOrganizations("Drain");
  expect(names.sort()).toEqual(completed.map(({ name }) => name).sort());
  expect(unaudited).toEqual([]);
  await apiserver.start();
  expect((await createOrganization("Drain afterwards")).status).toBe(201);
  console.log(`SIGTERM: ${load.attempts.length} requests, ${completed.length} with a response, none lost`);
});

function maxMs(attempts: readonly Attempt[]): number {
  return Math.round(Math.max(...attempts.map(({ ms }) => ms)));
}
