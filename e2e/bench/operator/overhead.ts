import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { clusterKind } from "../../../shared/crd/cluster.ts";
import { LABEL_ORG_ID } from "../../../shared/crd/names.ts";
import { nodePoolKind } from "../../../shared/crd/node-pool.ts";
import { createClient, type KubeClient } from "../../../shared/kube/client.ts";
import { loadConnection } from "../../../shared/kube/connection.ts";
import { namespaceKind } from "../../../shared/kube/core-kinds.ts";
import { defineKind, type Kind, type KubeObject } from "../../../shared/kube/kind.ts";
import { createTransport } from "../../../shared/kube/transport.ts";
import { PLATFORM_NAMESPACE } from "../../platform/stack/marina.ts";
import { type Stack, startStack } from "../../platform/stack/stack.ts";
import { median, secondsSince, until } from "../measure.ts";
import { readStackCpuSeconds } from "../proc.ts";
import { report } from "../report.ts";
import { BENCH_DIR } from "./bench-dir.ts";

const CLUSTERS = 50;
/** In alternating order: later runs have a larger store and older caches. */
const TURNS = ["alone", "ours", "ours", "alone"] as const;
/** Whose shares of the processor are reported: Marina's own, and those that it gives work to. */
const PROGRAMS = ["kube-apiserver", "operator", "apiserver", "postgres"] as const;
const VERSION = "1.34.2";
const BY = { fieldManager: "engineer" };
const WAIT = { timeoutMs: 600_000, everyMs: 1000 };

interface CapiCluster extends KubeObject {
  spec?: object;
  status?: { conditions?: { type: string; status: string }[]; workers?: { readyReplicas?: number } };
}

const capiClusterKind = defineKind<CapiCluster>({
  group: "cluster.x-k8s.io",
  version: "v1beta2",
  kind: "Cluster",
  plural: "clusters",
  namespaced: true,
});

interface Run {
  seconds: number;
  /** CPU seconds of each program of the stack. */
  cpu: ReadonlyMap<string, number>;
}

/**
 * Clusters of two machines, Cluster API alone alternating with Marina in one run: what Marina adds to the time until all
 * are ready and to the processor time, and which programs spend that.
 */
export async function benchOverhead(clusters = CLUSTERS): Promise<void> {
  const stack = await startStack({
    provider: "in-memory",
    dir: join(BENCH_DIR, "overhead"),
    fresh: true,
    onCrash: "stop",
  });
  const connection = loadConnection(stack.info.kubeconfig);
  const transport = createTransport({ connection, qps: 1000, burst: 1000 });
  const client = createClient(transport);
  try {
    // The first turn on a new stack took 27 % less of kube-apiserver than the same turn later: it is not counted.
    await runOurs(stack, client, clusters);
    const runs: Record<(typeof TURNS)[number], Run[]> = { alone: [], ours: [] };
    for (const turn of TURNS) {
      await removeAll(client);
      runs[turn].push(await (turn === "alone" ? runAlone : runOurs)(stack, client, clusters));
    }
    const { alone, ours } = runs;
    const seconds = (of: Run[]) => median(of.map((one) => one.seconds));
    const cpu = (of: Run[]) => median(of.map(sumCpu));
    const share = (of: Run[], name: string) =>
      median(of.map((one) => ((one.cpu.get(name) ?? 0) / sumCpu(one)) * 100));
    for (const name of ours[0]?.cpu.keys() ?? []) {
      const of = (list: Run[]) => list.map((one) => one.cpu.get(name)?.toFixed(1)).join(", ");
      console.log(`  processor of ${name}: alone ${of(alone)} s, with Marina ${of(ours)} s`);
    }
    report("operator overhead", [
      { name: `Cluster API alone: ${clusters} clusters ready`, value: seconds(alone), unit: "s" },
      { name: `with Marina: ${clusters} clusters ready`, value: seconds(ours), unit: "s" },
      { name: "Marina adds", value: (seconds(ours) / seconds(alone) - 1) * 100, unit: "%", limit: 12 },
      {
        name: "processor of all, Cluster API alone",
        value: cpu(alone),
        unit: "s",
      },
      { name: "processor of all, with Marina", value: cpu(ours), unit: "s" },
      { name: "Marina adds", value: (cpu(ours) / cpu(alone) - 1) * 100, unit: "% processor", limit: 15 },
      ...PROGRAMS.flatMap((name) => [
        { name: `share of ${name}, Cluster API alone`, value: share(alone, name), unit: "%" },
        { name: `share of ${name}, with Marina`, value: share(ours, name), unit: "%" },
      ]),
    ]);
  } finally {
    await transport.close();
    await stack.stop();
  }
}

/** The namespace of a new organization. */
export async function createOrganization(client: KubeClient): Promise<string> {
  const organization = randomUUID();
  const namespace = `org-${organization}`;
  const labels = { [LABEL_ORG_ID]: organization };
  await client.create(namespaceKind, { metadata: { name: namespace, labels } }, BY);
  return namespace;
}

async function runAlone(stack: Stack, client: KubeClient, clusters: number): Promise<Run> {
  await stack.part("operator").kill("SIGTERM");
  return run(stack, client, (namespace, name) => createAlone(client, namespace, name), clusters);
}

async function runOurs(stack: Stack, client: KubeClient, clusters: number): Promise<Run> {
  if (stack.part("operator").pid === 0) await stack.part("operator").start();
  return run(stack, client, (namespace, name) => createOurs(client, namespace, name), clusters);
}

async function run(
  stack: Stack,
  client: KubeClient,
  create: (namespace: string, name: string) => Promise<void>,
  clusters: number,
): Promise<Run> {
  const namespace = await createOrganization(client);
  const before = readStackCpuSeconds(stack);
  const startedAt = performance.now();
  const names = Array.from({ length: clusters }, (_, index) => `c${index}`);
  await Promise.all(names.map((name) => create(namespace, name)));
  await until("all clusters to be ready", () => isAllReady(stack, client, namespace, clusters), WAIT);
  const seconds = secondsSince(startedAt);
  const after = readStackCpuSeconds(stack);
  return {
    seconds,
    cpu: new Map([...after].map(([name, spent]) => [name, spent - (before.get(name) ?? 0)])),
  };
}

/** Measured by Cluster API's status for both; with Marina also by Marina's own status. */
async function isAllReady(stack: Stack, client: KubeClient, namespace: string, clusters: number) {
  const capiClusters = await client.listAll(capiClusterKind, { namespace });
  const available = capiClusters.filter(
    ({ status }) =>
      status?.workers?.readyReplicas === 1 &&
      status.conditions?.some((one) => one.type === "Available" && one.status === "True") === true,
  );
  if (available.length < clusters || stack.part("operator").pid === 0) return available.length >= clusters;
  const ours = await client.listAll(clusterKind, { namespace });
  return (
    ours.filter(({ status }) => status?.phase === "Ready" && status.nodes?.ready === 1).length >= clusters
  );
}

/** Objects of the previous run: Marina's and Cluster API's. */
async function removeAll(client: KubeClient): Promise<void> {
  await deleteAll(client, clusterKind);
  await deleteAll(client, capiClusterKind);
  const isGone = async () =>
    (await client.listAll(clusterKind)).length + (await client.listAll(capiClusterKind)).length === 0;
  await until("all clusters to be deleted", isGone, WAIT);
}

async function deleteAll<T extends KubeObject>(client: KubeClient, kind: Kind<T>): Promise<void> {
  for (const { metadata } of await client.listAll(kind))
    await client.delete(kind, metadata.namespace, metadata.name);
}

/** A Cluster and its pool of one node, in a namespace of an organization. */
export async function createOurs(client: KubeClient, namespace: string, name: string): Promise<void> {
  await client.create(clusterKind, { metadata: { name, namespace }, spec: { version: VERSION } }, BY);
  const size = { vcpus: 2, memoryGB: 4, diskGB: 20, minNodes: 0, maxNodes: 10, desiredNodes: 1 };
  const pool = { metadata: { name: `${name}-workers`, namespace }, spec: { clusterName: name, ...size } };
  await client.create(nodePoolKind, pool, BY);
}

async function createAlone(client: KubeClient, namespace: string, name: string): Promise<void> {
  const topology = {
    classRef: { name: "marina-in-memory-v1", namespace: PLATFORM_NAMESPACE },
    version: `v${VERSION}`,
    controlPlane: { replicas: 1 },
    workers: { machineDeployments: [{ class: "default", name: `${name}-workers`, replicas: 1 }] },
  };
  await client.create(capiClusterKind, { metadata: { name, namespace }, spec: { topology } }, BY);
}

function sumCpu({ cpu }: Run): number {
  return [...cpu.values()].reduce((sum, seconds) => sum + seconds, 0);
}
