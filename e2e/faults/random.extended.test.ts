import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type { Stack } from "../platform/stack/stack.ts";
import { kubectl, waitFor } from "../platform/stack/testing.ts";
import { requireEveryMachineMetered } from "../testing/machine-sets.ts";
import { type ApiResponse, createTenant, type Tenant } from "../testing/tenant.ts";
import { startPostgres } from "./restart-postgres.ts";
import { testWhole as test } from "./shared-stack.ts";

// Random operations of one tenant while parts of the service are killed and come back. MARINA_SEED repeats a run's
// choices; what the service makes of them depends on the moment, so a seed is a hint and no proof.
const SEED = Number(process.env.MARINA_SEED ?? Date.now() % 1_000_000);
/** What a run consists of, at any speed of the machine: about a minute on two free cores. */
const WANTED_CHANGES = 25;
const WANTED_KILLS = 8;
const PARTS = ["apiserver", "operator", "kube-apiserver", "postgres"] as const;
const NAMES = ["red", "green", "blue"];
/** Every response that a tenant can do something with. */
const EXPECTED = [200, 202, 404, 409, 412, 422, 429, 503];
const RECOVERS = { intervalMs: 1000 };

let stack: Stack;
let alice: Tenant;
let organization: string;
let clusters: string;

test.beforeAll(async ({ stack: shared }) => {
  stack = shared;
  alice = createTenant(stack.info.apiUrl, stack.info.tokens.alice);
  const { body } = await alice.request("POST", "/organizations", { name: "Random" });
  organization = `/organizations/${body.id}`;
  clusters = `${organization}/clusters`;
});

/** Mulberry32: the same choices for the same seed. */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const random = createRandom(SEED);
const pick = <T>(list: readonly T[]): T | undefined => list[random(list.length)];
let count = 0;

interface Step {
  method: string;
  path: string;
  body?: unknown;
  /** A 2xx response stands for a change, which has its row in the audit log. */
  audited: boolean;
}

const aPool = () => ({
  name: `pool ${++count}`,
  vcpus: 1,
  memory_gb: 2,
  disk_gb: 10,
  desired_nodes: 0,
  max_nodes: 999,
});
const aCluster = (name: string) => ({ name, k8s_version: "1.34", node_pools: [aPool()] });
const aPolicy = () => ({ authorized_cidrs: [`10.${++count % 250}.${random(250)}.0/24`] });

/** Something that a tenant might do now; undefined when nothing can be read at this moment. */
async function chooseStep(): Promise<Step | undefined> {
  const list = await alice.request("GET", clusters);
  if (list.status !== 200) return undefined;
  const cluster = pick<{ id: string }>(list.body.items);
  const name = pick(NAMES) ?? "red";
  if (cluster === undefined || random(6) === 0)
    return { method: "POST", path: clusters, body: aCluster(name), audited: true };
  const path = `${clusters}/${cluster.id}`;
  const pools = await alice.request("GET", `${path}/nodepools`);
  const pool = pick<{ id: string }>(pools.body.items ?? []);
  const poolPath = pool === undefined ? undefined : `${path}/nodepools/${pool.id}`;
  const label = { node_labels: { change: `c${++count}` } };
  const steps: Step[] = [
    { method: "PUT", path: `${path}/network`, body: aPolicy(), audited: true },
    { method: "POST", path: `${path}/nodepools`, body: aPool(), audited: true },
    { method: "PUT", path, body: { name: `${name} ${count}` }, audited: true },
    { method: "POST", path: `${path}/upgrade`, body: { target_version: "1.35" }, audited: false },
    { method: "POST", path: `${path}/credentials/rotate`, audited: true },
    ...(random(4) === 0 ? [{ method: "DELETE", path, audited: false }] : []),
    ...(poolPath === undefined
      ? []
      : [
          { method: "PUT", path: poolPath, body: label, audited: true },
          { method: "PUT", path: poolPath, body: label, audited: true },
          { method: "DELETE", path: poolPath, audited: false },
        ]),
  ];
  return pick(steps);
}

interface Outcome extends Step {
  requestId: string;
  /** Undefined: no response. */
  response: ApiResponse<unknown> | undefined;
}

/** One user: sends random requests until the signal aborts. */
async function sendRandomRequests(outcomes: Outcome[], signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const step = await chooseStep().catch(() => undefined);
    if (step === undefined) {
      await sleep(100);
      continue;
    }
    const requestId = `random-${SEED}-${++count}`;
    const headers = { "x-request-id": requestId, "idempotency-key": requestId };
    const response = await alice.request(step.method, step.path, step.body, headers).catch(() => undefined);
    outcomes.push({ ...step, requestId, response });
  }
}

/** Kills one part after another, each of which is away for some seconds, and adds its name. */
async function disturb(killed: string[], signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await sleep(2000 + random(4000));
    const name = pick(PARTS) ?? "apiserver";
    killed.push(name);
    await stack.part(name).kill("SIGKILL");
    await sleep(random(4000));
    if (name === "postgres") await startPostgres(stack);
    else await stack.part(name).start();
  }
}

async function listAll(): Promise<{ id: string; name: string; status: string }[]> {
  const { status, body } = await alice.request("GET", clusters);
  if (status !== 200) throw new Error(`the list: ${status}`);
  return body.items;
}

/** Sends a POST that had no response once more by its key until it has one, as a client does that does not know. */
function repeat({ method, path, body, requestId, response }: Outcome): Promise<unknown> {
  if (method !== "POST" || (response !== undefined && response.status !== 503)) return Promise.resolve();
  return waitFor(
    `${method} ${path} by the key ${requestId} to get a response`,
    async () => {
      const again = await alice.request(method, path, body, { "idempotency-key": requestId });
      if (again.status !== 503 && again.body.error?.code !== "operation_in_progress") return again;
      throw new Error(`${again.status} ${JSON.stringify(again.body)}`);
    },
    RECOVERS,
  );
}

/** Asks until the response has this status, as a tenant does who repeats what was refused. */
function insist(step: Omit<Step, "audited">, statuses: readonly number[]): Promise<unknown> {
  const { method, path, body } = step;
  return waitFor(
    `${method} ${path} to be ${statuses.join(" or ")}`,
    async () => {
      const response = await alice.request(method, path, body);
      if (statuses.includes(response.status)) return response;
      throw new Error(`${response.status} ${JSON.stringify(response.body)}`);
    },
    RECOVERS,
  );
}

async function readAuditedRequests(): Promise<Set<string>> {
  const ids = new Set<string>();
  let cursor: string | null = null;
  do {
    const query: string = cursor === null ? "" : `&cursor=${cursor}`;
    const { body } = await alice.request("GET", `${organization}/audit-log?limit=100${query}`);
    for (const row of body.items) ids.add(row.client_request_id);
    cursor = body.next_cursor;
  } while (cursor !== null);
  return ids;
}

test("no random order of operations and faults leads a tenant where nothing can be retried, changed or deleted", {
  timeout: 3_600_000,
}, async () => {
  console.log(`seed ${SEED}`);
  const stop = new AbortController();
  const outcomes: Outcome[] = [];
  const killed: string[] = [];
  const readChanges = () =>
    outcomes.filter(({ response, audited }) => audited && (response?.status ?? 500) < 300);
  const users = Promise.all(Array.from({ length: 4 }, () => sendRandomRequests(outcomes, stop.signal)));
  const disturbing = disturb(killed, stop.signal);
  await waitFor(
    `${WANTED_CHANGES} changes and ${WANTED_KILLS} killed parts`,
    () => readChanges().length >= WANTED_CHANGES && killed.length >= WANTED_KILLS,
    { timeoutMs: 1_800_000, intervalMs: 1000 },
  ).finally(() => stop.abort());
  await disturbing;
  await users;
  await waitFor(
    "readiness",
    async () => (await fetch(new URL("readyz", stack.info.metrics.apiserver))).ok,
    RECOVERS,
  );

  const strange = outcomes.filter(
    ({ response }) => response !== undefined && !EXPECTED.includes(response.status),
  );
  expect(
    strange.map(({ method, path, response }) => [method, path, response?.status, response?.body]),
  ).toEqual([]);
  const done = readChanges();
  console.log(`${outcomes.length} operations, ${done.length} changes, killed: ${killed.join(", ")}`);

  // A request without a known outcome is retried by its key.
  await Promise.all(outcomes.map(repeat));
  // Forward: what is there can be changed, or is on its way out.
  for (const { id, status } of await listAll()) {
    if (status === "deleting") continue;
    const path = `${clusters}/${id}`;
    await insist({ method: "PUT", path: `${path}/network`, body: aPolicy() }, [200, 404]);
    await insist({ method: "POST", path: `${path}/nodepools`, body: aPool() }, [202, 404]);
  }
  // Every change with a successful response is in the audit log.
  await waitFor(
    "the audit log to be whole",
    async () => {
      const audited = await readAuditedRequests();
      const missing = done.filter(({ requestId }) => !audited.has(requestId));
      if (missing.length === 0) return true;
      throw new Error(missing.map(({ method, path, requestId }) => `${method} ${path} ${requestId}`).join());
    },
    RECOVERS,
  );
  // Out: all of it can be deleted, and nothing of it is left.
  for (const { id } of await listAll())
    await insist({ method: "DELETE", path: `${clusters}/${id}` }, [202, 404]);
  await waitFor("all to be deleted", async () => (await listAll()).length === 0, RECOVERS);
  const namespace = `org-${organization.split("/").at(-1)}`;
  await waitFor(
    "no object to be left",
    async () => {
      const kinds = "clusters.cloud.marina.dev,nodepools.cloud.marina.dev";
      const { stdout } = await kubectl(["get", kinds, "-n", namespace, "-o", "name"], { stack: stack.info });
      return stdout.trim() === "" ? true : Promise.reject(new Error(stdout));
    },
    RECOVERS,
  );
  // Again: every name is free.
  for (const name of NAMES) await insist({ method: "POST", path: clusters, body: aCluster(name) }, [202]);
});

test("in the end every machine that runs is recorded and metered", async () => {
  expect(await requireEveryMachineMetered(stack.info)).toBeDefined();
});
