import { setTimeout as sleep } from "node:timers/promises";
import { StartError } from "../programs/start-error.ts";

const ORGANIZATION = "First";
const CLUSTER = "one";

interface Place {
  apiUrl: string;
  token: string;
}

interface ClusterRecord {
  id: string;
  name: string;
  status: string;
  status_message?: string;
}

/** The tenant's organization by its name, created when it is not there. */
export async function ensureOrganization(place: Place): Promise<string> {
  const { items } = await call<{ items: { id: string; name: string }[] }>(place, "GET", "/organizations");
  const found = items.find(({ name }) => name === ORGANIZATION);
  if (found !== undefined) return found.id;
  const { id } = await call<{ id: string }>(place, "POST", "/organizations", { name: ORGANIZATION });
  return id;
}

/** The organization's cluster with one node, created when it is not there; whether it runs or not. */
export async function ensureCluster(place: Place, orgId: string, version: string): Promise<ClusterRecord> {
  const path = `/organizations/${orgId}/clusters`;
  const { items } = await call<{ items: ClusterRecord[] }>(place, "GET", path);
  const found = items.find(({ name }) => name === CLUSTER);
  if (found !== undefined) return found;
  return call(place, "POST", path, {
    name: CLUSTER,
    k8s_version: version,
    node_pools: [{ name: "workers", vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 1 }],
  });
}

/** Resolves when the cluster runs; `onChange` gets every other status. Throws StartError at the deadline. */
export async function waitUntilRunning(
  place: Place,
  { orgId, clusterId, timeoutMs }: { orgId: string; clusterId: string; timeoutMs: number },
  onChange: (status: string) => void,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  let last = "";
  while (Date.now() < deadline) {
    const { status, status_message: message = "" } = await call<ClusterRecord>(
      place,
      "GET",
      `/organizations/${orgId}/clusters/${clusterId}`,
    );
    if (status === "running") return;
    if (status + message !== last) onChange(message === "" ? status : `${status}: ${message}`);
    last = status + message;
    await sleep(2000);
  }
  throw new StartError(`The first cluster does not run after ${timeoutMs / 1000} s; it was last ${last}.`);
}

async function call<T>({ apiUrl, token }: Place, method: string, path: string, body?: object): Promise<T> {
  const response = await fetch(`${apiUrl}/api/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(30_000),
  });
  const text = await response.text();
  if (!response.ok) throw new StartError(`${method} ${path} is ${response.status}: ${text}`);
  return JSON.parse(text) as T;
}
