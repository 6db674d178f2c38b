import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConnection } from "../../../shared/kube/connection.ts";
import { createTransport } from "../../../shared/kube/transport.ts";
import { messageOf } from "../../../shared/program/errors.ts";
import type { StackInfo } from "../../platform/stack/stack-info.ts";
import { kubectl, unlessToRetry, waitFor } from "../../platform/stack/testing.ts";
import { createTenant, type Tenant } from "../../testing/tenant.ts";

/** A running cluster of alice, and every access to it. */
export interface RealCluster {
  alice: Tenant;
  /** Path of the cluster in the REST API. */
  path: string;
  namespace: string;
  /** Name of the custom resource. */
  name: string;
  /** File with the admin kubeconfig of the REST API. */
  kubeconfig: string;
  /** kubectl in the tenant cluster; returns what it printed. */
  run(args: readonly string[], stdin?: string): Promise<string>;
  /** kubectl in the tenant cluster with `-o json`; returns the parsed output. */
  // biome-ignore lint/suspicious/noExplicitAny: a story reads whatever field it asserts on
  read(...args: string[]): Promise<any>;
  /** The JSON at a path of the tenant cluster's API: for waits, because a kubectl takes far more of the processor. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  get(path: string): Promise<any>;
  /** As `get`, of the objects of a kind in the cluster's namespace of the management cluster: `cloud.marina.dev/v1`, `nodepools`. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  getManaged(groupVersion: string, resource: string): Promise<any>;
  /** Scales a Deployment and waits until all its pods are ready. */
  scale(deployment: string, replicas: number): Promise<void>;
  /** The objects in the cluster, for the output of a failed test. */
  describe(): Promise<string>;
  /** kubectl in the management cluster, in the cluster's namespace. */
  manage(...args: string[]): Promise<string>;
  /** Changes the spec of the Marina Cluster. */
  patch(spec: object): Promise<void>;
  /** Deletes it and waits until it is deleted. */
  remove(): Promise<void>;
}

export interface RealClusterOptions {
  version?: string;
  /** Fields of the pool `workers` in addition to name and size. */
  pool?: Record<string, unknown>;
  nodes?: number;
  /** Other fields of the request. */
  body?: Record<string, unknown>;
}

/** Creates a cluster with one pool in a new organization and waits until it is running. */
export async function createRealCluster(
  stack: StackInfo,
  name: string,
  options: RealClusterOptions = {},
): Promise<RealCluster> {
  const alice = createTenant(stack.apiUrl, stack.tokens.alice);
  const { body: organization } = await alice.request("POST", "/organizations", { name });
  const nodes = options.nodes ?? 2;
  const pool = {
    name: "workers",
    vcpus: 2,
    memory_gb: 4,
    disk_gb: 20,
    desired_nodes: nodes,
    ...options.pool,
  };
  const clusters = `/organizations/${organization.id}/clusters`;
  const asked = { name, k8s_version: options.version ?? "1.35", node_pools: [pool], ...options.body };
  const headers = { "idempotency-key": randomUUID() };
  // On a slow machine the Kubernetes API may not answer in time.
  const { status, body: cluster } = await waitFor("a response that does not ask to try again", async () =>
    unlessToRetry(await alice.request("POST", clusters, asked, headers)),
  );
  if (status !== 202) throw new Error(`the cluster was refused: ${JSON.stringify(cluster)}`);
  const path = `${clusters}/${cluster.id}`;
  await waitForRunning(alice, path, nodes);
  const namespace = `org-${organization.id}`;
  const selector = `cloud.marina.dev/id=${cluster.id}`;
  const manage = async (...args: string[]) => (await kubectl([...args, "-n", namespace], { stack })).stdout;
  const [object] = JSON.parse(
    await manage("get", "clusters.cloud.marina.dev", "-l", selector, "-o", "json"),
  ).items;
  const folder = await mkdtemp(join(tmpdir(), "marina-real-"));
  const kubeconfig = join(folder, "kubeconfig");
  await writeFile(kubeconfig, await fetchKubeconfig(alice, path), { mode: 0o600 });
  const run = async (args: readonly string[], stdin = "") =>
    (await kubectl(args, { stack, kubeconfig, stdin })).stdout;
  // Another controller writes the binding of the kubeconfig in the cluster.
  await waitFor("the kubeconfig to work", () => run(["get", "secrets", "-A"]));
  return {
    alice,
    path,
    namespace,
    name: object.metadata.name,
    kubeconfig,
    run,
    read: async (...args) => JSON.parse(await run([...args, "-o", "json"])),
    get: (path) => getJson(kubeconfig, path),
    getManaged: (groupVersion, resource) =>
      getJson(stack.kubeconfig, `/apis/${groupVersion}/namespaces/${namespace}/${resource}`),
    async scale(deployment, replicas) {
      await run(["scale", "deployment", deployment, `--replicas=${replicas}`]);
      await run(["rollout", "status", `deployment/${deployment}`, "--timeout=400s"]);
    },
    async describe() {
      const kinds = ["nodes", "deployments", "pods", "events"];
      const reads = kinds.map((kind) =>
        run(["get", kind, "-A", "-o", "wide", "--request-timeout=10s"]).catch(messageOf),
      );
      return (await Promise.all(reads)).join("\n");
    },
    manage,
    async patch(spec) {
      const patch = JSON.stringify({ spec });
      await manage("patch", "clusters.cloud.marina.dev", object.metadata.name, "--type=merge", "-p", patch);
    },
    async remove() {
      await waitFor("the deletion to be accepted", async () => {
        const { status } = await alice.request("DELETE", path);
        return status < 400 || status === 404;
      });
      await waitFor(`${name} to be deleted`, async () => (await alice.request("GET", path)).status === 404);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The JSON at a path of the API of a kubeconfig. Rejects with any other response than 200. */
// biome-ignore lint/suspicious/noExplicitAny: a story reads whatever field it asserts on
export async function getJson(kubeconfig: string, path: string): Promise<any> {
  // Read each time: a rotation replaces the file.
  const transport = createTransport({ connection: loadConnection(kubeconfig) });
  try {
    const { status, body } = await transport.request({ method: "GET", path });
    if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
    return body;
  } finally {
    await transport.close();
  }
}

/** Waits until the cluster is running with this many nodes, all of them ready. */
export async function waitForRunning(alice: Tenant, path: string, nodes: number): Promise<void> {
  await waitFor(`${nodes} nodes to run`, async () => {
    const { body } = await alice.request("GET", path);
    const isThere = body.status === "running" && body.nodes.ready === nodes && body.nodes.total === nodes;
    return isThere ? true : Promise.reject(new Error(JSON.stringify(body)));
  });
}

/** The admin kubeconfig; waits for it. */
export function fetchKubeconfig(alice: Tenant, path: string): Promise<string> {
  return waitFor("the kubeconfig", async () => {
    const { status, body } = await alice.request<string>("GET", `${path}/kubeconfig`);
    return status === 200 ? body : undefined;
  });
}

/** A separate kubeconfig and its id; asks again after a 503, for one that could not be signed within 15 s. */
export function issueKubeconfig(tenant: Tenant, path: string): Promise<{ id: string; kubeconfig: string }> {
  return waitFor("a kubeconfig to be issued", async () => {
    const { status, body } = await tenant.request("POST", `${path}/kubeconfig`, { ttl_seconds: 86_400 });
    if (status !== 201) throw new Error(JSON.stringify(body));
    return body;
  });
}

/** A Deployment whose pods request `cpu`, with a disruption budget when `minAvailable` is given. */
export function describeWorkload(name: string, replicas: number, cpu: string, minAvailable?: number): string {
  const labels = { app: name };
  const container = { name: "web", image: "registry.example/web:1", resources: { requests: { cpu } } };
  const deployment = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
    },
  };
  const budget = {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name },
    spec: { minAvailable, selector: { matchLabels: labels } },
  };
  const items = minAvailable === undefined ? [deployment] : [deployment, budget];
  return JSON.stringify({ apiVersion: "v1", kind: "List", items });
}
