import { readFileSync } from "node:fs";
import type { Certificates } from "./certificates.ts";
import { type CapiManager, type CapiManifests, readCapiManifests } from "./cluster-api-manifests.ts";
import type { KubeApi, Manifest } from "./kube-api.ts";
import type { Ports } from "./ports.ts";
import { requireHttpOk } from "./probes.ts";
import type { Node, ProcessNode, StepNode } from "./supervisor.ts";
import type { Tools } from "./tools.ts";

export interface ClusterApiDeps {
  ports: Ports;
  tools: Tools;
  certificates: Certificates;
  kubeconfig: string;
  kube: KubeApi;
  managers: readonly CapiManager[];
  /** Feature gates of the core manager in addition to those of every provider. */
  coreGates: readonly string[];
  withoutPropagation?: boolean | undefined;
  /** Unix socket of the container engine stub, for the in-memory manager. */
  dockerSocket?: string | undefined;
}

interface ManagerSettings {
  /** Names of the --<name>-concurrency flags. */
  queues: readonly string[];
  flags: readonly string[];
}

const GATES = ["--feature-gates=ClusterTopology=true", "--feature-gates=MachineTaintPropagation=true"];
const PROPAGATION = /MachineTaintPropagation|additional-sync-machine-labels/;
// The defaults of 50 and 100 overload two cores; with 5, 50 clusters take 185 s.
const CONCURRENCY = 5;

const MANAGERS: Record<CapiManager, ManagerSettings> = {
  "capi-core": {
    queues: [
      "cluster",
      "clustercache",
      "clusterclass",
      "clusterresourceset",
      "clustertopology",
      "extensionconfig",
      "machine",
      "machinedeployment",
      "machinehealthcheck",
      "machinepool",
      "machineset",
    ],
    // Otherwise only labels of a few domains reach the nodes.
    flags: [...GATES, "--additional-sync-machine-labels=.*"],
  },
  // It rejects these two, although it lists them.
  "capi-kubeadm-bootstrap": { queues: ["clustercache", "kubeadmconfig"], flags: [] },
  "capi-kubeadm-control-plane": { queues: ["clustercache", "kubeadmcontrolplane"], flags: GATES },
  "capi-in-memory": {
    queues: ["clustercache", "devcluster", "devmachine", "devmachinepool", "devmachinetemplate"],
    flags: GATES,
  },
};

/** Names of the ports of these managers. */
export function managerPortsOf(managers: readonly CapiManager[]): string[] {
  return managers.flatMap((name) => [`${name}-webhooks`, `${name}-health`, `${name}-metrics`]);
}

/** Installs the CRDs of one manager. */
export function crdsStep(name: CapiManager, manifests: () => CapiManifests, kube: KubeApi): StepNode {
  return {
    name: `${name} CRDs`,
    after: ["kube-apiserver"],
    async run() {
      const { crds } = manifests()[name];
      await kube.apply(crds);
      await kube.waitEstablished(
        crds.map((crd) => crd.metadata.name),
        180_000,
      );
    },
  };
}

function managerNode(name: CapiManager, deps: ClusterApiDeps): ProcessNode {
  const { ports, tools, certificates, kubeconfig } = deps;
  const health = `127.0.0.1:${ports[`${name}-health`]}`;
  return {
    name,
    // Managers watch the kinds of one another, and exit when they do not exist.
    after: deps.managers.map((manager) => `${manager} CRDs`),
    process: () => ({
      command: tools.path(name),
      args: [
        `--kubeconfig=${kubeconfig}`,
        "--leader-elect=false",
        `--diagnostics-address=127.0.0.1:${ports[`${name}-metrics`]}`,
        "--insecure-diagnostics",
        `--health-addr=${health}`,
        `--webhook-port=${ports[`${name}-webhooks`]}`,
        `--webhook-cert-dir=${certificates.dir}`,
        "--skip-crd-migration-phases=StorageVersionMigration,CleanupManagedFields",
        ...MANAGERS[name].queues.map((queue) => `--${queue}-concurrency=${CONCURRENCY}`),
        ...MANAGERS[name].flags.filter((flag) => !deps.withoutPropagation || !PROPAGATION.test(flag)),
        // Gates of a later flag are added to the earlier ones.
        ...(name === "capi-core" ? deps.coreGates : []).map((gate) => `--feature-gates=${gate}`),
      ],
      // The in-memory provider publishes its tenants' API servers under POD_IP.
      env: {
        POD_IP: "127.0.0.1",
        ...(deps.dockerSocket !== undefined && { DOCKER_HOST: `unix://${deps.dockerSocket}` }),
      },
      probe: () => requireHttpOk(`http://${health}/readyz`),
      stopTimeoutMs: 2000,
    }),
  };
}

interface WebhookEntry {
  clientConfig: { service: { path: string } };
}

/** Points the webhooks of a configuration at a local port instead of a Service. */
export function pointAtPort(configuration: Manifest, port: number, ca: string): Manifest {
  const caBundle = Buffer.from(ca).toString("base64");
  const webhooks = (configuration.webhooks as WebhookEntry[]).map((webhook) => ({
    ...webhook,
    clientConfig: { url: `https://127.0.0.1:${port}${webhook.clientConfig.service.path}`, caBundle },
  }));
  return { ...configuration, webhooks };
}

function webhooksStep(manifests: () => CapiManifests, deps: ClusterApiDeps): StepNode {
  return {
    name: "webhooks",
    after: deps.managers,
    async run() {
      const ca = readFileSync(deps.certificates.caFile, "utf8");
      const configurations = deps.managers.flatMap((name) =>
        manifests()[name].webhooks.map((one) => pointAtPort(one, deps.ports[`${name}-webhooks`] ?? 0, ca)),
      );
      await deps.kube.apply(configurations);
    },
  };
}

/** Cluster API: the CRDs of each manager; unless there are only these, the managers, and their webhooks last. */
export function clusterApiNodes(deps: ClusterApiDeps, { crdsOnly }: { crdsOnly: boolean }): Node[] {
  let read: CapiManifests | undefined;
  const manifests = (): CapiManifests => {
    read ??= readCapiManifests(deps.tools.capiManifestsFile);
    return read;
  };
  const crds = deps.managers.map((name) => crdsStep(name, manifests, deps.kube));
  if (crdsOnly) return crds;
  return [...crds, ...deps.managers.map((name) => managerNode(name, deps)), webhooksStep(manifests, deps)];
}
