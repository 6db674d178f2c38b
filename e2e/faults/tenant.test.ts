import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { expect } from "vitest";
import type { Stack } from "../platform/stack/stack.ts";
import { kubectl, waitFor } from "../platform/stack/testing.ts";
import { requireEveryMachineMetered } from "../testing/machine-sets.ts";
import { createTenant, type Tenant } from "../testing/tenant.ts";
import { testWhole as test } from "./shared-stack.ts";

const AWAY_MS = 60_000;
/** The sweeper handles what is older than a minute, four times a minute. */
const SWEPT = { intervalMs: 1000 };
let stack: Stack;
let alice: Tenant;
let organization: string;
let clusters: string;

test.beforeAll(async ({ stack: shared }) => {
  stack = shared;
  alice = createTenant(stack.info.apiUrl, stack.info.tokens.alice);
  const { body } = await alice.request("POST", "/organizations", { name: "Faults" });
  organization = `/organizations/${body.id}`;
  clusters = `${organization}/clusters`;
});

const aPool = (name: string) => ({
  name,
  vcpus: 2,
  memory_gb: 4,
  disk_gb: 20,
  desired_nodes: 0,
  max_nodes: 9,
});

async function make(name: string): Promise<{ path: string; pool: string }> {
  const body = { name, k8s_version: "1.34", node_pools: [aPool("workers")] };
  const created = await alice.request("POST", clusters, body);
  if (created.status !== 202) throw new Error(JSON.stringify(created.body));
  const path = `${clusters}/${created.body.id}`;
  const { body: pools } = await alice.request("GET", `${path}/nodepools`);
  return { path, pool: `${path}/nodepools/${pools.items[0].id}` };
}

async function countAudit(action: string, path: string): Promise<number> {
  const target = path.split("/").at(-1);
  const { body } = await alice.request("GET", `${organization}/audit-log?action=${action}&target=${target}`);
  return body.items.length;
}

test("an API server killed between an object and its audit row loses no row: of a PUT of a pool, of a DELETE of a cluster", async () => {
  const changed = await make("changed");
  const deleted = await make("deleted");
  const database = postgres(stack.info.databaseUrl, { max: 1, onnotice: () => undefined });
  const answers: (string | number)[] = [];
  try {
    // Completing a request waits for this lock: the objects are written, their audit rows are not.
    const lock = await database.reserve();
    await lock`BEGIN`;
    await lock`LOCK TABLE audit_log IN EXCLUSIVE MODE`;
    const requests = [
      alice.request("PUT", changed.pool, { desired_nodes: 3 }),
      alice.request("DELETE", deleted.path),
    ].map(async (request) => {
      answers.push(await request.then(({ status }) => status).catch(() => "no response"));
    });
    await waitFor(
      "both to be written and to wait for the lock",
      async () => {
        const waiting = await lock`
          SELECT pid FROM pg_locks WHERE relation = 'write_intents'::regclass AND mode = 'RowExclusiveLock'
             AND pg_backend_pid() = ANY (pg_blocking_pids(pid))`;
        return waiting.length + answers.length === requests.length;
      },
      { intervalMs: 50 },
    );
    await stack.part("apiserver").kill("SIGKILL");
    await Promise.all(requests);
    await lock`ROLLBACK`;
    lock.release();
  } finally {
    await database.end();
  }
  await stack.part("apiserver").start();
  // A statement that waits for a lock ends after 10 s: such a request was refused before the kill.
  expect(answers.filter((answer) => answer !== "no response" && answer !== 503)).toEqual([]);
  await waitFor("both to be written", async () => {
    const pool = await alice.request("GET", changed.pool);
    const cluster = await alice.request("GET", deleted.path);
    return pool.body.desired_nodes === 3 && ["deleting", undefined].includes(cluster.body.status);
  });
  await waitFor(
    "the row of the change",
    async () => (await countAudit("node_pool.update", changed.pool)) === 1,
    SWEPT,
  );
  await waitFor(
    "the row of the deletion",
    async () => (await countAudit("cluster.delete", deleted.path)) === 1,
    SWEPT,
  );
  expect(await countAudit("node_pool.update", changed.pool)).toBe(1);
});

test("with the Kubernetes API down for a minute, writes return 503 and change nothing, reads and the feed continue, and everything catches up", async () => {
  const { path, pool } = await make("readable");
  await waitFor("it to run", async () => (await alice.request("GET", path)).body.status === "running");
  const feed = alice.follow(`${path}/system-events`);
  await stack.part("kube-apiserver").kill("SIGKILL");
  const wrong: string[] = [];
  try {
    const until = Date.now() + AWAY_MS;
    let attempt = 0;
    while (Date.now() < until) {
      for (const read of [path, pool, `${path}/nodepools`, `${path}/network`, clusters, "/plans"]) {
        const { status } = await alice.request("GET", read);
        if (status !== 200) wrong.push(`GET ${read}: ${status}`);
      }
      const writes = [
        ["PUT", path, { name: "changed" }],
        ["PUT", pool, { desired_nodes: 1 }],
        ["PUT", `${path}/network`, { authorized_cidrs: ["203.0.113.0/24"] }],
        ["POST", `${path}/nodepools`, aPool("refused")],
        ["POST", `${path}/kubeconfig`, { ttl_seconds: 600 }],
        ["GET", `${path}/kubeconfig`, undefined],
        ["DELETE", path, undefined],
      ] as const;
      const [method, at, body] = writes[attempt++ % writes.length] ?? writes[0];
      const { status, headers } = await alice.request(method, at, body);
      if (status !== 503 || Number(headers.get("retry-after")) <= 0) wrong.push(`${method} ${at}: ${status}`);
      // As a tenant who looks now and then: without it a core does nothing else for the whole minute.
      await sleep(500);
    }
  } finally {
    await stack.part("kube-apiserver").start();
  }
  expect(wrong).toEqual([]);
  const { body: now } = await alice.request("GET", path);
  expect(now).toMatchObject({ name: "readable" });
  await waitFor("writes to be accepted", async () => {
    return (await alice.request("PUT", pool, { desired_nodes: 1 })).status === 200;
  });
  // What others write is followed again too.
  const namespace = `org-${organization.split("/").at(-1)}`;
  const selector = `cloud.marina.dev/id=${pool.split("/").at(-1)}`;
  const patch = JSON.stringify({ spec: { maxNodes: 8 } });
  const place = ["-n", namespace, "-o", "name"];
  const { stdout: name } = await kubectl(["get", "nodepools.cloud.marina.dev", "-l", selector, ...place], {
    stack: stack.info,
  });
  await kubectl(["patch", name.trim(), "--type=merge", "-p", patch, ...place], { stack: stack.info });
  await waitFor("REST to show it", async () => (await alice.request("GET", pool)).body.max_nodes === 8);
  expect(feed.events.filter(({ event }) => event === "bye" || event === "deleted")).toEqual([]);
  feed.close();
  expect((await alice.request("POST", `${path}/nodepools`, aPool("refused"))).status).toBe(202);
  expect((await alice.request("DELETE", path)).status).toBe(202);
});

test("in the end every machine that runs is recorded and metered", async () => {
  expect(await requireEveryMachineMetered(stack.info)).toBeDefined();
});
