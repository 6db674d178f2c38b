import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Sql } from "postgres";
import type { Pool } from "undici";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { ANNOTATION_REQUEST_ID, LABEL_ID, MANAGER_APISERVER } from "../../shared/crd/names.ts";
import { type NodePool, nodePoolKind } from "../../shared/crd/node-pool.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import { median, until } from "./measure.ts";
import type { Figure } from "./report.ts";

/** The first ones warm up the compiler and the caches. */
const WARM_UP = 200;
const WRITES = 200;
/** The API server's client may send 100 requests a second, and a PUT reads before it writes. */
const PAUSE_MS = 20;
/** For the CPU: this many writes of one way, then of the other, alternating. */
const BLOCK = 200;
const BLOCKS = 5;
/** Time for the effects of a write, above all the projection. */
const CALM_MS = 500;
const REST_MS = 5000;
const BY = { fieldManager: MANAGER_APISERVER };
const POOL_SPEC = { vcpus: 2, memoryGB: 4, diskGB: 20, minNodes: 0, maxNodes: 10, desiredNodes: 1 };

/** Both ways to a custom resource: alice's by REST, and straight to the Kubernetes API. */
export interface PoolWriting {
  client: KubeClient;
  api: Pool;
  headers: Record<string, string>;
  sql: Sql;
  /** CPU time in seconds of the whole platform: Kubernetes API, etcd, Postgres, API server. */
  readCpuSeconds: () => number;
}

/**
 * PUT of a pool's desired_nodes, forth and back, alternating with the bare merge patch of another pool on its latest
 * version: CPU of the platform, and time at the client. Also the time of the patch followed by one committed row, the
 * minimum of an audited write.
 */
export async function timePoolWrites(side: PoolWriting, orgId: string): Promise<Figure[]> {
  const { client, api, headers, sql } = side;
  await sql`create table bench_writes (id uuid primary key, desired_nodes int not null)`;
  const { path, bare } = await createPools(side, orgId);
  const times: Record<"api" | "patch" | "committed" | "read", number[]> = {
    api: [],
    patch: [],
    committed: [],
    read: [],
  };
  let { resourceVersion } = bare.metadata;

  const ways: Record<keyof typeof times, (desired: number) => Promise<void>> = {
    async read() {
      await client.get(nodePoolKind, bare.metadata.namespace, bare.metadata.name);
    },
    async patch(desiredNodes) {
      const { namespace, name } = bare.metadata;
      const annotations = { [ANNOTATION_REQUEST_ID]: randomUUID() };
      const patch = { metadata: { resourceVersion, annotations }, spec: { desiredNodes } };
      const written = await client.mergePatch(nodePoolKind, namespace, name, patch, BY);
      resourceVersion = written.metadata.resourceVersion;
    },
    async committed(desired) {
      await ways.patch(desired);
      await sql`insert into bench_writes values (${randomUUID()}, ${desired})`;
    },
    async api(desired) {
      const body = JSON.stringify({ desired_nodes: desired });
      const response = await api.request({ method: "PUT", path, headers, body });
      const text = await response.body.text();
      if (response.statusCode !== 200) throw new Error(`PUT ${path}: status ${response.statusCode}: ${text}`);
    },
  };

  for (let n = 0; n < WARM_UP + WRITES; n++) {
    for (const way of ["read", "patch", "committed", "api"] as const) {
      const startedAt = performance.now();
      await ways[way]((way === "committed" ? 4 : 2) + (n % 2));
      if (n >= WARM_UP) times[way].push(performance.now() - startedAt);
    }
    await sleep(PAUSE_MS);
  }
  const [ofApi, ofPatch, ofCommitted] = [median(times.api), median(times.patch), median(times.committed)];
  return [
    ...(await measureCpu(side, ways.patch, ways.api)),
    { name: "PUT a node pool: Kubernetes read, median", value: median(times.read), unit: "ms" },
    { name: "PUT a node pool: Kubernetes patch, median", value: ofPatch, unit: "ms" },
    {
      name: "PUT a node pool: Kubernetes patch and one committed row, median",
      value: ofCommitted,
      unit: "ms",
    },
    { name: "PUT a node pool: API, median", value: ofApi, unit: "ms" },
    { name: "PUT a node pool: patch and committed row to patch", value: ofCommitted / ofPatch, unit: "x" },
    { name: "PUT a node pool: API to Kubernetes patch", value: ofApi / ofPatch, unit: "x", limit: 3.5 },
  ];
}

type Way = (desired: number) => Promise<void>;

/** CPU of the platform for one write of either way, less its idle CPU in the same time. */
async function measureCpu({ readCpuSeconds }: PoolWriting, patch: Way, api: Way): Promise<Figure[]> {
  const measure = async (what: () => Promise<void>) => {
    const [startedAt, before] = [performance.now(), readCpuSeconds()];
    await what();
    await sleep(CALM_MS);
    return { cpuMs: (readCpuSeconds() - before) * 1000, ms: performance.now() - startedAt };
  };
  const rest = await measure(() => sleep(REST_MS));
  const costOf = async (way: Way) => {
    const block = await measure(async () => {
      for (let n = 0; n < BLOCK; n++) {
        await way(2 + (n % 2));
        await sleep(PAUSE_MS);
      }
    });
    return (block.cpuMs - (rest.cpuMs / rest.ms) * block.ms) / BLOCK;
  };
  const costs: Record<"patch" | "api", number[]> = { patch: [], api: [] };
  for (let run = 0; run < BLOCKS; run++) {
    costs.patch.push(await costOf(patch));
    costs.api.push(await costOf(api));
  }
  const [ofPatch, ofApi] = [median(costs.patch), median(costs.api)];
  return [
    { name: "the platform at rest: CPU of one core", value: (rest.cpuMs / rest.ms) * 100, unit: "%" },
    { name: "PUT a node pool: Kubernetes patch, CPU of the platform", value: ofPatch, unit: "ms" },
    { name: "PUT a node pool: API, CPU of the platform", value: ofApi, unit: "ms" },
    { name: "PUT a node pool: API to Kubernetes patch, CPU", value: ofApi / ofPatch, unit: "x", limit: 3.5 },
  ];
}

/** Two pools of one cluster: one for PUT, one for the bare patches, so that they do not conflict. */
async function createPools({ client, api, headers }: PoolWriting, orgId: string) {
  const namespace = `org-${orgId}`;
  const [clusterId, poolId] = [randomUUID(), randomUUID()];
  const place = (name: string, id: string) => ({ name, namespace, labels: { [LABEL_ID]: id } });
  await client.create(
    clusterKind,
    { metadata: place("cluster", clusterId), spec: { version: "1.34.2" } },
    BY,
  );
  const createPool = (name: string, id: string): Promise<NodePool> =>
    client.create(
      nodePoolKind,
      { metadata: place(name, id), spec: { clusterName: "cluster", ...POOL_SPEC } },
      BY,
    );
  await createPool("put", poolId);
  const bare = await createPool("bare", randomUUID());
  const path = `/api/v1/organizations/${orgId}/clusters/${clusterId}/nodepools/${poolId}`;
  await until("the pool to be served", async () => {
    const { statusCode, body } = await api.request({ method: "GET", path, headers });
    await body.dump();
    return statusCode === 200;
  });
  return { path, bare };
}
