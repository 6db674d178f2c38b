import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import { afterAll, expect } from "vitest";
import { clusterAccessKind } from "../../shared/crd/cluster-access.ts";
import { LABEL_ORG_ID } from "../../shared/crd/names.ts";
import { namespaceKind } from "../../shared/kube/core-kinds.ts";
import type { Stack } from "../platform/stack/stack.ts";
import { waitFor } from "../platform/stack/testing.ts";
import { makeRequest } from "../testing/credentials.ts";
import { createEngineer, type Engineer } from "../testing/custom-resources.ts";
import { requireEveryMachineMetered } from "../testing/machine-sets.ts";
import { createSimulatedTenant, markReady } from "../testing/simulated-tenant.ts";
import { test } from "./shared-stack.ts";

const SLOW_TENANTS = 61;
const BY_HAND = { fieldManager: "test" };
const SOON = { intervalMs: 200 };
const CREATED_AT_A_TIME = 8;
let stack: Stack;
let engineer: Engineer;
let silent: Server;

test.beforeAll(async ({ stack: shared }) => {
  stack = shared;
  engineer = await createEngineer(stack.info);
  silent = createServer((socket) => socket.on("error", () => undefined));
  silent.listen(0, "127.0.0.1");
  await once(silent, "listening");
});

afterAll(async () => {
  await engineer?.close();
  silent?.close();
});

/** A cluster with an access, in a new organization, whose API server accepts connections and never responds. */
async function createSilentTenant(): Promise<void> {
  const { client } = engineer;
  const organization = randomUUID();
  const namespace = `org-${organization}`;
  const metadata = { name: namespace, labels: { [LABEL_ORG_ID]: organization } };
  await client.create(namespaceKind, { metadata }, BY_HAND);
  const server = `https://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  await createSimulatedTenant(stack.info, { client, namespace }, "silent", server);
  await markReady({ client, namespace }, "silent");
  await createAccess(namespace, "silent");
}

async function createAccess(namespace: string, clusterName: string): Promise<void> {
  const { csr } = await makeRequest();
  const spec = { clusterName, subject: "alice", ttlSeconds: 600, csr };
  await engineer.client.create(clusterAccessKind, { metadata: { name: "alice", namespace }, spec }, BY_HAND);
}

function countConnections(): Promise<number> {
  return new Promise((resolve, reject) => {
    silent.getConnections((error, count) => (error ? reject(error) : resolve(count)));
  });
}

test("61 tenants whose API servers never respond are all connected to at once, and neither another tenant's access nor the operator's liveness waits for them", async () => {
  const { client, namespace } = engineer;
  await createSimulatedTenant(stack.info, engineer, "served");
  await markReady(engineer, "served");
  const creators = Array.from({ length: CREATED_AT_A_TIME }, async (_, first) => {
    for (let number = first; number < SLOW_TENANTS; number += CREATED_AT_A_TIME) await createSilentTenant();
  });
  await Promise.all(creators);
  await waitFor("all to be connected to", async () => (await countConnections()) >= SLOW_TENANTS, SOON);
  await createAccess(namespace, "served");
  await waitFor("the access of the other tenant", async () => {
    const access = await client.get(clusterAccessKind, namespace, "alice");
    return access?.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True");
  });
  // An operator that has lost its Lease to a slow machine is started again, and does not listen for a moment.
  const probe = () => fetch(new URL("healthz", stack.info.metrics.operator));
  const { status } = await waitFor("the operator to respond", probe);
  expect(status).toBe(200);
});

test("in the end every machine that runs is recorded and metered", async () => {
  expect(await requireEveryMachineMetered(stack.info)).toBeDefined();
});
