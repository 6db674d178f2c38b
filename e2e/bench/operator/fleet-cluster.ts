import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Certificates, ensureCertificates } from "../../platform/stack/certificates.ts";
import { crdsStep } from "../../platform/stack/cluster-api.ts";
import { type CapiManifests, readCapiManifests } from "../../platform/stack/cluster-api-manifests.ts";
import { describeOperatorEnvironment } from "../../platform/stack/environment.ts";
import { createKubeApi, type KubeApi, type Manifest } from "../../platform/stack/kube-api.ts";
import {
  AUDIT_LOG,
  MANAGEMENT_PORTS,
  managementClusterNodes,
  managementServerOf,
  writeKubeconfig,
} from "../../platform/stack/management-cluster.ts";
import { PLATFORM_NAMESPACE, platformSteps } from "../../platform/stack/marina.ts";
import { choosePorts, type Ports } from "../../platform/stack/ports.ts";
import { requireOpenPort } from "../../platform/stack/probes.ts";
import type { Part } from "../../platform/stack/process-part.ts";
import {
  createSupervisor,
  endLeftovers,
  type Node,
  type ProcessNode,
} from "../../platform/stack/supervisor.ts";
import { ensureTools } from "../../platform/stack/tools.ts";
import { until } from "../measure.ts";
import { BENCH_DIR } from "./bench-dir.ts";
import { exitCodeOf, putLines } from "./etcd.ts";
import { createOperator, type OperatorProcess } from "./operator-process.ts";

const ENTRY = join(import.meta.dirname, "..", "..", "..", "operator", "bench", "fleet.bench.ts");
const CLASS = { namespace: PLATFORM_NAMESPACE, name: "marina-in-memory-v1" };

/** A real kube-apiserver with Cluster API's kinds and without its managers, full of converged clusters. */
export interface FleetCluster {
  kubeconfig: string;
  auditLog: string;
  /** Adds copies of the template up to this number of clusters; returns the number of objects. */
  grow(clusters: number): Promise<number>;
  createOperator(name: "operator" | "standby", settings?: Record<string, string>): OperatorProcess;
  stop(): Promise<void>;
}

/** Starts it without clusters. */
export async function startFleetCluster(templateFile: string): Promise<FleetCluster> {
  const dir = join(BENCH_DIR, "fleet");
  await endLeftovers(dir);
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir, { recursive: true });
  const ports = await choosePorts(dir, [...MANAGEMENT_PORTS, "tenants", "operator", "standby"]);
  const tools = await ensureTools(["etcd", "kube-apiserver"], new AbortController().signal);
  const certificates = await ensureCertificates(dir);
  const kubeconfig = join(dir, "kubeconfig");
  const server = managementServerOf(ports);
  writeKubeconfig(kubeconfig, server, certificates);
  const { ca, adminCert: cert, adminKey: key } = certificates;
  const kube = createKubeApi({ server, tls: { ca, cert, key } });
  const manifests = () => serveStoredVersions(readCapiManifests(tools.capiManifestsFile));
  const nodes: Node[] = [
    ...managementClusterNodes({ dir, ports, tools, certificates, kubeconfig, kube, audit: "everybody" })
      .filter(({ name }) => name !== "kube-controller-manager")
      .map(boundMemory),
    tenantsNode(ports, certificates),
    crdsStep("capi-core", manifests, kube),
    ...platformSteps({
      kube,
      after: { kube: ["kube-apiserver"], capi: [], database: [] },
      classFile: undefined,
      hasRefusingClass: false,
      programAccess: [],
    }),
  ];
  const supervisor = createSupervisor({ dir, onCrash: (_, message) => console.error(message) });
  const stop = async () => {
    for (const part of operators) await part.kill("SIGKILL");
    await supervisor.stop();
    kube.close();
  };
  const operators: Part[] = [];
  try {
    await supervisor.start(nodes);
    await warm(kube);
    const apiserver = supervisor.part("kube-apiserver");
    const present = { clusters: 0, objects: 0 };
    return {
      kubeconfig,
      auditLog: join(dir, AUDIT_LOG),
      async grow(clusters) {
        if (clusters === present.clusters) return present.objects;
        // kube-apiserver reads this at its start, as after any restart; while it runs, every put would be a watch
        // event.
        await apiserver.stop();
        present.objects += await load(templateFile, present.clusters, clusters, { dir, ports, kubeconfig });
        present.clusters = clusters;
        await apiserver.start();
        await warm(kube);
        return present.objects;
      },
      createOperator(name, settings = {}) {
        const port = ports[name] ?? 0;
        const env = { ...operatorEnvironment(kubeconfig, port), ...settings };
        const operator = createOperator({ dir, name, port, env });
        operators.push(operator.part);
        return operator;
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

interface CustomResourceDefinition extends Manifest {
  spec: { versions: { served: boolean; storage: boolean }[] };
}

/** kube-apiserver keeps a cache of every object per served version; nothing reads the older versions. */
function serveStoredVersions(manifests: CapiManifests): CapiManifests {
  const { crds, webhooks } = manifests["capi-core"];
  const narrowed = (crds as CustomResourceDefinition[]).map((crd) => {
    const versions = crd.spec.versions.map((version) => ({ ...version, served: version.storage }));
    return { ...crd, spec: { ...crd.spec, versions } };
  });
  return { ...manifests, "capi-core": { crds: narrowed, webhooks } };
}

/** Without a limit kube-apiserver would take all memory with 200,000 objects, and the machine would stall. */
const GO_MEMORY = { GOMEMLIMIT: "13GiB" };

function boundMemory(node: ProcessNode): ProcessNode {
  return {
    ...node,
    async process(signal) {
      const spec = await node.process(signal);
      return { ...spec, env: { ...spec.env, ...GO_MEMORY } };
    },
  };
}

function tenantsNode(ports: Ports, { serverCertFile, serverKeyFile }: Certificates): ProcessNode {
  const port = ports.tenants ?? 0;
  return {
    name: "tenants",
    after: [],
    process: () => ({
      command: process.execPath,
      args: [join(import.meta.dirname, "tenants.ts"), String(port), serverCertFile, serverKeyFile],
      probe: () => requireOpenPort(port),
      deadlineMs: 20_000,
    }),
  };
}

function operatorEnvironment(kubeconfig: string, operatorPort: number): Record<string, string> {
  return describeOperatorEnvironment({
    operatorPort,
    kubeconfig,
    clusterClass: CLASS,
    platformNamespace: PLATFORM_NAMESPACE,
    refusedPlans: [],
  });
}

/** The inputs of the operator's own benchmarks: the template, the simulated tenants, and its environment. */
export async function describeFleet(
  templateFile: string,
  place: { dir: string; ports: Ports; kubeconfig: string },
): Promise<{ args: string[]; env: Record<string, string> }> {
  const { dir } = await ensureCertificates(place.dir);
  const read = (file: string) => readFileSync(join(dir, file), "utf8");
  const tenant = {
    host: "127.0.0.1",
    port: place.ports.tenants ?? 0,
    caCertificate: read("ca.crt"),
    caKey: read("ca.key"),
  };
  return { args: [templateFile, JSON.stringify(tenant)], env: operatorEnvironment(place.kubeconfig, 0) };
}

async function load(
  templateFile: string,
  from: number,
  to: number,
  place: { dir: string; ports: Ports; kubeconfig: string },
): Promise<number> {
  const { args, env } = await describeFleet(templateFile, place);
  const child = spawn(process.execPath, [ENTRY, ...args, String(from), String(to)], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const objects = await putLines(`http://127.0.0.1:${place.ports.etcd}`, child.stdout);
  if ((await exitCodeOf(child)) !== 0) throw new Error("the fleet could not be created");
  return objects;
}

/** The kinds that the operator lists. */
const WARM_PATHS = [
  ["/apis/cloud.marina.dev/v1", "clusters", "nodepools", "clusteraccesses"],
  ["/apis/cluster.x-k8s.io/v1beta2", "clusters", "clusterclasses"],
  ["/apis/cluster.x-k8s.io/v1beta2", "machinedeployments", "machinesets", "machines"],
  ["/api/v1", "namespaces", "secrets", "configmaps", "serviceaccounts"],
  ["/apis/apps/v1", "deployments"],
  ["/apis/rbac.authorization.k8s.io/v1", "roles", "rolebindings"],
].flatMap(([root, ...kinds]) => kinds.map((kind) => `${root}/${kind}`));
const WARM_TIMEOUT_MS = 600_000;

/**
 * A kube-apiserver that has just started fills its own caches first, and lets a create wait for 2 s where the kind is
 * younger: neither counts as the operator's time. Meanwhile it refuses a list by label, but not a list with a limit.
 */
async function warm(kube: KubeApi): Promise<void> {
  const isCached = async (path: string) => {
    const nothing = `${path}?labelSelector=marina-bench&resourceVersion=0`;
    const response = await kube.request("GET", nothing).catch(() => undefined);
    return response?.status === 200;
  };
  // It is refused, but only then.
  await kube.request("POST", `/apis/cluster.x-k8s.io/v1beta2/namespaces/${PLATFORM_NAMESPACE}/clusters`, {});
  await Promise.all(
    WARM_PATHS.map((path) =>
      until(`${path} to be cached`, () => isCached(path), { timeoutMs: WARM_TIMEOUT_MS }),
    ),
  );
}
