import { afterAll, beforeAll, expect, test } from "vitest";
import { nameAdminSecret } from "../../shared/crd/admin-secret.ts";
import { type ClusterAccess, clusterAccessKind } from "../../shared/crd/cluster-access.ts";
import { LABEL_ID } from "../../shared/crd/names.ts";
import { secretKind } from "../../shared/kube/core-kinds.ts";
import { kubectl, readStack, waitFor } from "../platform/stack/testing.ts";
import { USERS } from "../platform/stack/users.ts";
import {
  ask,
  type Credential,
  composeKubeconfig,
  makeRequest,
  readCredential,
  untilRefused,
  withFile,
} from "../testing/credentials.ts";
import { createEngineer, type Engineer, waitForEvents } from "../testing/custom-resources.ts";
import { preparePythonClient, runPython } from "../testing/python-client.ts";
import { createSimulatedTenant, markReady, readPlayedServer } from "../testing/simulated-tenant.ts";
import { createTenant, expectStatus, type Tenant } from "../testing/tenant.ts";

const stack = readStack();
const { server, caCertificate } = readPlayedServer(stack);
const alice = createTenant(stack.apiUrl, stack.tokens.alice);
const bob = createTenant(stack.apiUrl, stack.tokens.bob);
let engineer: Engineer;
let organization: string;
let path: string;

// One cluster for all tests: bindings without an access are removed, and there is only one simulated API server.
beforeAll(async () => {
  const { body } = await alice.request("POST", "/organizations", { name: "Accesses" });
  organization = `/organizations/${body.id}`;
  engineer = await createEngineer(stack, body.id);
  path = `${organization}/clusters/${await createSimulatedTenant(stack, engineer, "real")}`;
  await waitFor("REST to serve it", async () => (await alice.request("GET", path)).status === 200);
});
afterAll(() => engineer.close());

/** Creates an access with kubectl, and returns its holder's credential. */
async function openAccess(subject: string): Promise<Credential> {
  const { csr, key } = await makeRequest();
  await createAccess(subject, subject, csr);
  const cert = await waitFor(`the access of ${subject}`, async () => {
    const { status } = await getAccess(subject);
    const ready = status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True");
    return ready ? status?.certificate : undefined;
  });
  return { server, ca: caCertificate, cert, key };
}

function createAccess(name: string, subject: string, csr: string) {
  const { client, namespace } = engineer;
  const spec = { clusterName: "real", subject, ttlSeconds: 600, csr };
  return client.create(clusterAccessKind, { metadata: { name, namespace }, spec }, { fieldManager: "test" });
}

async function getAccess(name: string): Promise<ClusterAccess> {
  const access = await engineer.client.get(clusterAccessKind, engineer.namespace, name);
  if (access === undefined) throw new Error(`no access ${name}`);
  return access;
}

async function readAdminKubeconfig(): Promise<Credential> {
  const { client, namespace } = engineer;
  const { data } = await waitFor("the admin kubeconfig", () =>
    client.get(secretKind, namespace, nameAdminSecret("real")),
  );
  return readCredential(Buffer.from(data?.value ?? "", "base64").toString());
}

interface Issued {
  id: string;
  kubeconfig: string;
  expires_at: string;
  subject: string;
}

/** Requests a kubeconfig by REST; asks again after a 503, for one that could not be signed within 15 s. */
function request<T = Issued>(tenant: Tenant, ttlSeconds: number, headers?: Record<string, string>) {
  return waitFor("a kubeconfig", async () => {
    const body = { ttl_seconds: ttlSeconds };
    const response = await tenant.request<T>("POST", `${path}/kubeconfig`, body, headers);
    expectStatus(201, response);
    return response;
  });
}

const issue = async (tenant = alice): Promise<Issued> => (await request(tenant, 86_400)).body;

const reasonOf = async (name: string) =>
  (await getAccess(name)).status?.conditions?.find(({ type }) => type === "Ready")?.reason;

test("no credential is given by any door until the cluster has been running once, when its bill begins", async () => {
  const early = await alice.request("POST", `${path}/kubeconfig`, { ttl_seconds: 600 });
  expect([early.status, early.body.error.code]).toEqual([409, "cluster_not_ready"]);
  expect(Number(early.headers.get("retry-after"))).toBeGreaterThan(0);
  const { csr } = await makeRequest();
  await createAccess("early", "early", csr);
  await waitFor("it to wait", async () => (await reasonOf("early")) === "WaitingForCluster");
  expect((await getAccess("early")).status?.certificate).toBeUndefined();
  await markReady(engineer, "real");
  await waitFor("it to be issued", async () => (await reasonOf("early")) === "Issued");
  await issue();
  // The one that the operator manages can be read repeatedly: that creates nothing.
  const read = () => alice.request("GET", `${path}/kubeconfig`);
  const [first, second] = [await read(), await read()];
  expect([first.status, second.body]).toEqual([200, first.body]);
});

test("an access admits only its holder, and is revoked when it is deleted", async () => {
  const [alice, bob] = await Promise.all([openAccess("alice"), openAccess("bob")]);
  expect(await ask(alice)).toBe(200);
  expect(await ask(bob)).toBe(200);
  const whoami = await withFile(composeKubeconfig(alice), (kubeconfig) =>
    kubectl(["auth", "whoami", "-o", "jsonpath={.status.userInfo}"], { kubeconfig }),
  );
  const user = JSON.parse(whoami.stdout);
  const { metadata } = await getAccess("alice");
  expect(user.username).toBe("alice");
  expect(user.groups).toContain(`cloud.marina.dev:access:${metadata.labels?.[LABEL_ID]}`);
  await withFile(composeKubeconfig(alice), (kubeconfig) =>
    kubectl(["auth", "can-i", "delete", "nodes"], { kubeconfig }),
  );

  const { client, namespace } = engineer;
  await client.delete(clusterAccessKind, namespace, "alice");
  await untilRefused(alice);
  expect(await ask(bob)).toBe(200);
  await waitFor(
    "the object to be deleted",
    async () => (await client.get(clusterAccessKind, namespace, "alice")) === undefined,
  );
});

test("a grant whose object was removed by force is revoked too", async () => {
  const carol = await openAccess("carol");
  expect(await ask(carol)).toBe(200);
  const { client, namespace } = engineer;
  await kubectl(["delete", "clusteraccesses.cloud.marina.dev", "carol", "-n", namespace, "--wait=false"]);
  const patch = { metadata: { finalizers: [] } };
  const torn = client.mergePatch(clusterAccessKind, namespace, "carol", patch, { fieldManager: "test" });
  await torn.catch(() => undefined);
  await waitFor("carol to be refused", async () => (await ask(carol)) === 403);
});

test.each([
  ["running", { credentialsGeneration: 1 }],
  ["suspended", { credentialsGeneration: 2, suspend: true }],
])(
  "raising credentialsGeneration of a %s cluster revokes the issued admin kubeconfig and keeps grants, which can be revoked",
  async (state, spec) => {
    const dave = await openAccess(`dave-${state}`);
    const before = await readAdminKubeconfig();
    await waitFor("the admin to be admitted", async () => (await ask(before)) === 200);
    const readStatus = async () => (await engineer.getCluster("real")).status;
    await waitFor("its rights", async () => (await readStatus())?.credentialsGeneration !== undefined);
    await engineer.patchCluster("real", { spec });
    await waitForEvents(engineer, "real", "AdminCredentialsRotated", spec.credentialsGeneration);
    expect(await ask(before)).toBe(403);
    const after = await waitFor("a new admin kubeconfig", async () => {
      const now = await readAdminKubeconfig();
      return now.cert === before.cert ? undefined : now;
    });
    // The kubeconfig and its binding in the tenant cluster are written by two controllers, in either order.
    await waitFor("the new admin to be admitted", async () => (await ask(after)) === 200);
    expect(await ask(dave)).toBe(200);
    await engineer.client.delete(clusterAccessKind, engineer.namespace, `dave-${state}`);
    await untilRefused(dave);
    await engineer.patchCluster("real", { spec: { suspend: null } });
  },
);

test("a refused access has a reason: a malformed request, one access too many", async () => {
  const { client, namespace } = engineer;
  const broken = "-----BEGIN CERTIFICATE REQUEST-----\nMIIB\n-----END CERTIFICATE REQUEST-----\n";
  await createAccess("broken", "erin", broken);
  const { csr } = await makeRequest();
  await waitFor(
    "the malformed request to be refused",
    async () => (await reasonOf("broken")) === "InvalidRequest",
  );
  const names = Array.from({ length: 10 }, (_, index) => `many-${index}`);
  for (const name of names) await createAccess(name, "frank", csr);
  await waitFor("ten to be issued", async () => {
    const reasons = await Promise.all(names.map(reasonOf));
    return reasons.every((reason) => reason === "Issued");
  });
  await createAccess("one-more", "frank", csr);
  await waitFor("one more to be refused", async () => (await reasonOf("one-more")) === "TooManyAccesses");
  expect(await reasonOf("broken")).toBe("InvalidRequest");
  await client.delete(clusterAccessKind, namespace, "many-3");
  await waitFor(
    "it to be admitted when another one is deleted",
    async () => (await reasonOf("one-more")) === "Issued",
  );
});

test("of twelve accesses that are requested at once ten are issued, and never more", async () => {
  const { csr } = await makeRequest();
  const names = Array.from({ length: 12 }, (_, index) => `at-once-${index}`);
  await Promise.all(names.map((name) => createAccess(name, "grace", csr)));
  // One may say first that its binding does not count yet.
  const reasons = await waitFor("every request to be issued or refused", async () => {
    const all = await Promise.all(names.map(reasonOf));
    return all.every((reason) => reason === "Issued" || reason === "TooManyAccesses") ? all : undefined;
  });
  expect(reasons.filter((reason) => reason === "Issued")).toHaveLength(10);
});

test("an issued kubeconfig works with kubectl and with Node's TLS, under its holder's name, until it expires", async () => {
  const before = Date.now();
  const response = await request(alice, 3600);
  expect(response.headers.get("cache-control")).toBe("no-store");
  expect(response.headers.get("content-disposition")).toMatch(
    /^attachment; filename="?real-kubeconfig.yaml"?$/,
  );
  const issued: Issued = response.body;
  expect(response.headers.get("location")).toBe(`/api/v1${path}/accesses/${issued.id}`);
  const issuedAt = Date.parse(issued.expires_at) - 3_600_000;
  expect([issuedAt > before - 1000, issuedAt <= Date.now()]).toEqual([true, true]);
  expect(issued.subject).toBe(USERS.alice.sub);
  expect(await ask(readCredential(issued.kubeconfig))).toBe(200);
  const { stdout } = await withFile(issued.kubeconfig, (kubeconfig) =>
    kubectl(["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"], { kubeconfig }),
  );
  expect(stdout).toBe(USERS.alice.sub);
  const read = await alice.request("GET", `${path}/accesses/${issued.id}`);
  expect(read.body).toMatchObject({
    id: issued.id,
    email: USERS.alice.email,
    status: "active",
    expires_at: issued.expires_at,
  });
  expect(JSON.stringify(read.body)).not.toContain("PRIVATE KEY");
});

test("an issued kubeconfig works with the official Python client", async (context) => {
  const python = await preparePythonClient();
  if (python === undefined) context.skip("python3 or its package index is not here");
  const { kubeconfig } = await issue();
  const program = `
import sys
from kubernetes import client, config
config.load_kube_config(sys.argv[1])
print(len(client.CoreV1Api().list_namespace(limit=1).items))`;
  const printed = await withFile(kubeconfig, (file) => runPython(python ?? "", program, [file]));
  expect(printed.trim()).toBe("1");
});

test("with Accept: application/yaml the response is the kubeconfig file itself", async () => {
  const response = await request<string>(alice, 600, { accept: "application/yaml" });
  expect(response.headers.get("content-type")).toBe("application/yaml");
  expect(await ask(readCredential(response.body))).toBe(200);
});

test("a revoked kubeconfig is refused, and every other one keeps working", async () => {
  const [first, second] = await Promise.all([issue(), issue()]);
  expect([await ask(readCredential(first.kubeconfig)), await ask(readCredential(second.kubeconfig))]).toEqual(
    [200, 200],
  );
  const { body: list } = await alice.request("GET", `${path}/accesses`);
  const ids: string[] = list.items.map(({ id }: Issued) => id);
  expect(ids).toEqual(ids.toSorted((left, right) => (left < right ? -1 : 1)));
  expect(ids).toEqual(expect.arrayContaining([first.id, second.id]));
  expect((await alice.request("DELETE", `${path}/accesses/${first.id}`)).status).toBe(204);
  await untilRefused(readCredential(first.kubeconfig));
  expect(await ask(readCredential(second.kubeconfig))).toBe(200);
  await waitFor("its record to be deleted", async () => {
    return (await alice.request("GET", `${path}/accesses/${first.id}`)).status === 404;
  });
});

test("kubeconfigs of a removed member are refused, also those requested by the member's API token", async () => {
  const mine = await issue();
  const { body: member } = await alice.request("POST", `${organization}/members`, {
    email: USERS.bob.email,
    role: "member",
  });
  const invitation = await bob.request("POST", `/me/invitations/${member.id}/accept`);
  expect(invitation.status).toBe(200);
  const his = await issue(bob);
  const { body: token } = await bob.request("POST", `${organization}/api-tokens`, {
    name: "deploy",
    role: "member",
    scopes: ["clusters:access"],
  });
  const program = createTenant(stack.apiUrl, token.token);
  const its = await issue(program);
  expect(its.subject).toBe(USERS.bob.sub);
  expect([await ask(readCredential(his.kubeconfig)), await ask(readCredential(its.kubeconfig))]).toEqual([
    200, 200,
  ]);
  expect((await alice.request("DELETE", `${organization}/members/${member.id}`)).status).toBe(204);
  await untilRefused(readCredential(his.kubeconfig));
  await untilRefused(readCredential(its.kubeconfig));
  expect(await ask(readCredential(mine.kubeconfig))).toBe(200);
});
