import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { kubectl, readStack, waitFor } from "../../platform/stack/testing.ts";
import { createTenant, type Tenant } from "../../testing/tenant.ts";
import { fetchKubeconfig, issueKubeconfig, waitForRunning } from "./real-cluster.ts";

const stack = readStack();
/** Pods and Services of a cluster that names no networks. */
const OF_THE_PLATFORM = { pods: /^192\.168\./, services: /^10\.1(2[89]|3\d|4[0-3])\./ };
const REFUSED = /Forbidden|Unauthorized|must be logged in/;

/** Networks that are not those of the platform. */
const OWN = { pods: ["172.20.0.0/16"], services: ["172.21.0.0/20"] };

/**
 * Control planes that keep the key of their CA to themselves and report `status.version` alone: `managed` signs client
 * certificates by its own API, `unsigned` signs none, so that its clients get tokens, and `keyless` publishes its CA.
 */
describe.each([
  {
    shape: "managed",
    credential: "client-certificate-data",
    clusterNetwork: OWN,
    networks: { pods: /^172\.20\./, services: /^172\.21\./ },
  },
  { shape: "unsigned", credential: "token", networks: OF_THE_PLATFORM },
  { shape: "keyless", credential: "client-certificate-data", networks: OF_THE_PLATFORM },
])("a control plane whose shape is $shape", ({ shape, credential, clusterNetwork, networks }) => {
  let alice: Tenant;
  let namespace: string;
  let path: string;
  let folder: string;
  let files = 0;

  const manage = async (...args: string[]) => (await kubectl([...args, "-n", namespace], { stack })).stdout;
  const ask = (kubeconfig: string) => kubectl(["get", "secrets", "-A"], { kubeconfig });

  async function store(text: string): Promise<string> {
    const file = join(folder, `kubeconfig-${files++}`);
    await writeFile(file, text, { mode: 0o600 });
    return file;
  }

  function untilRefused(kubeconfig: string): Promise<Error> {
    return waitFor("the kubeconfig to be refused", () =>
      ask(kubeconfig).then(
        () => undefined,
        (error: Error) => (REFUSED.test(error.message) ? error : undefined),
      ),
    );
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "marina-providers-"));
    alice = createTenant(stack.apiUrl, stack.tokens.alice);
    const { body: organization } = await alice.request("POST", "/organizations", { name: shape });
    namespace = `org-${organization.id}`;
    const metadata = { namespace };
    const pool = { clusterName: shape, vcpus: 2, memoryGB: 4, diskGB: 20, minNodes: 0, maxNodes: 3 };
    const items = [
      {
        kind: "Cluster",
        metadata: { ...metadata, name: shape },
        spec: { version: "1.34", plan: shape, clusterNetwork },
      },
      { kind: "NodePool", metadata: { ...metadata, name: "web" }, spec: { ...pool, desiredNodes: 1 } },
    ].map((item) => ({ apiVersion: "cloud.marina.dev/v1", ...item }));
    await waitFor("the namespace", () => kubectl(["get", "namespace", namespace], { stack }));
    const stdin = JSON.stringify({ apiVersion: "v1", kind: "List", items });
    await kubectl(["create", "-f", "-"], { stack, stdin });
    path = await waitFor("REST to serve it", async () => {
      const clusters = `/organizations/${organization.id}/clusters`;
      const { body } = await alice.request("GET", clusters);
      return body.items[0] && `${clusters}/${body.items[0].id}`;
    });
    await waitForRunning(alice, path, 1);
  });

  afterAll(async () => {
    await alice?.request("DELETE", path);
    await waitFor("it to be deleted", async () => (await alice.request("GET", path)).status === 404);
    await rm(folder, { recursive: true, force: true });
  });

  test(`is ready without the key of its CA, and its admin kubeconfig has a ${credential}`, async () => {
    const secrets = await manage("get", "secrets", "-o", "name");
    expect(secrets).toContain(`secret/${shape}-kubeconfig`);
    const published = secrets.includes(`secret/${shape}-ca`)
      ? Object.keys(JSON.parse(await manage("get", "secret", `${shape}-ca`, "-o", "json")).data)
      : [];
    expect(published).toEqual(shape === "keyless" ? ["tls.crt"] : []);
    const text = await fetchKubeconfig(alice, path);
    expect(Object.keys(parse(text).users[0].user)).toContain(credential);
    await waitFor("it to work", async () => ask(await store(text)));
  });

  test("pods and Services have addresses of the cluster's networks", async () => {
    const kubeconfig = await store(await fetchKubeconfig(alice, path));
    const run = (...args: string[]) => kubectl([...args, "-n", "default"], { kubeconfig });
    // No pod is admitted before a controller has made it.
    await waitFor("the ServiceAccount of the namespace", () => run("get", "serviceaccount", "default"));
    await run("run", "web", "--image=registry.example/web:1", "--port=80", "--expose");
    const read = async (...args: string[]) => JSON.parse((await run("get", ...args, "-o", "json")).stdout);
    const pod = await waitFor("an address", async () => (await read("pod", "web")).status.podIP);
    expect(pod).toMatch(networks.pods);
    expect((await read("service", "web")).spec.clusterIP).toMatch(networks.services);
  });

  test("an access gives its holder alone what an own kubeconfig can, until it is revoked", async () => {
    const issue = async () => {
      const body = await issueKubeconfig(alice, path);
      expect(Object.keys(parse(body.kubeconfig).users[0].user)).toContain(credential);
      return { id: body.id as string, file: await store(body.kubeconfig) };
    };
    const [ended, kept] = [await issue(), await issue()];
    await ask(ended.file);
    expect((await alice.request("DELETE", `${path}/accesses/${ended.id}`)).status).toBeLessThan(300);
    await untilRefused(ended.file);
    await ask(kept.file);
  });

  test("rotation ends the admin kubeconfig of before, and issues another", async () => {
    const before = await store(await fetchKubeconfig(alice, path));
    await waitFor("it to work", () => ask(before));
    expect((await alice.request("POST", `${path}/credentials/rotate`)).status).toBe(202);
    await untilRefused(before);
    await waitFor("the next one to work", async () => ask(await store(await fetchKubeconfig(alice, path))));
  });

  test("an upgrade settles, and what was issued before still works", async () => {
    const kubeconfig = await store(await fetchKubeconfig(alice, path));
    await manage(
      "patch",
      "clusters.cloud.marina.dev",
      shape,
      "--type=merge",
      "-p",
      '{"spec":{"version":"1.35"}}',
    );
    await waitFor("the cluster to run 1.35", async () => {
      const { body } = await alice.request("GET", path);
      return body.status === "running" && body.current_version === "1.35.1";
    });
    const [controlPlane] = JSON.parse(await manage("get", "localcontrolplanes", "-o", "json")).items;
    expect([controlPlane.status.version, controlPlane.status.versions]).toEqual(["v1.35.1", undefined]);
    await ask(kubeconfig);
  });
});
