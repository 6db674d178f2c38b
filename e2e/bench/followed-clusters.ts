import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { Pool } from "undici";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { createClient } from "../../shared/kube/client.ts";
import { loadConnection } from "../../shared/kube/connection.ts";
import { createTransport } from "../../shared/kube/transport.ts";
import { type Stack, startStack } from "../platform/stack/stack.ts";
import { createFleet, createOrganization, FIELD_MANAGER, type Fleet } from "./cluster-objects.ts";
import { percentile, secondsSince, until } from "./measure.ts";
import { type PoolWriting, timePoolWrites } from "./pool-writes.ts";
import { readStackCpuSeconds } from "./proc.ts";
import { type Figure, report } from "./report.ts";

const DIR = join(import.meta.dirname, "..", "..", ".marina", "bench-followed");
const CONNECTIONS = 32;
const CHANGES = 200;
const POLL_MS = 5;
const GIVE_UP_MS = 10_000;
/** More than this machine can send: the client of the benchmark is not rate-limited. */
const UNLIMITED_QPS = 100_000;

/**
 * The projection of the Kubernetes API: its rebuild with this many Cluster objects (including the start of the API
 * server), the time until a change by kubectl is visible by REST, and a PUT of a pool, compared with the bare
 * Kubernetes patch. The operator is stopped, so that nothing is reconciled.
 */
export async function benchFollowing(count: number): Promise<void> {
  const stack = await startStack({ provider: "in-memory", dir: DIR, fresh: true, onCrash: "stop" });
  const transport = createTransport({
    connection: loadConnection(stack.info.kubeconfig),
    qps: UNLIMITED_QPS,
    burst: UNLIMITED_QPS,
  });
  const api = new Pool(stack.info.apiUrl, { connections: CONNECTIONS });
  const sql = postgres(stack.info.databaseUrl, { max: 1, onnotice: () => undefined });
  const headers = {
    authorization: `Bearer ${stack.info.tokens.alice}`,
    "content-type": "application/json",
  };
  const readCpuSeconds = () => [...readStackCpuSeconds(stack).values()].reduce((sum, one) => sum + one, 0);
  const side = { client: createClient(transport), api, headers, sql, readCpuSeconds };
  try {
    await stack.part("operator").kill("SIGTERM");
    const orgId = await createOrganization(stack, "Fleet");
    const writes = await timePoolWrites(side, await createOrganization(stack, "Writes"));
    await stack.part("apiserver").stop();
    const loadingSince = performance.now();
    const fleet = await createFleet(side.client, orgId, count);
    const loadedSeconds = secondsSince(loadingSince);
    const firstSeconds = await timeBuild(stack, sql, orgId, count);
    await stack.part("apiserver").stop();
    const rebuildSeconds = await timeBuild(stack, sql, orgId, count);
    const clusters = count.toLocaleString("en");
    report("clusters, followed", [
      ...writes,
      { name: `${clusters} Cluster objects created`, value: loadedSeconds, unit: "s" },
      { name: `projection of ${clusters} clusters, the first`, value: firstSeconds, unit: "s" },
      { name: `projection of ${clusters} clusters, rebuilt`, value: rebuildSeconds, unit: "s", limit: 30 },
      ...(await timeChanges(side, fleet)),
    ]);
  } finally {
    await sql.end();
    await api.destroy();
    await transport.close();
    await stack.stop();
  }
}

/** From the start of the API server with an empty projection until every row is there. */
async function timeBuild(stack: Stack, sql: postgres.Sql, orgId: string, count: number): Promise<number> {
  await sql`TRUNCATE projected_clusters, projected_node_pools`;
  const startedAt = performance.now();
  await stack.part("apiserver").start();
  const isComplete = async () => {
    const [row] = await sql`SELECT count(*)::int AS rows FROM projected_clusters WHERE org_id = ${orgId}`;
    return row?.rows === count;
  };
  await until("the projection to be complete", isComplete, { everyMs: 50 });
  return secondsSince(startedAt);
}

/** From sending the patch until a GET returns the change; includes the Kubernetes write itself. */
async function timeChanges({ client, api, headers }: PoolWriting, fleet: Fleet): Promise<Figure[]> {
  const times: number[] = [];
  for (let n = 0; n < CHANGES; n++) {
    const { id, name } = fleet.clusters[n % fleet.clusters.length] ?? { id: "", name: "" };
    const path = `/api/v1/organizations/${fleet.orgId}/clusters/${id}`;
    const displayName = `change-${n}`;
    const startedAt = performance.now();
    const patch = { spec: { displayName } };
    await client.mergePatch(clusterKind, fleet.namespace, name, patch, { fieldManager: FIELD_MANAGER });
    for (;;) {
      const { body } = await api.request({ method: "GET", path, headers });
      if (((await body.json()) as { name?: string }).name === displayName) break;
      if (performance.now() - startedAt > GIVE_UP_MS) throw new Error(`${path} never returns ${displayName}`);
      await sleep(POLL_MS);
    }
    times.push(performance.now() - startedAt);
  }
  return [
    { name: "a change by kubectl until visible by REST: median", value: percentile(times, 0.5), unit: "ms" },
    {
      name: "a change by kubectl until visible by REST: p99",
      value: percentile(times, 0.99),
      unit: "ms",
      limit: 300,
    },
  ];
}
