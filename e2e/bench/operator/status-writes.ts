import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { type Cluster, clusterKind } from "../../../shared/crd/cluster.ts";
import { MANAGER_OPERATOR_STATUS } from "../../../shared/crd/names.ts";
import { type NodePool, nodePoolKind } from "../../../shared/crd/node-pool.ts";
import { createClient, type KubeClient } from "../../../shared/kube/client.ts";
import { loadConnection } from "../../../shared/kube/connection.ts";
import type { Kind } from "../../../shared/kube/kind.ts";
import { createTransport, type Transport } from "../../../shared/kube/transport.ts";
import { type Stack, startStack } from "../../platform/stack/stack.ts";
import { median, percentile, until } from "../measure.ts";
import { report } from "../report.ts";
import { BENCH_DIR } from "./bench-dir.ts";
import { createOrganization, createOurs } from "./overhead.ts";

const NAME = "one";

/** Counts that rested for 20 s are written at the latest after twice that time. */
const REST_MS = 45_000;
/** Applies of one run, so that what kube-apiserver does by itself meanwhile is a small part of it. */
const APPLIES = 20;
const RUNS = 20;
/** What runs on while allocations are measured. */
const STORE = ["etcd", "kube-apiserver"];

/**
 * How often the operator writes the statuses of a cluster and its pool of one node in their creation, and what one of these writes
 * costs kube-apiserver.
 */
export async function benchStatusWrites(): Promise<void> {
  const stack = await startStack({
    provider: "in-memory",
    dir: join(BENCH_DIR, "status-writes"),
    fresh: true,
    onCrash: "stop",
  });
  const { kubeconfig, programKubeconfigs } = stack.info;
  const transport = createTransport({ connection: loadConnection(kubeconfig) });
  const asOperator = createTransport({ connection: loadConnection(programKubeconfigs.operator) });
  const client = createClient(transport);
  try {
    const namespace = await createOrganization(client);
    const writes = await countStatusWrites(client, namespace, () => createOurs(client, namespace, NAME));
    report("operator status-writes", [
      { name: "writes of the status of a cluster", value: writes.cluster, unit: "", limit: 6 },
      { name: "writes of the status of its pool", value: writes.pool, unit: "", limit: 6 },
    ]);
    await endOthers(stack);
    const cluster = await client.get(clusterKind, namespace, NAME);
    const kilobytes = await measureAllocations(createClient(asOperator), transport, cluster);
    report("operator status-apply", [
      { name: "allocations of one apply", value: median(kilobytes), unit: "KB", limit: 1800 },
      { name: "a quarter of the runs has at most", value: percentile(kilobytes, 0.25), unit: "KB" },
      { name: "three quarters of them have at most", value: percentile(kilobytes, 0.75), unit: "KB" },
    ]);
  } finally {
    await transport.close();
    await asOperator.close();
    await stack.stop();
  }
}

/** How often the status of one object was written, and when its last write came (performance.now). */
interface StatusWrites {
  count: number;
  lastAt: number;
}

/** Counts the writes of statuses of a kind in a namespace, by a watch that starts now; by the name of the object. */
async function watchStatusWrites<T extends Cluster | NodePool>(
  client: KubeClient,
  kind: Kind<T>,
  namespace: string,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, StatusWrites>> {
  const writes = new Map<string, StatusWrites>();
  const last = new Map<string, object | undefined>();
  const { resourceVersion } = await client.list(kind, { namespace });
  const follow = async () => {
    const options = { namespace, resourceVersion, timeoutSeconds: 3600, signal };
    for await (const event of client.watch(kind, options)) {
      if (event.type !== "ADDED" && event.type !== "MODIFIED") continue;
      const { metadata, status } = event.object;
      const { name } = metadata;
      if (!isDeepStrictEqual(last.get(name), status))
        writes.set(name, { count: (writes.get(name)?.count ?? 0) + 1, lastAt: performance.now() });
      last.set(name, status);
    }
  };
  follow().catch((error: Error) => {
    if (!signal.aborted) console.error(`the watch of the benchmark ended: ${error.message}`);
  });
  return writes;
}

/**
 * The writes of the statuses of one cluster and its pool, from their creation until nothing was written for 45 s. `create` makes
 * both in the namespace, which holds nothing else.
 */
async function countStatusWrites(
  client: KubeClient,
  namespace: string,
  create: () => Promise<void>,
): Promise<{ cluster: number; pool: number }> {
  const stopping = new AbortController();
  try {
    const clusters = await watchStatusWrites(client, clusterKind, namespace, stopping.signal);
    const pools = await watchStatusWrites(client, nodePoolKind, namespace, stopping.signal);
    await create();
    await until("the cluster with its node to rest", async () => {
      const [cluster] = (await client.list(clusterKind, { namespace })).items;
      const all = [...clusters.values(), ...pools.values()];
      const isResting = all.every(({ lastAt }) => performance.now() - lastAt > REST_MS);
      return isResting && cluster?.status?.phase === "Ready" && cluster.status.nodes?.ready === 1;
    });
    const count = (of: ReadonlyMap<string, StatusWrites>) =>
      [...of.values()].reduce((sum, one) => sum + one.count, 0);
    return { cluster: count(clusters), pool: count(pools) };
  } finally {
    stopping.abort();
  }
}

/** Every program of the stack but kube-apiserver and its store: what they ask for would be counted too. */
async function endOthers(stack: Stack): Promise<void> {
  const running = Object.entries(stack.info.processes).filter(([, { pid }]) => pid > 0);
  const others = running.filter(([program]) => !STORE.includes(program));
  await Promise.all(others.map(([program]) => stack.part(program).kill("SIGKILL")));
}

/** What kube-apiserver allocates for one apply of the cluster's status by the operator's client, in KB, for each run. */
async function measureAllocations(
  client: KubeClient,
  transport: Transport,
  cluster: Cluster | undefined,
): Promise<number[]> {
  let live = cluster;
  const kilobytes: number[] = [];
  for (let run = 0; run < RUNS; run++) {
    const idle = await readAllocatedBytes(transport);
    const before = await readAllocatedBytes(transport);
    for (let apply = 0; apply < APPLIES; apply++)
      live = await applyStatus(client, live, new Date(Date.UTC(2026, 0, 1, run, 0, apply)));
    const spent = (await readAllocatedBytes(transport)) - before - (before - idle);
    kilobytes.push(spent / APPLIES / 1024);
  }
  return kilobytes;
}

/** As the operator does: the whole status, by its field manager, with another time of one condition. */
async function applyStatus(client: KubeClient, live: Cluster | undefined, at: Date): Promise<Cluster> {
  if (live?.status === undefined) throw new Error("the cluster has no status");
  const { apiVersion, kind, metadata, status } = live;
  const { namespace, name, uid, resourceVersion } = metadata;
  const lastTransitionTime = at.toISOString().replace(".000", "");
  const [first, ...rest] = status.conditions ?? [];
  const conditions = first === undefined ? [] : [{ ...first, lastTransitionTime }, ...rest];
  const object = {
    apiVersion,
    kind,
    metadata: { name, namespace, uid, resourceVersion },
    status: { ...status, conditions },
  };
  const options = { fieldManager: MANAGER_OPERATOR_STATUS, force: true, subresource: "status" } as const;
  return client.apply(clusterKind, object, options);
}

/** All that kube-apiserver has allocated since its start. */
async function readAllocatedBytes(transport: Transport): Promise<number> {
  const { body } = await transport.request({ method: "GET", path: "/metrics", accept: "text/plain" });
  const found = /^go_memstats_alloc_bytes_total (\S+)$/m.exec(String(body));
  if (found === null) throw new Error("kube-apiserver does not tell what it has allocated");
  return Number(found[1]);
}
