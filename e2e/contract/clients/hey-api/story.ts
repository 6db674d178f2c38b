import { client } from "./client/client.gen.js";
import * as marina from "./client/index.js";

const { MARINA_URL = "", MARINA_TOKEN = "" } = process.env;

type Place = { orgID: string; clusterID: string };

/** The tenant's story by the TypeScript client of hey-api. MARINA_URL and MARINA_TOKEN say where and as whom. */
async function main(): Promise<void> {
  client.setConfig({ baseUrl: MARINA_URL, auth: MARINA_TOKEN });
  const organization = expectData(await marina.createOrganization({ body: { name: "hey-api" } }));
  const inOrganization = { orgID: organization.id };
  const create = {
    path: inOrganization,
    body: { name: "first", k8s_version: "1.34", node_pools: [aPool("general", 4)] },
  };
  const cluster = expectData(
    await marina.createCluster({ ...create, headers: { "Idempotency-Key": "hey-api" } }),
  );
  const path = { ...inOrganization, clusterID: cluster.id };
  await readStream(path);
  expectError(await marina.createCluster(create), 409, "already_exists");
  await until("the cluster to run", async () => {
    const { status, nodes } = expectData(await marina.getCluster({ path }));
    return status === "running" && nodes.ready === 1;
  });
  await rename(path);
  await changePools(path);
  const kubeconfig = expectData(await marina.getKubeconfig({ path, parseAs: "text" }));
  expect(kubeconfig.includes("certificate-authority-data"), "the kubeconfig");
  const issued = expectData(await marina.issueKubeconfig({ path, body: { ttl_seconds: 600 } }));
  expect(issued.kubeconfig.includes("certificate-authority-data"), "the issued kubeconfig");
  expectData(await marina.deleteCluster({ path }));
  await until("the cluster to be deleted", async () => {
    const { response } = await marina.getCluster({ path });
    return response?.status === 404;
  });
  expectError(await marina.getCluster({ path }), 404, "not_found");
  const { error } = await marina.deleteOrganization({ path: inOrganization });
  expect(error === undefined, `the deletion of the organization: ${JSON.stringify(error)}`);
}

/** The operation has JSON, too, which the generator prefers: its client for streams is called by the path. */
async function readStream(path: Place): Promise<void> {
  const { stream } = await client.sse.get<marina.StatusEvent>({
    url: "/api/v1/organizations/{orgID}/clusters/{clusterID}/system-events",
    path,
    headers: { accept: "text/event-stream" },
    security: [{ type: "http", scheme: "bearer" }],
    sseMaxRetryAttempts: 1,
  });
  for await (const state of stream as AsyncIterable<marina.StatusEvent>) {
    expect(state.cluster_id === path.clusterID, `the present state: ${JSON.stringify(state)}`);
    return;
  }
  throw new Error("the stream ended");
}

/** What a GET returned is sent back with another name. */
async function rename(path: Place): Promise<void> {
  const cluster = expectData(await marina.getCluster({ path }));
  const renamed = expectData(await marina.updateCluster({ path, body: { ...cluster, name: "renamed" } }));
  expect(renamed.name === "renamed", "the new name");
}

async function changePools(path: Place): Promise<void> {
  const { id } = expectData(await marina.createNodePool({ path, body: aPool("memory", 8) }));
  const names: string[] = [];
  let cursor: string | undefined;
  do {
    const page = expectData(
      await marina.listNodePools({ path, query: { limit: 1, ...(cursor !== undefined && { cursor }) } }),
    );
    names.push(...page.items.map(({ name }) => name));
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
  expect(names.join(" ") === "general memory", `the pages of node pools: ${names.join(" ")}`);
  const pool = { ...path, poolID: id };
  let etag = "";
  await until("the node pool to be ready", async () => {
    const seen = await marina.getNodePool({ path: pool });
    etag = seen.response?.headers.get("etag") ?? "";
    return expectData(seen).status === "ready";
  });
  const change = { path: pool, body: { desired_nodes: 2, max_nodes: 2 }, headers: { "If-Match": etag } };
  const changed = expectData(await marina.updateNodePool(change));
  expect(changed.desired_nodes === 2, "the number of nodes");
  expectError(await marina.updateNodePool(change), 412, "precondition_failed");
}

function aPool(name: string, memoryGb: number): marina.CreateNodePool {
  return { name, vcpus: 2, memory_gb: memoryGb, disk_gb: 20, desired_nodes: 1 };
}

function expectData<T>({ data, error }: { data?: T; error?: unknown }): NonNullable<T> {
  if (data === undefined || data === null) throw new Error(`refused: ${JSON.stringify(error)}`);
  return data;
}

function expectError(
  { error, response }: { error?: marina.Error | undefined; response?: Response },
  status: number,
  code: marina.ErrorInfo["code"],
): void {
  const found = `${response?.status} ${error?.error.code}`;
  expect(found === `${status} ${code}`, `${found} instead of ${status} ${code}`);
}

function expect(holds: boolean, what: string): void {
  if (!holds) throw new Error(`${what} is not as expected`);
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 180_000;
  while (!(await holds())) {
    expect(Date.now() < deadline, `waited 3 minutes for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

await main();
