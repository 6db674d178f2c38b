import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { clusterKind } from "../shared/crd/cluster.ts";
import { createClient, type KubeClient } from "../shared/kube/client.ts";
import { createTransport, loadConnection, type Transport } from "../shared/kube/transport.ts";
import { playTenant } from "./played-tenant.ts";
import { preparePythonClient, runPython } from "./python-client.ts";
import { kubectl, readStack, waitFor } from "./stack/testing.ts";
import { USERS } from "./stack/users.ts";
import { createTenant } from "./tenant.ts";

const stack = readStack();
const alice = createTenant(stack.apiUrl, stack.tokens.alice);
const bob = createTenant(stack.apiUrl, stack.tokens.bob);
const REFUSED_WITHIN_SECONDS = 5;
let transport: Transport;
let kube: KubeClient;
let organization: string;
let namespace: string;
let path: string;
let folder: string;

beforeAll(async () => {
  transport = createTransport({ connection: loadConnection(stack.kubeconfig) });
  kube = createClient(transport);
  folder = await mkdtemp(join(tmpdir(), "marina-kubeconfig-"));
  const { body } = await alice.request("POST", "/organizations", { name: "Kubeconfigs" });
  organization = `/organizations/${body.id}`;
  namespace = `org-${body.id}`;
  await waitFor("the organization's namespace", () =>
    kubectl(["get", "namespace", namespace]).then(() => true),
  );
  path = `${organization}/clusters/${await playTenant(stack, { client: kube, namespace }, "real")}`;
  await waitFor("REST to serve it", async () => (await alice.request("GET", path)).status === 200);
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await transport.close();
});

interface Issued {
  id: string;
  kubeconfig: string;
  expires_at: string;
  subject: string;
}

async function issue(tenant = alice, ttlSeconds = 600): Promise<Issued> {
  const answer = await tenant.request("POST", `${path}/kubeconfig`, { ttl_seconds: ttlSeconds });
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  return answer.body;
}

/** The status with which the cluster answers the holder of a kubeconfig, over verified TLS. */
function ask({ kubeconfig }: Pick<Issued, "kubeconfig">): Promise<number> {
  const { clusters, users } = parse(kubeconfig);
  const decode = (text: string) => Buffer.from(text, "base64");
  return new Promise((resolve, reject) => {
    const options = {
      ca: decode(clusters[0].cluster["certificate-authority-data"]),
      cert: decode(users[0].user["client-certificate-data"]),
      key: decode(users[0].user["client-key-data"]),
      agent: false as const,
    };
    const url = new URL("/api/v1/secrets?limit=1", clusters[0].cluster.server);
    const call = request(url, options, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    call.once("error", reject);
    call.end();
  });
}

/** Seconds until the cluster refuses the kubeconfig. */
async function untilRefused(issued: Issued): Promise<number> {
  const from = performance.now();
  await waitFor("the kubeconfig to be refused", async () => (await ask(issued)) === 403, { intervalMs: 50 });
  return (performance.now() - from) / 1000;
}

async function save(issued: Issued): Promise<string> {
  const file = join(folder, `${issued.id}.yaml`);
  await writeFile(file, issued.kubeconfig, { mode: 0o600 });
  return file;
}

test("a kubeconfig is refused until the cluster has been running once (section 4.17)", async () => {
  const early = await alice.request("POST", `${path}/kubeconfig`, { ttl_seconds: 600 });
  expect([early.status, early.body.error.code]).toEqual([409, "cluster_not_ready"]);
  expect(Number(early.headers.get("retry-after"))).toBeGreaterThan(0);
  // Its engine is paused, so the first readiness has to be told by hand.
  const status = { firstReadyAt: new Date().toISOString() };
  await kube.mergePatch(
    clusterKind,
    namespace,
    "real",
    { status },
    {
      fieldManager: "test",
      subresource: "status",
    },
  );
  await waitFor("a kubeconfig", issue);
});

test("an issued kubeconfig works with kubectl and with Node's TLS, in its holder's own name, until it expires", async () => {
  const before = Date.now();
  const answer = await alice.request("POST", `${path}/kubeconfig`, { ttl_seconds: 3600 });
  expect(answer.status).toBe(201);
  expect(answer.headers.get("cache-control")).toBe("no-store");
  expect(answer.headers.get("content-disposition")).toMatch(/^attachment; filename="real-kubeconfig.yaml"$/);
  const issued: Issued = answer.body;
  expect(answer.headers.get("location")).toBe(`/api/v1${path}/accesses/${issued.id}`);
  expect(Math.abs(Date.parse(issued.expires_at) - before - 3_600_000)).toBeLessThan(30_000);
  expect(issued.subject).toBe(USERS.alice.sub);
  expect(await ask(issued)).toBe(200);
  const { stdout } = await kubectl(["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"], {
    kubeconfig: await save(issued),
  });
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
  const file = await save(await issue());
  const program = `
import sys
from kubernetes import client, config
config.load_kube_config(sys.argv[1])
print(len(client.CoreV1Api().list_namespace(limit=1).items))`;
  expect((await runPython(python ?? "", program, [file])).trim()).toBe("1");
});

test("asked for as YAML, the answer is the kubeconfig itself, as a file", async () => {
  const answer = await alice.request<string>(
    "POST",
    `${path}/kubeconfig`,
    { ttl_seconds: 600 },
    { accept: "application/yaml" },
  );
  expect(answer.status).toBe(201);
  expect(answer.headers.get("content-type")).toBe("application/yaml");
  expect(await ask({ kubeconfig: answer.body })).toBe(200);
});

test("a revoked kubeconfig is refused within 5 s, and every other one goes on working", async () => {
  const [first, second] = await Promise.all([issue(), issue()]);
  expect([await ask(first), await ask(second)]).toEqual([200, 200]);
  const { body: list } = await alice.request("GET", `${path}/accesses`);
  const ids = list.items.map(({ id }: Issued) => id);
  expect(ids).toEqual([...ids].sort());
  expect(ids).toEqual(expect.arrayContaining([first.id, second.id]));
  expect((await alice.request("DELETE", `${path}/accesses/${first.id}`)).status).toBe(204);
  expect(await untilRefused(first)).toBeLessThan(REFUSED_WITHIN_SECONDS);
  expect(await ask(second)).toBe(200);
  await waitFor("its record to go", async () => {
    return (await alice.request("GET", `${path}/accesses/${first.id}`)).status === 404;
  });
});

test("what was issued to a member ends within 5 s of the removal, also what an API token of the member asked for", async () => {
  const mine = await issue();
  const { body: member } = await alice.request("POST", `${organization}/members`, {
    email: USERS.bob.email,
    role: "member",
  });
  const his = await issue(bob);
  const { body: token } = await bob.request("POST", `${organization}/api-tokens`, {
    name: "deploy",
    role: "member",
    scopes: ["clusters:access"],
  });
  const program = createTenant(stack.apiUrl, token.token);
  const its = await issue(program);
  expect(its.subject).toBe(USERS.bob.sub);
  expect([await ask(his), await ask(its)]).toEqual([200, 200]);
  expect((await alice.request("DELETE", `${organization}/members/${member.id}`)).status).toBe(204);
  expect(await untilRefused(his)).toBeLessThan(REFUSED_WITHIN_SECONDS);
  expect(await untilRefused(its)).toBeLessThan(REFUSED_WITHIN_SECONDS);
  expect(await ask(mine)).toBe(200);
});
