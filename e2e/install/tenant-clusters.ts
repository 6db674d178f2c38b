import type { StackInfo } from "../platform/stack/stack-info.ts";
import { kubectl, waitFor } from "../platform/stack/testing.ts";
import { createTenant, expectStatus, type Tenant } from "../testing/tenant.ts";
import type { Release } from "./release.ts";

/** An organization of an installed release, with small clusters. */
export interface TenantClusters {
  orgID: string;
  tenant(): Tenant;
  /** The release has another address. */
  reconnect(): Promise<void>;
  /** Creates a cluster with one node, and waits until it runs; returns its id. */
  create(name: string): Promise<string>;
  /** The life of a cluster by REST: created, running, scaled, renamed and deleted. Returns the names of the clusters that are left. */
  createScaleAndDelete(name: string): Promise<string[]>;
  /** Has three clusters created at once: by a tenant with REST, an engineer with kubectl and a pipeline. */
  createScaleAndDeleteInAllWays(name: string): Promise<string[]>;
  /** The uids of all machines: a machine that was rolled has another. */
  listMachines(): Promise<string[]>;
}

export const POOL = { name: "workers", vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 1 };

/** Who writes manifests, by the role of the chart; the pipeline as Flux does. */
const WRITERS = {
  "marina-engineer": ["apply", "-f", "-"],
  "marina-gitops": [
    "apply",
    "--server-side",
    "--force-conflicts",
    "--field-manager=kustomize-controller",
    "-f",
    "-",
  ],
};
type WritingRole = keyof typeof WRITERS;

/** A cluster with a pool, as the engineer and the pipeline write it. */
function composeManifests(name: string, displayName: string, desiredNodes: number): string {
  const apiVersion = "cloud.marina.dev/v1";
  const size = { vcpus: POOL.vcpus, memoryGB: POOL.memory_gb, diskGB: POOL.disk_gb };
  const pool = { clusterName: name, displayName: POOL.name, ...size, desiredNodes };
  return [
    {
      apiVersion,
      kind: "Cluster",
      metadata: { name },
      spec: { displayName, version: "1.34.2", plan: "dev" },
    },
    { apiVersion, kind: "NodePool", metadata: { name: `${name}-workers` }, spec: pool },
  ]
    .map((object) => JSON.stringify(object))
    .join("\n---\n");
}

export async function openTenantClusters(stack: StackInfo, release: Release): Promise<TenantClusters> {
  /** The proxy of a Service learns of its ready Pods after helm does. */
  async function connect(): Promise<Tenant> {
    const reached = createTenant(await release.findApiUrl(), stack.tokens.alice);
    await waitFor("the API to be reached", async () => (await reached.request("GET", "/me")).status === 200);
    return reached;
  }

  let tenant = await connect();
  const { id: orgID } = expectStatus(
    201,
    await tenant.call("createOrganization", { body: { name: "Kept" } }),
  );

  async function untilReady(clusterID: string, nodes: number): Promise<void> {
    await waitFor(`the cluster to run with ${nodes} nodes`, async () => {
      const cluster = expectStatus(200, await tenant.call("getCluster", { orgID, clusterID }));
      return cluster.status === "running" && cluster.nodes.ready === nodes;
    });
  }

  async function create(name: string): Promise<string> {
    const body = { name, k8s_version: "1.34.2", plan: "dev" as const, node_pools: [POOL] };
    const { id } = expectStatus(202, await tenant.call("createCluster", { orgID, body }));
    await untilReady(id, 1);
    return id;
  }

  const inNamespace = async (args: readonly string[], stdin = "") =>
    (await kubectl([`--namespace=org-${orgID}`, ...args], { stdin, stack })).stdout;

  /** Each writer has its role in this Namespace alone, under the name of the role. */
  async function bindWriters(): Promise<void> {
    for (const role of Object.keys(WRITERS)) {
      await waitFor(`${role} in the organization's Namespace`, async () => {
        const binding = ["create", "rolebinding", role, `--clusterrole=${role}`, `--user=${role}`];
        await inNamespace(binding).catch((error: Error) => {
          if (!error.message.includes("already exists")) throw error;
        });
        return inNamespace(["auth", "can-i", "create", "clusters.cloud.marina.dev", `--as=${role}`]);
      });
    }
  }

  async function listNames(): Promise<string[]> {
    const { items } = expectStatus(200, await tenant.call("listClusters", { orgID }));
    return items.map((one) => one.name);
  }

  async function liveByRest(name: string): Promise<void> {
    const place = { orgID, clusterID: await create(name) };
    const { items: pools } = expectStatus(200, await tenant.call("listNodePools", place));
    const change = { poolID: pools[0]?.id ?? "", body: { desired_nodes: 2, max_nodes: 2 } };
    expectStatus(200, await tenant.call("updateNodePool", { ...place, ...change }));
    expectStatus(200, await tenant.call("updateCluster", { ...place, body: { name: `${name}-renamed` } }));
    await untilReady(place.clusterID, 2);
    expectStatus(202, await tenant.call("deleteCluster", place));
    await waitFor("it to be gone", async () => (await tenant.call("getCluster", place)).status === 404);
  }

  async function liveByManifests(role: WritingRole, name: string): Promise<void> {
    const write = (args: readonly string[], stdin?: string) => inNamespace([`--as=${role}`, ...args], stdin);
    const cluster = `clusters.cloud.marina.dev/${name}`;
    const untilRunning = (wanted: string) =>
      waitFor(`${name} to be ${wanted}`, async () => {
        const path = "{.spec.displayName} {.status.phase} {.status.nodes.ready}";
        return (await inNamespace(["get", cluster, `--output=jsonpath=${path}`])) === wanted;
      });
    await write(WRITERS[role], composeManifests(name, name, 1));
    await untilRunning(`${name} Ready 1`);
    if (role === "marina-engineer") await write(["scale", `nodepools/${name}-workers`, "--replicas=2"]);
    await write(WRITERS[role], composeManifests(name, `${name}-renamed`, 2));
    await untilRunning(`${name}-renamed Ready 2`);
    await write(["delete", cluster, `nodepools/${name}-workers`, "--wait=false"]);
    await waitFor(
      `${name} to be gone`,
      async () => (await inNamespace(["get", cluster, "--ignore-not-found", "--output=name"])) === "",
    );
  }

  return {
    orgID,
    tenant: () => tenant,
    async reconnect() {
      tenant = await connect();
    },
    create,
    async createScaleAndDelete(name) {
      await liveByRest(name);
      return listNames();
    },
    async createScaleAndDeleteInAllWays(name) {
      await bindWriters();
      await Promise.all([
        liveByRest(name),
        liveByManifests("marina-engineer", `${name}-engineer`),
        liveByManifests("marina-gitops", `${name}-pipeline`),
      ]);
      return waitFor("REST to show none of them", async () => {
        const names = await listNames();
        return names.every((one) => !one.startsWith(name)) ? names : undefined;
      });
    },
    async listMachines() {
      const path = "--output=jsonpath={range .items[*]}{.metadata.uid} {end}";
      const args = ["get", "machines.cluster.x-k8s.io", `--namespace=org-${orgID}`, path];
      return (await kubectl(args, { stack })).stdout
        .split(" ")
        .filter((uid) => uid !== "")
        .sort();
    },
  };
}
