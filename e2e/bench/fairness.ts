import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "undici";
import { startStack } from "../platform/stack/stack.ts";
import { median, percentile, until } from "./measure.ts";
import { type Figure, report } from "./report.ts";

const DIR = join(import.meta.dirname, "..", "..", ".marina", "bench-fairness");
const WARM_UP = 100;
const REQUESTS = 400;
const PAUSE_MS = 10;
/** Requests of the flooding tenant that are under way at once. */
const FLOOD = 32;
const POOL = { vcpus: 2, memory_gb: 4, disk_gb: 20, min_nodes: 1, desired_nodes: 1, max_nodes: 4 };
/** A dry run of as many Kubernetes calls as there can be in one request. */
const BIG_CLUSTER = {
  name: "flood",
  k8s_version: "1.34",
  node_pools: Array.from({ length: 50 }, (_, n) => ({ name: `pool-${n}`, ...POOL })),
};

interface Tenant {
  api: Pool;
  headers: Record<string, string>;
  clusters: string;
  cluster: string;
  pool: string;
}

/** Time of one tenant's requests while another floods the API with dry runs, compared with their time without. */
export async function benchFairness(): Promise<void> {
  const stack = await startStack({ provider: "in-memory", dir: DIR, fresh: true, onCrash: "stop" });
  const { apiUrl, tokens } = stack.info;
  const [flooding, quiet] = [new Pool(apiUrl, { connections: FLOOD }), new Pool(apiUrl, { connections: 4 })];
  try {
    await stack.part("operator").kill("SIGTERM");
    const loud = await createTenant(flooding, tokens.alice);
    const tenant = await createTenant(quiet, tokens.bob);
    const alone = await measureAll(tenant);
    const stop = new AbortController();
    const counts = flood(loud, stop.signal);
    await sleep(2000);
    const during = await measureAll(tenant);
    stop.abort();
    const { served, refused } = await counts;
    report("fairness", [
      ...Object.keys(alone).flatMap((name) => compare(name, alone[name] ?? [], during[name] ?? [])),
      { name: "dry runs of the other tenant that were served", value: served, unit: "" },
      { name: "and refused with 429", value: refused, unit: "" },
    ]);
  } finally {
    await Promise.all([flooding.destroy(), quiet.destroy()]);
    await stack.stop();
  }
}

function compare(name: string, alone: readonly number[], during: readonly number[]): Figure[] {
  const [before, after] = [percentile(alone, 0.99), percentile(during, 0.99)];
  return [
    { name: `${name}: p99 alone`, value: before, unit: "ms" },
    { name: `${name}: p99 during the flood`, value: after, unit: "ms" },
    { name: `${name}: median during the flood to alone`, value: median(during) / median(alone), unit: "x" },
    { name: `${name}: p99 during the flood to alone`, value: after / before, unit: "x", limit: 1.5 },
  ];
}

async function measureAll(tenant: Tenant): Promise<Record<string, number[]>> {
  return {
    "GET a cluster": await measure(() => send(tenant, "GET", tenant.cluster)),
    "PUT a node pool": await measure((n) => send(tenant, "PUT", tenant.pool, { desired_nodes: 1 + (n % 2) })),
    "dry run of a node pool": await measure((n) =>
      send(tenant, "PUT", `${tenant.pool}?dry_run=true`, { desired_nodes: 3 + (n % 2) }),
    ),
  };
}

async function measure(request: (n: number) => Promise<number>): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; n < WARM_UP + REQUESTS; n++) {
    const startedAt = performance.now();
    const status = await request(n);
    if (status !== 200) throw new Error(`the measured tenant got ${status}`);
    if (n >= WARM_UP) times.push(performance.now() - startedAt);
    await sleep(PAUSE_MS);
  }
  return times;
}

/** Sends dry runs, as many at once as there are connections, until the signal aborts. */
async function flood(tenant: Tenant, signal: AbortSignal): Promise<{ served: number; refused: number }> {
  const counts = { served: 0, refused: 0 };
  const client = async () => {
    while (!signal.aborted) {
      const status = await send(tenant, "POST", `${tenant.clusters}?dry_run=true`, BIG_CLUSTER);
      if (status === 429) counts.refused += 1;
      else counts.served += 1;
    }
  };
  await Promise.all(Array.from({ length: FLOOD }, client));
  return counts;
}

async function createTenant(api: Pool, token: string): Promise<Tenant> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const create = async (path: string, body: object) => {
    const response = await api.request({ method: "POST", path, headers, body: JSON.stringify(body) });
    const record = (await response.body.json()) as { id?: string };
    if (record.id === undefined) throw new Error(`POST ${path}: ${JSON.stringify(record)}`);
    return record.id;
  };
  const clusters = `/api/v1/organizations/${await create("/api/v1/organizations", { name: "Bench" })}/clusters`;
  const cluster = `${clusters}/${await create(clusters, { name: "bench", k8s_version: "1.34" })}`;
  const pool = `${cluster}/nodepools/${await create(`${cluster}/nodepools`, { name: "bench", ...POOL })}`;
  const tenant = { api, headers, clusters, cluster, pool };
  await until("the pool to be served", async () => (await send(tenant, "GET", pool)) === 200);
  return tenant;
}

async function send(
  { api, headers }: Tenant,
  method: "GET" | "PUT" | "POST",
  path: string,
  body?: object,
): Promise<number> {
  const response = await api.request({
    method,
    path,
    headers,
    body: body === undefined ? null : JSON.stringify(body),
  });
  await response.body.dump();
  return response.statusCode;
}
