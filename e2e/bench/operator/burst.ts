import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { type Cluster, clusterKind } from "../../../shared/crd/cluster.ts";
import { LABEL_ORG_ID } from "../../../shared/crd/names.ts";
import { createClient, type KubeClient } from "../../../shared/kube/client.ts";
import { loadConnection } from "../../../shared/kube/connection.ts";
import { namespaceKind } from "../../../shared/kube/core-kinds.ts";
import { createTransport } from "../../../shared/kube/transport.ts";
import { readMemoryMB } from "../../platform/programs/proc.ts";
import { choosePorts } from "../../platform/stack/ports.ts";
import { startStack } from "../../platform/stack/stack.ts";
import { percentile, secondsSince, until } from "../measure.ts";
import { report } from "../report.ts";
import { BENCH_DIR } from "./bench-dir.ts";
import { followClusters } from "./follow.ts";
import { createMemoryGroup, createOperator, readOperatorEnvironment } from "./operator-process.ts";

const LOUD = 91;
const QUIET = 9;
const LIMIT_MB = 256;
const READY_TIMEOUT_MS = 480_000;
const BY = { fieldManager: "engineer" };

/**
 * A hundred clusters created at once, ninety-one of them by one organization: the operator with its default settings in
 * a control group of 256 MB. The queue is fair: a small tenant does not wait behind a large one.
 */
export async function benchBurst(): Promise<void> {
  const dir = join(BENCH_DIR, "burst");
  const stack = await startStack({ provider: "in-memory", dir, fresh: true, onCrash: "report" });
  const group = createMemoryGroup(LIMIT_MB);
  const transport = createTransport({
    connection: loadConnection(stack.info.kubeconfig),
    qps: 1000,
    burst: 1000,
  });
  const client = createClient(transport);
  await stack.part("operator").kill("SIGTERM");
  const { burst: port = 0 } = await choosePorts(dir, ["burst"]);
  const env = readOperatorEnvironment(dir);
  const operator = createOperator({ dir, name: "operator-in-a-group", port, env, group });
  try {
    await operator.part.start();
    const { pid } = operator.part;
    const namespaces = await createOrganizations(client);
    const served = await followServed(client);
    const startedAt = performance.now();
    const requests = [...Array(LOUD).fill(namespaces[0]), ...namespaces.slice(1)];
    await Promise.all(
      requests.map((namespace, index) =>
        client.create(
          clusterKind,
          { metadata: { name: `c${index}`, namespace }, spec: { version: "1.34" } },
          BY,
        ),
      ),
    );
    const accepted = secondsSince(startedAt);
    await until("all to be served", () => served.order.length >= requests.length);
    served.stop();
    const ranks = served.order.flatMap(({ namespace }, rank) =>
      namespace === namespaces[0] ? [] : [rank + 1],
    );
    const times = (loud: boolean) =>
      served.order
        .filter(({ namespace }) => (namespace === namespaces[0]) === loud)
        .map(({ at }) => (at - startedAt) / 1000);
    await until(
      "all to be ready",
      async () => countReady(await client.listAll(clusterKind)) >= requests.length,
      {
        timeoutMs: READY_TIMEOUT_MS,
        everyMs: 2000,
      },
    );
    report("operator burst", [
      { name: "100 creates: all accepted", value: accepted, unit: "s" },
      { name: "the last of the nine is served at position", value: Math.max(...ranks), unit: "", limit: 40 },
      {
        name: "the nine: until the Cluster API request, slowest",
        value: Math.max(...times(false)),
        unit: "s",
      },
      { name: "the ninety-one: median", value: percentile(times(true), 0.5), unit: "s" },
      { name: "the ninety-one: slowest", value: Math.max(...times(true)), unit: "s" },
      { name: "all ready", value: secondsSince(startedAt), unit: "s" },
      { name: "resident memory, peak", value: readMemoryMB(pid).peak, unit: "MB", limit: LIMIT_MB },
      { name: "restarts", value: operator.part.pid === pid ? 0 : 1, unit: "", limit: 0 },
      {
        name: "the limit is enforced by the kernel (1) or only read (0)",
        value: group === undefined ? 0 : 1,
        unit: "",
      },
    ]);
  } finally {
    await operator.part.kill("SIGTERM");
    await transport.close();
    await stack.stop();
    group?.remove();
  }
}

async function createOrganizations(client: KubeClient): Promise<string[]> {
  const ids = Array.from({ length: QUIET + 1 }, () => randomUUID());
  for (const id of ids) {
    await client.create(
      namespaceKind,
      { metadata: { name: `org-${id}`, labels: { [LABEL_ORG_ID]: id } } },
      BY,
    );
  }
  return ids.map((id) => `org-${id}`);
}

/** The order in which clusters get their subnet, the last step before the Cluster API request. */
async function followServed(client: KubeClient) {
  const order: { namespace: string; at: number }[] = [];
  const known = new Set<string>();
  const following = await followClusters(client, ({ metadata, status }) => {
    const key = `${metadata.namespace}/${metadata.name}`;
    if (status?.workerSubnet === undefined || known.has(key)) return;
    known.add(key);
    order.push({ namespace: metadata.namespace ?? "", at: performance.now() });
  });
  return { order, stop: () => following.stop() };
}

function countReady(clusters: readonly Cluster[]): number {
  return clusters.filter(({ status }) => status?.phase === "Ready").length;
}
