import { execFile } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { ensureCertificates } from "../platform/stack/certificates.ts";
import { collectionPathOf, createKubeApi, type KubeApi, type Manifest } from "../platform/stack/kube-api.ts";
import {
  MANAGEMENT_PORTS,
  managementClusterNodes,
  managementServerOf,
  writeKubeconfig,
} from "../platform/stack/management-cluster.ts";
import { choosePorts } from "../platform/stack/ports.ts";
import { createSupervisor, endLeftovers } from "../platform/stack/supervisor.ts";
import { ensureTools } from "../platform/stack/tools.ts";
import { percentile } from "./measure.ts";
import { type Figure, report } from "./report.ts";

const ENTRY = join(import.meta.dirname, "..", "..", "apiserver", "clusters", "tenant-reads.bench.ts");
const DIR = join(import.meta.dirname, "..", "..", ".marina", "bench-tenant-reads");
const AT_ONCE = 16;

const MEBIBYTE = 1024 * 1024;
const LIMIT_SECONDS = 2;
const LIMIT_CALL_MB = 4;
const LIMIT_ALL_MB = 64;

const TARGET = "1.35.1";
const NODES = 100;
/** As many checks of a kind as are listed. */
const NAMESPACES = 100;
const PODS_PER_NAMESPACE = 50;
/** Beside the one that allows no eviction. */
const IDLE_BUDGETS_PER_NAMESPACE = 5;
const VOLUMES = 2_500;
const SERVICES = 2_500;
const LOAD_BALANCERS = 100;
/** With the addresses and the field managers of a pod that runs, more than 16 KiB. */
const VARIABLES = 100;

interface Measured {
  seconds: number[];
  calls: number;
  largestCallBytes: number;
  allBytes: number;
  found?: number;
  unknown?: string;
}

/**
 * What dry runs read in a cluster of a tenant, by the reader of requests against a kube-apiserver of its own: leftovers of
 * 5,000 Services and volumes, and the checks of an upgrade of 5,000 pods of more than 16 KiB, which budgets hold.
 */
export async function benchTenantReads(): Promise<void> {
  await endLeftovers(DIR);
  rmSync(DIR, { recursive: true, force: true });
  mkdirSync(DIR, { recursive: true });
  const ports = await choosePorts(DIR, MANAGEMENT_PORTS);
  const tools = await ensureTools(["etcd", "kube-apiserver"], new AbortController().signal);
  const certificates = await ensureCertificates(DIR);
  const kubeconfig = join(DIR, "kubeconfig");
  const server = managementServerOf(ports);
  writeKubeconfig(kubeconfig, server, certificates);
  const { ca, adminCert: cert, adminKey: key } = certificates;
  const kube = createKubeApi({ server, tls: { ca, cert, key } });
  const nodes = managementClusterNodes({ dir: DIR, ports, tools, certificates, kubeconfig, kube });
  const supervisor = createSupervisor({ dir: DIR, onCrash: (_, message) => console.error(message) });
  try {
    await supervisor.start(nodes.filter(({ name }) => name !== "kube-controller-manager"));
    const podBytes = await fill(kube);
    const { stdout } = await promisify(execFile)(process.execPath, [ENTRY, kubeconfig, server, TARGET]);
    const { leftovers, checks }: Record<"leftovers" | "checks", Measured> = JSON.parse(stdout);
    report("tenant-reads", [
      { name: "a pod as JSON", value: podBytes / 1024, unit: "KiB", atLeast: 16 },
      ...toFigures("leftovers", leftovers, LOAD_BALANCERS + VOLUMES / 10),
      ...toFigures("checks of an upgrade", checks, NAMESPACES),
    ]);
  } finally {
    await supervisor.stop();
    kube.close();
  }
}

function toFigures(name: string, measured: Measured, expected: number): Figure[] {
  const { seconds, calls, largestCallBytes, allBytes, found, unknown } = measured;
  if (found !== expected || unknown !== undefined)
    throw new Error(`${name}: ${found} instead of ${expected} were found: ${unknown}`);
  return [
    { name: `${name}: 50th percentile`, value: percentile(seconds, 0.5), unit: "s" },
    { name: `${name}: 99th percentile`, value: percentile(seconds, 0.99), unit: "s", limit: LIMIT_SECONDS },
    { name: `${name}: calls`, value: calls, unit: "" },
    { name: `${name}: largest call`, value: largestCallBytes / MEBIBYTE, unit: "MiB", limit: LIMIT_CALL_MB },
    { name: `${name}: all calls`, value: allBytes / MEBIBYTE, unit: "MiB", limit: LIMIT_ALL_MB },
  ];
}

/** Creates everything; returns the size of a pod. */
async function fill(kube: KubeApi): Promise<number> {
  const namespaces = range(NAMESPACES).map((index) => `n${index}`);
  await createAll(kube, [
    ...namespaces.map((name) => core("Namespace", name)),
    ...range(NODES).map((index) => core("Node", `node-${index}`)),
    ...range(VOLUMES).map(toVolume),
  ]);
  await setStatus(
    kube,
    range(NODES).map((index) => core("Node", `node-${index}`)),
    NODE_STATUS,
  );
  await createAll(
    kube,
    namespaces.map((namespace) => core("ServiceAccount", "default", { namespace })),
  );
  const services = range(SERVICES).map((index) => toService(index, namespaces[index % NAMESPACES] ?? ""));
  const pods = namespaces.flatMap((namespace) =>
    range(PODS_PER_NAMESPACE).map((index) => toPod(index, namespace)),
  );
  const budgets = namespaces.map((namespace) => toBudget("web", namespace));
  const idle = namespaces.flatMap((namespace) =>
    range(IDLE_BUDGETS_PER_NAMESPACE).map((index) => toBudget(`idle-${index}`, namespace)),
  );
  await createAll(kube, [...services, ...pods, ...budgets, ...idle]);
  await setStatus(kube, pods, POD_STATUS);
  await setStatus(kube, budgets, { ...BUDGET_STATUS, expectedPods: PODS_PER_NAMESPACE });
  await setStatus(kube, idle, BUDGET_STATUS);
  const { body } = await kube.request("GET", pathOf(pods[0] as Manifest));
  return JSON.stringify(body).length;
}

const range = (count: number) => Array.from({ length: count }, (_, index) => index);

function core(kind: string, name: string, metadata: object = {}): Manifest {
  return { apiVersion: "v1", kind, metadata: { name, ...metadata } };
}

const NODE_STATUS = {
  conditions: [{ type: "Ready", status: "True" }],
  // What a node has to say, of which only the version of its kubelet counts.
  nodeInfo: Object.fromEntries(
    [
      "architecture,bootID,containerRuntimeVersion,kernelVersion,kubeProxyVersion,kubeletVersion",
      "machineID,operatingSystem,osImage,systemUUID",
    ]
      .join()
      .split(",")
      .map((name) => [name, "v1.34.2"]),
  ),
};

const POD_STATUS = {
  phase: "Running",
  conditions: ["PodScheduled", "Initialized", "ContainersReady", "Ready"].map((type) => ({
    type,
    status: "True",
  })),
  containerStatuses: [
    {
      name: "web",
      ready: true,
      restartCount: 0,
      image: "web:1",
      imageID: "sha256:1",
      state: { running: {} },
    },
  ],
};

const BUDGET_STATUS = {
  observedGeneration: 1,
  disruptionsAllowed: 0,
  expectedPods: 0,
  currentHealthy: PODS_PER_NAMESPACE,
  desiredHealthy: PODS_PER_NAMESPACE,
};

function toVolume(index: number): Manifest {
  return {
    ...core("PersistentVolume", `volume-${index}`),
    spec: {
      persistentVolumeReclaimPolicy: index % 10 === 0 ? "Retain" : "Delete",
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteOnce"],
      hostPath: { path: "/data" },
    },
  };
}

function toService(index: number, namespace: string): Manifest {
  const type = index < LOAD_BALANCERS ? { type: "LoadBalancer" } : { clusterIP: "None" };
  return {
    ...core("Service", `service-${index}`, { namespace }),
    spec: { ...type, selector: { app: "web" }, ports: [{ port: 80 }] },
  };
}

function toPod(index: number, namespace: string): Manifest {
  const env = range(VARIABLES).map((number) => ({ name: `VARIABLE_${number}`, value: "x".repeat(60) }));
  return {
    ...core("Pod", `web-${index}`, { namespace, labels: { app: "web" } }),
    spec: { nodeName: `node-${index % NODES}`, containers: [{ name: "web", image: "web:1", env }] },
  };
}

function toBudget(name: string, namespace: string): Manifest {
  return {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name, namespace },
    spec: { maxUnavailable: 0, selector: { matchLabels: { app: name } } },
  };
}

async function createAll(kube: KubeApi, manifests: readonly Manifest[]): Promise<void> {
  await eachOf(manifests, async (manifest) => {
    requireDone(manifest, await kube.request("POST", collectionPathOf(manifest), manifest));
  });
}

async function setStatus(kube: KubeApi, manifests: readonly Manifest[], status: object): Promise<void> {
  const patch = "application/merge-patch+json";
  await eachOf(manifests, async (manifest) => {
    requireDone(manifest, await kube.request("PATCH", `${pathOf(manifest)}/status`, { status }, patch));
  });
}

function requireDone({ kind, metadata }: Manifest, { status, body }: { status: number; body: object }): void {
  if (status >= 300) throw new Error(`${kind} ${metadata.name}: ${status} ${JSON.stringify(body)}`);
}

function pathOf(manifest: Manifest): string {
  return `${collectionPathOf(manifest)}/${manifest.metadata.name}`;
}

async function eachOf<T>(all: readonly T[], run: (one: T) => Promise<void>): Promise<void> {
  const rest = all.values();
  const worker = async () => {
    for (const one of rest) await run(one);
  };
  await Promise.all(range(AT_ONCE).map(worker));
}
