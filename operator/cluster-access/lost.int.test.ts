import { afterEach, expect, test } from "vitest";
import { kubectl, readStack, waitFor } from "../../e2e/platform/stack/testing.ts";
import { ask, makeRequest, untilRefused } from "../../e2e/testing/credentials.ts";
import { createEngineer } from "../../e2e/testing/custom-resources.ts";
import { setUp } from "../../e2e/testing/set-up.ts";
import { createSimulatedTenant, markReady, readPlayedServer } from "../../e2e/testing/simulated-tenant.ts";
import { type ClusterAccess, clusterAccessKind } from "../../shared/crd/cluster-access.ts";
import { secretKind } from "../../shared/kube/core-kinds.ts";
import { composeCaData } from "../../shared/tenant/testing.ts";
import { createTestServers } from "../../shared/tenant/testing-server.ts";
import { type CapiCluster, capiClusterKind } from "../capi/kinds.ts";

const BY_HAND = { fieldManager: "test" };
const stack = readStack();
const engineer = setUp(() => createEngineer(stack));
let stops: (() => void)[] = [];

afterEach(() => {
  for (const stop of stops) stop();
  stops = [];
});

/** The address of an API server that lets everyone in, and its CA. */
async function serveTenant() {
  const { authority, serve, stopAll } = await createTestServers();
  stops.push(stopAll);
  const server = await serve(({ method, url = "" }, response) => {
    const isMissing = method === "GET" && /\/clusterrolebindings\/./.test(url);
    const body = isMissing
      ? { kind: "Status", code: 404, reason: "NotFound" }
      : { metadata: {}, items: [], status: { allowed: true } };
    const status = isMissing ? 404 : method === "POST" ? 201 : 200;
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  return { server, caData: composeCaData(authority) };
}

function readAccess(name: string): Promise<ClusterAccess | undefined> {
  return engineer.client.get(clusterAccessKind, engineer.namespace, name);
}

const readyOf = (access: ClusterAccess | undefined) =>
  access?.status?.conditions?.find(({ type }) => type === "Ready");

async function issue(clusterName: string) {
  const { client, namespace } = engineer;
  const { csr, key } = await makeRequest();
  const spec = { clusterName, subject: "alice", ttlSeconds: 600, csr };
  await client.create(clusterAccessKind, { metadata: { name: clusterName, namespace }, spec }, BY_HAND);
  const cert = await waitFor("the access", async () => {
    const access = await readAccess(clusterName);
    return readyOf(access)?.status === "True" ? access?.status?.certificate : undefined;
  });
  return { cert, key };
}

/** Takes Cluster API's object away, as when it is deleted by hand, and returns it. */
async function lose(name: string): Promise<CapiCluster> {
  const { client, namespace } = engineer;
  const before = await client.get(capiClusterKind, namespace, name);
  if (before === undefined) throw new Error(`Cluster API has no ${name}`);
  await client.delete(capiClusterKind, namespace, name);
  await waitFor("Cluster API's object to be gone", async () => {
    const left = await client.get(capiClusterKind, namespace, name);
    if (left?.metadata.finalizers !== undefined) {
      const patch = { metadata: { finalizers: null } };
      await client.mergePatch(capiClusterKind, namespace, name, patch, BY_HAND).catch(() => undefined);
    }
    return left === undefined;
  });
  // Until the operator has seen it, it ends rights in the cluster that is still there for it.
  await waitFor("the loss to be told", async () => {
    const { status } = await engineer.getCluster(name);
    return status?.conditions?.some(({ reason }) => reason === "InfrastructureLost");
  });
  return before;
}

/** Puts another object of Cluster API in the place of one that was lost. */
async function restore({ metadata, spec, status }: CapiCluster, server?: string): Promise<void> {
  const { client, namespace } = engineer;
  const { name, labels = {} } = metadata;
  const url = server === undefined ? undefined : new URL(server);
  const endpoint = url && { controlPlaneEndpoint: { host: url.hostname, port: Number(url.port) } };
  await client.create(
    capiClusterKind,
    { metadata: { name, namespace, labels }, spec: { ...spec, ...endpoint } },
    BY_HAND,
  );
  const conditions = status?.conditions?.filter(({ type }) => type.startsWith("ControlPlane"));
  const subresource = { ...BY_HAND, subresource: "status" as const };
  await client.mergePatch(capiClusterKind, namespace, name, { status: { conditions } }, subresource);
}

test("an access to a lost cluster that is deleted says what it waits for, and its right ends when the cluster is restored", async () => {
  const { client, namespace } = engineer;
  await createSimulatedTenant(stack, engineer, "restored");
  await markReady(engineer, "restored");
  const played = readPlayedServer(stack);
  const alice = { ...(await issue("restored")), server: played.server, ca: played.caCertificate };
  expect(await ask(alice)).toBe(200);

  const before = await lose("restored");
  await client.delete(clusterAccessKind, namespace, "restored");
  await waitFor(
    "the reason",
    async () => readyOf(await readAccess("restored"))?.reason === "InfrastructureLost",
  );
  // Its etcd, which comes back with the cluster, has the right still.
  expect(await ask(alice)).toBe(200);

  await restore(before);
  await untilRefused(alice);
  await waitFor("the access to be gone", async () => (await readAccess("restored")) === undefined);
});

test("an access to a lost cluster that is deleted goes with the cluster", async () => {
  const { client, namespace } = engineer;
  await createSimulatedTenant(stack, engineer, "given-up");
  await markReady(engineer, "given-up");
  await issue("given-up");
  await lose("given-up");
  await client.delete(clusterAccessKind, namespace, "given-up");
  await waitFor(
    "the reason",
    async () => readyOf(await readAccess("given-up"))?.reason === "InfrastructureLost",
  );
  await kubectl(["delete", "clusters.cloud.marina.dev", "given-up", `-n=${namespace}`, "--wait=false"]);
  const isGone = () => readAccess("given-up").then((access) => access === undefined);
  expect(await waitFor("the access to be gone", isGone)).toBe(true);
});

test("an access whose certificate is of the CA of an earlier cluster in its place is refused with a reason", async () => {
  const { client, namespace } = engineer;
  const first = await serveTenant();
  await createSimulatedTenant(stack, engineer, "anew", first.server);
  const setCa = (data: object) => client.mergePatch(secretKind, namespace, "anew-ca", { data }, BY_HAND);
  await setCa(first.caData);
  await markReady(engineer, "anew");
  await issue("anew");

  const before = await lose("anew");
  const second = await serveTenant();
  await setCa(second.caData);
  await restore(before, second.server);
  const refused = await waitFor("it to be refused", async () => {
    const access = await readAccess("anew");
    return readyOf(access)?.reason === "ClusterRecreated" ? access : undefined;
  });
  expect(refused.status?.conditions?.map(({ type, status }) => `${type} ${status}`)).toEqual([
    "Ready False",
    "Reconciling False",
    "Stalled True",
  ]);
  await client.delete(clusterAccessKind, namespace, "anew");
  await waitFor("the access to be gone", async () => (await readAccess("anew")) === undefined);
});
