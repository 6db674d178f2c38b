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
  /** The life of a cluster: created, running, scaled and deleted. Returns the names of the clusters that are left. */
  createScaleAndDelete(name: string): Promise<string[]>;
  /** The uids of all machines: a machine that was rolled has another. */
  listMachines(): Promise<string[]>;
}

export const POOL = { name: "workers", vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 1 };

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

  return {
    orgID,
    tenant: () => tenant,
    async reconnect() {
      tenant = await connect();
    },
    create,
    async createScaleAndDelete(name) {
      const place = { orgID, clusterID: await create(name) };
      const { items: pools } = expectStatus(200, await tenant.call("listNodePools", place));
      const change = { poolID: pools[0]?.id ?? "", body: { desired_nodes: 2, max_nodes: 2 } };
      expectStatus(200, await tenant.call("updateNodePool", { ...place, ...change }));
      await untilReady(place.clusterID, 2);
      expectStatus(202, await tenant.call("deleteCluster", place));
      await waitFor("it to be gone", async () => (await tenant.call("getCluster", place)).status === 404);
      const { items } = expectStatus(200, await tenant.call("listClusters", { orgID }));
      return items.map((one) => one.name);
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
