import { execFile } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { buildBundles } from "../../../build.ts";
import { messageOf } from "../../../shared/program/errors.ts";
import { StartError } from "../programs/start-error.ts";
import type { BuildQueue } from "./build-queue.ts";
import { afterBuilds, buildNode } from "./builds.ts";
import { type Certificates, ensureCertificates } from "./certificates.ts";
import { clusterApiNodes, managerPortsOf } from "./cluster-api.ts";
import { startContainerEngine } from "./container-engine.ts";
import { requireFreeSpace } from "./disk.ts";
import {
  describeEnvironment,
  type MarinaEnvironment,
  PLATFORM_CIDRS,
  type ProgramKubeconfigs,
  writeEnvFiles,
} from "./environment.ts";
import { openExistingCluster } from "./existing-cluster.ts";
import { identityNode, issuerOf } from "./identity.ts";
import { createKubeApi, type KubeApi } from "./kube-api.ts";
import { localProviderNodes } from "./local-provider.ts";
import {
  MANAGEMENT_PORTS,
  managementClusterNodes,
  managementServerOf,
  writeKubeconfig,
} from "./management-cluster.ts";
import { DIST, marinaNodes, PLATFORM_NAMESPACE, platformSteps, preparedSteps } from "./marina.ts";
import { objectStoreNode, objectStoreOf } from "./object-store.ts";
import { choosePorts, type Ports, requireApiPort, requireInMemoryPort } from "./ports.ts";
import { databaseUrlsOf, postgresNodes } from "./postgres.ts";
import { prepareBuilds } from "./prepare-builds.ts";
import { readAccessControl, writeProgramKubeconfigs } from "./program-identities.ts";
import type { Progress } from "./progress.ts";
import { PROVIDER_SETTINGS, requireSameProvider } from "./provider.ts";
import { receiverNode, receiverUrlOf } from "./receiver.ts";
import { GRYPE, registryNode, registryOf } from "./registry.ts";
import { requireUsableVersion } from "./run-version.ts";
import { ensureSecrets, type Secrets } from "./secrets.ts";
import type { StackOptions } from "./stack-options.ts";
import type { Node } from "./supervisor.ts";
import type { Tools } from "./tools.ts";
import { WORKLOAD_CONTROLLERS, WORKLOAD_PORTS, workloadNodes } from "./workloads.ts";

const execute = promisify(execFile);

/** What a management cluster of the stack's own is made of. */
interface Run {
  dir: string;
  ports: Ports;
  tools: Tools;
  certificates: Certificates;
}

/** The inputs of every part, and the table of parts. */
export interface Setup {
  dir: string;
  ports: Ports;
  apiPort: number;
  tools: Tools;
  secrets: Secrets;
  kube: KubeApi;
  kubeconfig: string;
  programKubeconfigs: ProgramKubeconfigs;
  environment: MarinaEnvironment;
  certificates: Certificates;
  /** What is built while the stack starts and runs. */
  builds: BuildQueue;
  /** Seconds that builds are expected to take, by their names. */
  estimateSeconds: (names: readonly string[]) => number;
  nodes: Node[];
  /** Tables that the stack is ready without; each joins it when it is there, or is reported as missing. */
  optional: Node[][];
  close: () => void;
}

const EMPTY_RUN_SPACE_GB = 1;

async function migrate(environment: MarinaEnvironment, signal: AbortSignal): Promise<void> {
  const { PATH = "" } = process.env;
  try {
    const env = { PATH, ...environment.migrate };
    await execute(process.execPath, [join(DIST, "migrate.js")], { env, signal });
  } catch (error) {
    throw new StartError(`The migrations failed: ${messageOf(error)}`);
  }
}

async function embeddedCluster(run: Run, options: StackOptions) {
  const { provider, parts, audit, tokenRefreshSeconds, withoutPropagation } = options;
  const crdsOnly = options.withoutManagers === true;
  const { dir, ports, certificates } = run;
  const kubeconfig = join(dir, "kubeconfig");
  const server = managementServerOf(ports);
  writeKubeconfig(kubeconfig, server, certificates);
  const { ca, adminCert: cert, adminKey: key } = certificates;
  const kube = createKubeApi({ server, tls: { ca, cert, key } });
  const { managers, coreGates, className, classAfter } = PROVIDER_SETTINGS[provider];
  const containers = provider === "in-memory" && !crdsOnly ? await startContainerEngine(dir) : undefined;
  const shared = { ...run, kubeconfig, kube };
  const auditWebhookUrl = audit === "deletions" ? receiverUrlOf(ports) : undefined;
  const isPrepared = parts === "prepared";
  const workloadControllers = isPrepared ? WORKLOAD_CONTROLLERS : undefined;
  const clusterApi = clusterApiNodes(
    { ...shared, managers, coreGates, withoutPropagation, dockerSocket: containers?.socket },
    { crdsOnly },
  );
  const nodes = [
    ...managementClusterNodes({ ...shared, audit, auditWebhookUrl, workloadControllers }),
    ...(isPrepared ? workloadNodes({ ...shared, tokenRefreshSeconds }) : []),
    ...clusterApi,
    ...(provider === "local" ? localProviderNodes({ ...shared, platformCIDRs: PLATFORM_CIDRS }) : []),
  ];
  return {
    kube,
    kubeconfig,
    programKubeconfigs: await writeProgramKubeconfigs(dir, server, certificates),
    programAccess: readAccessControl(),
    nodes,
    clusterClass: { namespace: PLATFORM_NAMESPACE, name: className },
    after: {
      kube: ["kube-apiserver"],
      capi: [...(crdsOnly ? clusterApi.map(({ name }) => name) : ["webhooks"]), ...classAfter],
    },
    close: () => containers?.close(),
  };
}

async function existingCluster(kubeconfig: string) {
  const { kube, clusterClass } = await openExistingCluster(kubeconfig);
  return {
    kube,
    kubeconfig,
    programKubeconfigs: { apiserver: kubeconfig, operator: kubeconfig, tests: kubeconfig },
    // The programs share the identity of the kubeconfig, which the policy would refuse.
    programAccess: [],
    nodes: [],
    clusterClass,
    after: { kube: [], capi: [] },
    close: () => {},
  };
}

/** The ports of this run, by name. Throws StartError when one that cannot change is in use. */
async function reservePorts(options: StackOptions, dir: string): Promise<Ports> {
  const { provider, apiPort } = options;
  const settings = PROVIDER_SETTINGS[provider];
  const isEmbedded = options.kubeconfig === undefined;
  if (isEmbedded && provider === "in-memory" && options.withoutManagers !== true) await requireInMemoryPort();
  if (apiPort !== undefined) await requireApiPort(apiPort);
  return choosePorts(dir, [
    "postgres",
    "identity-provider",
    "webhook-receiver",
    "object-store",
    "registry",
    "operator",
    "api-metrics",
    ...(apiPort === undefined ? ["api"] : []),
    ...(options.parts === "prepared" ? WORKLOAD_PORTS : []),
    ...(isEmbedded ? [...MANAGEMENT_PORTS, ...managerPortsOf(settings.managers), ...settings.ports] : []),
  ]);
}

/** The folder of the shared storage: `org-<id>` in it holds the files of an organization. */
export function sharedStorageOf(dir: string): string {
  return join(dir, "shared-storage");
}

/** Chooses ports and secrets, and describes every build and every part; nothing is built or started yet. */
export async function prepareStack(options: StackOptions, dir: string, progress: Progress): Promise<Setup> {
  const isEmbedded = options.kubeconfig === undefined;
  const { provider } = options;
  const settings = PROVIDER_SETTINGS[provider];
  requireFreeSpace(dir, EMPTY_RUN_SPACE_GB, "a run");
  requireUsableVersion(dir);
  if (isEmbedded) requireSameProvider(dir, provider);
  const ports = await reservePorts(options, dir);
  const isPrepared = options.parts === "prepared";
  const { tools, builds, programs, estimateSeconds } = await prepareBuilds(options, progress);
  const secrets = await ensureSecrets(dir);
  const certificates = await ensureCertificates(dir);
  const cluster = await (isEmbedded
    ? embeddedCluster({ dir, ports, tools, certificates }, options)
    : existingCluster(options.kubeconfig ?? ""));
  const apiPort = options.apiPort ?? ports.api ?? 0;
  const sharedStorage = sharedStorageOf(dir);
  mkdirSync(sharedStorage, { recursive: true });
  const environment = describeEnvironment({
    apiPort,
    apiMetricsPort: ports["api-metrics"] ?? 0,
    operatorPort: ports.operator ?? 0,
    issuer: issuerOf(ports),
    kubeconfigs: cluster.programKubeconfigs,
    databaseUrls: databaseUrlsOf({ ports, secrets }),
    webhookKey: secrets.webhookKey,
    caFile: certificates.caFile,
    sharedStorage,
    objectStore: objectStoreOf({ ports, secrets }),
    registry: await registryOf({ dir, ports, secrets }),
    clusterClass: cluster.clusterClass,
    platformNamespace: PLATFORM_NAMESPACE,
    refusedPlans: options.refusedPlans ?? [],
    apiserver: options.apiserver ?? {},
    operator: options.operator ?? {},
  });
  writeEnvFiles(dir, environment);
  const after = { ...cluster.after, database: ["database"] };
  const classFile = isEmbedded ? settings.classFile : undefined;
  const hasRefusingClass = (options.refusedPlans ?? []).length > 0;
  const { programAccess } = cluster;
  const platform = { kube: cluster.kube, after, classFile, hasRefusingClass, programAccess };
  const nodes = [
    ...cluster.nodes,
    ...postgresNodes({ dir, ports, secrets, certificates }),
    identityNode({ dir, ports, secrets }),
    receiverNode(dir, ports, certificates),
    ...(isPrepared ? preparedSteps(platform) : platformSteps(platform)),
    ...(options.parts === undefined || options.parts === "all"
      ? marinaNodes({ ...platform, environment, build: buildBundles }, (signal) =>
          migrate(environment, signal),
        )
      : []),
  ];
  const { kube, kubeconfig, programKubeconfigs, close } = cluster;
  const inputs = { dir, ports, apiPort, tools, secrets, certificates, environment, builds, estimateSeconds };
  const optional = [
    afterBuilds([objectStoreNode({ dir, ports, secrets })], builds, []),
    afterBuilds([registryNode({ dir, ports, secrets, apiUrl: environment.apiUrl })], builds, []),
    ...[GRYPE.name, ...(options.answerEarly === true ? ["helm"] : [])].map((name) => [
      buildNode(builds, name),
    ]),
  ];
  const table = afterBuilds(nodes, builds, programs);
  return {
    ...inputs,
    kube,
    kubeconfig,
    programKubeconfigs,
    nodes: table,
    optional: isPrepared ? [] : optional,
    close,
  };
}
