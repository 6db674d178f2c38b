import postgres from "postgres";
import { expect } from "vitest";
import type { Stack } from "../platform/stack/stack.ts";
import { kubectl, waitFor } from "../platform/stack/testing.ts";
import { requireEveryMachineMetered } from "../testing/machine-sets.ts";
import { createTenant, type Tenant } from "../testing/tenant.ts";
import { callUntilAnswered } from "./held-lock.ts";
import { startPostgres } from "./restart-postgres.ts";
import { testWhole as test } from "./shared-stack.ts";

let stack: Stack;
let alice: Tenant;

test.beforeAll(async ({ stack: shared }) => {
  stack = shared;
  alice = createTenant(stack.info.apiUrl, stack.info.tokens.alice);
});

test("an operator killed in the middle of a create leaves one cluster, and it gets ready", async () => {
  const clusters = await createOrganization("operator killed");
  const { body: cluster } = await alice.request("POST", clusters, aCluster("survivor"));
  const path = `${clusters}/${cluster.id}`;
  await waitFor("the operator to have begun", async () => {
    const { body } = await alice.request("GET", path);
    return body.worker_subnet !== undefined;
  });
  await killPart("operator");
  await stack.part("operator").start();
  await waitForRunning(path);
  const { body: list } = await alice.request("GET", clusters);
  expect(list.items).toHaveLength(1);
});

test("an API server killed between the custom resource and the response leaves one cluster for the repeated request", async () => {
  const clusters = await createOrganization("API server killed");
  const database = postgres(stack.info.databaseUrl, { max: 1 });
  const key = { "idempotency-key": "one-cluster-please" };
  const namespace = clusters.split("/")[2];
  let answer = "none yet";
  try {
    // Writers of the projection wait behind this lock: the custom resources are created, the response is not sent.
    const lock = await database.reserve();
    await lock`BEGIN`;
    await lock`LOCK TABLE projected_clusters IN EXCLUSIVE MODE`;
    const unanswered = callUntilAnswered(() => alice.request("POST", clusters, aCluster("once"), key));
    await waitFor(
      "the custom resource",
      async () => (await listClusterNames(`org-${namespace}`)).length === 1,
    );
    await killPart("apiserver");
    answer = await unanswered;
    await lock`ROLLBACK`;
    lock.release();
  } finally {
    await database.end();
  }
  await stack.part("apiserver").start();
  expect(answer).toBe("broken off");
  const again = await waitFor("the lease of the lost request to end", async () => {
    const response = await alice.request("POST", clusters, aCluster("once"), key);
    return response.status === 409 ? undefined : response;
  });
  expect(again.status).toBe(202);
  expect(await listClusterNames(`org-${namespace}`)).toHaveLength(1);
  await waitForRunning(`${clusters}/${again.body.id}`);
  const { body: list } = await alice.request("GET", clusters);
  expect(list.items.map(({ id }: { id: string }) => id)).toEqual([again.body.id]);
});

test("without an operator, writes are accepted and stand until it is back", async () => {
  const clusters = await createOrganization("operator down");
  await killPart("operator");
  let path: string;
  try {
    const created = await alice.request("POST", clusters, aCluster("patient"));
    expect(created.status).toBe(202);
    path = `${clusters}/${created.body.id}`;
    expect((await alice.request("GET", path)).body.status).toBe("provisioning");
  } finally {
    await stack.part("operator").start();
  }
  await waitForRunning(path);
});

test("without the Kubernetes API, cluster writes return 503 with Retry-After, reads continue, no write is half done", async () => {
  const clusters = await createOrganization("Kubernetes API down");
  const { body: cluster } = await alice.request("POST", clusters, aCluster("readable"));
  await killPart("kube-apiserver");
  try {
    for (const [method, path, body] of [
      ["POST", clusters, aCluster("refused")],
      ["DELETE", `${clusters}/${cluster.id}`, undefined],
      ["POST", `${clusters}/${cluster.id}/nodepools`, aPool("refused")],
    ] as const) {
      const response = await alice.request(method, path, body);
      expect(response.status, `${method} ${path}`).toBe(503);
      expect(response.body.error.code).toBe("dependency_unavailable");
      expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
    }
    const read = await alice.request("GET", `${clusters}/${cluster.id}`);
    expect(read.status).toBe(200);
    expect(read.body.status).not.toBe("deleting");
  } finally {
    await stack.part("kube-apiserver").start();
  }
  // By a key: a request may be answered with 503 whose cluster was created.
  const key = { "idempotency-key": "once-it-is-back" };
  const accepted = await waitFor("writes to be accepted again", async () => {
    const response = await alice.request("POST", clusters, aCluster("refused"), key);
    return response.status === 202 ? response : undefined;
  });
  await waitForRunning(`${clusters}/${cluster.id}`);
  await waitForRunning(`${clusters}/${accepted.body.id}`);
  const { body: list } = await alice.request("GET", clusters);
  expect(list.items).toHaveLength(2);
});

test("without Postgres, requests return 503 and readiness fails; both recover by themselves", async () => {
  const clusters = await createOrganization("Postgres down");
  await killPart("postgres");
  try {
    // A backend may serve one more request before it notices that Postgres was killed.
    const response = await waitFor("a request to fail", async () => {
      const answer = await alice.request("GET", clusters);
      return answer.status === 200 ? undefined : answer;
    });
    expect(response.status).toBe(503);
    expect(response.body.error.code).toBe("dependency_unavailable");
    await waitFor("readiness to fail", async () => (await fetch(pageUrl("readyz"))).status === 503);
    expect((await fetch(pageUrl("healthz"))).status).toBe(200);
  } finally {
    await startPostgres(stack);
  }
  await waitFor("readiness", async () => (await fetch(pageUrl("readyz"))).status === 200);
  // Readiness and requests have connections of their own.
  await waitFor("requests to succeed", async () => (await alice.request("GET", clusters)).status === 200);
});

/** A page of the API server's internal port. */
const pageUrl = (name: string) => new URL(name, stack.info.metrics.apiserver);

async function createOrganization(name: string): Promise<string> {
  const { body } = await alice.request("POST", "/organizations", { name });
  return `/organizations/${body.id}/clusters`;
}

async function killPart(name: string): Promise<void> {
  await stack.part(name).kill("SIGKILL");
}

async function listClusterNames(namespace: string): Promise<string[]> {
  const { stdout } = await kubectl(["get", "clusters.cloud.marina.dev", "-n", namespace, "-o", "name"], {
    stack: stack.info,
  });
  return stdout.split("\n").filter((line) => line !== "");
}

async function waitForRunning(path: string): Promise<void> {
  await waitFor(`${path} to run`, async () => {
    const { body } = await alice.request("GET", path);
    return body.status === "running" && body.nodes.ready === 1;
  });
}

function aCluster(name: string) {
  return { name, k8s_version: "1.34", node_pools: [aPool("workers")] };
}

function aPool(name: string) {
  return { name, vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 1 };
}

test("in the end every machine that runs is recorded and metered", async () => {
  expect(await requireEveryMachineMetered(stack.info)).toBeDefined();
});
