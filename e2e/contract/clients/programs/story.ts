import { createTenant, expectStatus, type Tenant } from "../../../testing/tenant.ts";

const { MARINA_URL = "", MARINA_TOKEN = "" } = process.env;

/** The tenant's story by the types of openapi-typescript. MARINA_URL and MARINA_TOKEN say where and as whom. */
async function main(): Promise<void> {
  const tenant = createTenant(MARINA_URL, MARINA_TOKEN);
  const organization = { name: "TypeScript client" };
  const { id: orgID } = expectStatus(201, await tenant.call("createOrganization", { body: organization }));
  const body = { name: "first", k8s_version: "1.34", node_pools: [aPool("general", 4)] };
  const { id: clusterID } = expectStatus(202, await tenant.call("createCluster", { orgID, body }));
  const place = { orgID, clusterID };
  const feed = tenant.follow(`/organizations/${orgID}/clusters/${clusterID}/system-events`);
  await until("the present state", async () => feed.states[0]?.data.cluster_id === clusterID);
  feed.close();
  await until("the cluster to run", async () => {
    const cluster = expectStatus(200, await tenant.call("getCluster", place));
    return cluster.status === "running" && cluster.nodes.ready === 1;
  });
  const clusters = expectStatus(200, await tenant.call("listClusters", { orgID }));
  require(clusters.items.length === 1 && clusters.next_cursor === null, "the list of clusters");
  await changeNodePool(tenant, place);
  const kubeconfig = expectStatus(200, await tenant.call("getKubeconfig", place));
  require(kubeconfig.includes("certificate-authority-data"), "the kubeconfig");
  const issued = expectStatus(
    201,
    await tenant.call("issueKubeconfig", { ...place, body: { ttl_seconds: 600 } }),
  );
  require(issued.kubeconfig.includes("certificate-authority-data"), "the issued kubeconfig");
  expectStatus(202, await tenant.call("deleteCluster", place));
  await until(
    "the cluster to be deleted",
    async () => (await tenant.call("getCluster", place)).status === 404,
  );
  expectStatus(204, await tenant.call("deleteOrganization", { orgID }));
}

async function changeNodePool(tenant: Tenant, place: { orgID: string; clusterID: string }): Promise<void> {
  const added = await tenant.call("createNodePool", { ...place, body: aPool("memory", 8) });
  const poolID = expectStatus(202, added).id;
  const path = `/organizations/${place.orgID}/clusters/${place.clusterID}/nodepools/${poolID}`;
  let etag = "";
  await until("the node pool to be ready", async () => {
    const answer = await tenant.call("getNodePool", { ...place, poolID });
    etag = answer.headers.get("etag") ?? "";
    return expectStatus(200, answer).status === "ready";
  });
  const change = { desired_nodes: 2, max_nodes: 2 };
  const changed = await tenant.request("PUT", path, change, { "if-match": etag });
  require(changed.status === 200 &&
    changed.body.desired_nodes === 2, `the change of the node pool: ${JSON.stringify(changed)}`);
  const refused = await tenant.request("PUT", path, change, { "if-match": etag });
  require(refused.status === 412 &&
    refused.body.error.code === "precondition_failed", `an old ETag: ${JSON.stringify(refused)}`);
}

function aPool(name: string, memoryGb: number) {
  return { name, vcpus: 2, memory_gb: memoryGb, disk_gb: 20, desired_nodes: 1 };
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 180_000;
  while (!(await holds())) {
    require(Date.now() < deadline, `waited 3 minutes for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

function require(holds: boolean, what: string): void {
  if (!holds) throw new Error(`${what} is not as expected`);
}

await main();
