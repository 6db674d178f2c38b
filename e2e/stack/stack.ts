import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { buildBundles } from "../../build.ts";
import { messageOf, StartError } from "../programs/start-error.ts";
import { ensureCertificates } from "./certificates.ts";
import { clusterApiNodes, managerPortsOf } from "./cluster-api.ts";
import { startContainerEngine } from "./container-engine.ts";
import { requireFreeSpace } from "./disk.ts";
import { ENGINE_SETTINGS, type Engine, requireSameEngine } from "./engine.ts";
import { describeEnvironment, type MarinaEnvironment, PLATFORM_CIDRS, writeEnvFiles } from "./environment.ts";
import { openExistingCluster } from "./existing-cluster.ts";
import { identityNode, issuerOf, requestTokens } from "./identity.ts";
import { createKubeApi, type KubeApi } from "./kube-api.ts";
import { localProviderNodes } from "./local-provider.ts";
import {
  MANAGEMENT_PORTS,
  managementClusterNodes,
  managementServerOf,
  writeKubeconfig,
} from "./management-cluster.ts";
import { DIST, marinaNodes, PLATFORM_NAMESPACE, platformSteps } from "./marina.ts";
import { choosePorts, type Ports, requireApiPort, requireInMemoryPort } from "./ports.ts";
import { databaseUrlsOf, postgresHome, postgresNodes } from "./postgres.ts";
import type { Part } from "./process-part.ts";
import { type Progress, silentProgress } from "./progress.ts";
import { releaseLock, takeLock } from "./run-lock.ts";
import { ensureSecrets, type Secrets } from "./secrets.ts";
import { describeProcesses, type StackInfo, writeStackInfo } from "./stack-info.ts";
import { createSupervisor, endLeftovers, type Node } from "./supervisor.ts";
import { ensureTools, type ToolName, type Tools } from "./tools.ts";

const run = promisify(execFile);

export interface StackOptions {
  /** The run directory; everything of this stack is in it. */
  dir: string;
  /** Delete the state of earlier runs in the directory. */
  fresh?: boolean;
  /** A fixed port of the API; otherwise a free one is chosen and kept. */
  apiPort?: number;
  /** "infrastructure" leaves out migrations, API server and operator. */
  parts?: "all" | "infrastructure";
  /** Use this management cluster instead of the embedded one. */
  kubeconfig?: string;
  /** Plans that the operator does not know: a cluster with one is refused, and no machine is created for it. */
  withoutPlans?: readonly string[];
  /** Extra variables of the API server. */
  apiserver?: Record<string, string>;
  /** What tenant clusters run on: DEFAULT_ENGINE as in `npm start`, or in memory where many are needed. */
  engine: Engine;
  /** Log every request of the embedded kube-apiserver, see AUDIT_LOG. */
  audit?: boolean;
  /** When a part ends by itself: stop everything, or only report it. */
  onCrash?: "stop" | "report";
  progress?: Progress;
  /** Stops the stack, also during its start. */
  signal?: AbortSignal;
}

export interface Stack {
  readonly info: StackInfo;
  readonly infoFile: string;
  /** One process by its name in `info.processes`, to inspect, kill and restart. */
  part(name: string): Part;
  /** Resolves with a message when a part has ended by itself and, with onCrash "stop", everything else is down. */
  readonly crashed: Promise<string>;
  stop(): Promise<void>;
}

/** The inputs of every part, and the table of parts. */
interface Setup {
  dir: string;
  ports: Ports;
  apiPort: number;
  tools: Tools;
  secrets: Secrets;
  kube: KubeApi;
  kubeconfig: string;
  environment: MarinaEnvironment;
  nodes: Node[];
  close: () => void;
}

const EMPTY_RUN_SPACE_GB = 1;
const TOOLS: readonly ToolName[] = ["kubectl", "helm"];
const MANAGEMENT_TOOLS: readonly ToolName[] = ["etcd", "kube-apiserver", "kube-controller-manager"];

function clearRun(dir: string, lockFile: string): void {
  rmSync(postgresHome(dir), { recursive: true, force: true });
  for (const name of readdirSync(dir)) {
    const path = join(dir, name);
    if (path !== lockFile) rmSync(path, { recursive: true, force: true });
  }
}

function requireNotRunning(dir: string, lockFile: string, apiUrl: string): void {
  const holder = takeLock(lockFile, { apiUrl });
  if (holder === undefined) return;
  throw new StartError(
    `The stack of ${dir} is already running: pid ${holder.pid}, API ${holder.apiUrl}; stop that one first (Ctrl-C there, or kill ${holder.pid}).`,
  );
}

async function migrate(environment: MarinaEnvironment, signal: AbortSignal): Promise<void> {
  const { PATH = "" } = process.env;
  try {
    const env = { PATH, ...environment.migrate };
    await run(process.execPath, [join(DIST, "migrate.js")], { env, signal });
  } catch (error) {
    throw new StartError(`The migrations failed: ${messageOf(error)}`);
  }
}

async function embeddedCluster(dir: string, ports: Ports, tools: Tools, engine: Engine, audit = false) {
  const kubeconfig = join(dir, "kubeconfig");
  const certificates = await ensureCertificates(dir);
  const server = managementServerOf(ports);
  writeKubeconfig(kubeconfig, server, certificates);
  const { ca, adminCert: cert, adminKey: key } = certificates;
  const kube = createKubeApi({ server, tls: { ca, cert, key } });
  const { managers, coreGates, className, classAfter } = ENGINE_SETTINGS[engine];
  const containers = engine === "in-memory" ? await startContainerEngine(dir) : undefined;
  const shared = { dir, ports, tools, certificates, kubeconfig, kube };
  const nodes = [
    ...managementClusterNodes({ ...shared, audit }),
    ...clusterApiNodes({ ...shared, managers, coreGates, dockerSocket: containers?.socket }),
    ...(engine === "local" ? localProviderNodes({ ...shared, platformCIDRs: PLATFORM_CIDRS }) : []),
  ];
  return {
    kube,
    kubeconfig,
    nodes,
    clusterClass: { namespace: PLATFORM_NAMESPACE, name: className },
    after: { kube: ["kube-apiserver"], engine: ["webhooks", ...classAfter] },
    close: () => containers?.close(),
  };
}

async function givenCluster(kubeconfig: string) {
  const { kube, clusterClass } = await openExistingCluster(kubeconfig);
  return { kube, kubeconfig, nodes: [], clusterClass, after: { kube: [], engine: [] }, close: () => {} };
}

async function prepare(options: StackOptions, dir: string, progress: Progress): Promise<Setup> {
  const embedded = options.kubeconfig === undefined;
  const { engine } = options;
  const settings = ENGINE_SETTINGS[engine];
  requireFreeSpace(dir, EMPTY_RUN_SPACE_GB, "a run");
  if (embedded) requireSameEngine(dir, engine);
  if (embedded && engine === "in-memory") await requireInMemoryPort();
  if (options.apiPort !== undefined) await requireApiPort(options.apiPort);
  const names = [
    "postgres",
    "identity-provider",
    "operator",
    ...(options.apiPort === undefined ? ["api"] : []),
  ];
  const ports = await choosePorts(dir, [
    ...names,
    ...(embedded ? [...MANAGEMENT_PORTS, ...managerPortsOf(settings.managers), ...settings.ports] : []),
  ]);
  const tools = await ensureTools(
    [...TOOLS, ...(embedded ? [...MANAGEMENT_TOOLS, ...settings.tools] : [])],
    progress,
    options.signal,
  );
  const secrets = await ensureSecrets(dir);
  const cluster = await (embedded
    ? embeddedCluster(dir, ports, tools, engine, options.audit)
    : givenCluster(options.kubeconfig ?? ""));
  const apiPort = options.apiPort ?? ports.api ?? 0;
  const environment = describeEnvironment({
    apiPort,
    operatorPort: ports.operator ?? 0,
    issuer: issuerOf(ports),
    kubeconfig: cluster.kubeconfig,
    databaseUrls: databaseUrlsOf({ dir, ports, secrets }),
    clusterClass: cluster.clusterClass,
    platformNamespace: PLATFORM_NAMESPACE,
    withoutPlans: options.withoutPlans ?? [],
    apiserver: options.apiserver ?? {},
  });
  writeEnvFiles(dir, environment);
  const after = { ...cluster.after, database: ["database"] };
  const classFile = embedded ? settings.classFile : undefined;
  const platform = { kube: cluster.kube, after, classFile };
  const nodes = [
    ...cluster.nodes,
    ...postgresNodes({ dir, ports, secrets }),
    identityNode({ dir, ports, secrets }),
    ...platformSteps(platform),
    ...(options.parts === "infrastructure"
      ? []
      : marinaNodes({ ...platform, environment, build: buildBundles }, (signal) =>
          migrate(environment, signal),
        )),
  ];
  const { kube, kubeconfig } = cluster;
  return { dir, ports, apiPort, tools, secrets, kube, kubeconfig, environment, nodes, close: cluster.close };
}

async function describeStack(setup: Setup, parts: readonly Part[]): Promise<StackInfo> {
  const { environment, tools, ports, secrets } = setup;
  const issuer = issuerOf(ports);
  return {
    apiUrl: environment.apiUrl,
    docsUrl: `${environment.apiUrl}/docs`,
    issuer,
    databaseUrl: environment.migrate.MARINA_DATABASE_URL,
    kubeconfig: setup.kubeconfig,
    kubectl: tools.path("kubectl"),
    helm: tools.path("helm"),
    logs: join(setup.dir, "logs"),
    metrics: { apiserver: `${environment.apiUrl}/metrics`, operator: `${environment.operatorUrl}/metrics` },
    processes: describeProcesses(parts),
    tokens: await requestTokens(issuer, secrets.clientSecret),
  };
}

async function runStack(options: StackOptions, setup: Setup, progress: Progress): Promise<Stack> {
  const infoFile = join(setup.dir, "stack.json");
  let info: StackInfo | undefined;
  let crash: string | undefined;
  let reportCrash: (message: string) => void = () => {};
  const crashed = new Promise<string>((settle) => {
    reportCrash = settle;
  });
  const supervisor = createSupervisor({
    dir: setup.dir,
    onReady: (name, seconds) => progress.line(`${name} (${seconds.toFixed(1)} s)`),
    onChange() {
      if (info === undefined) return;
      info.processes = describeProcesses(supervisor.parts());
      writeStackInfo(infoFile, info);
    },
    onCrash(_part, message) {
      crash ??= message;
      progress.line(message);
      if (options.onCrash === "report") reportCrash(message);
      else void stop().then(() => reportCrash(message));
    },
  });
  const stop = async (): Promise<void> => {
    info = undefined;
    await supervisor.stop();
    // A killed local provider leaves its tenants running.
    await endLeftovers(setup.dir);
    setup.kube.close();
    setup.close();
    rmSync(infoFile, { force: true });
  };
  options.signal?.addEventListener("abort", () => void stop(), { once: true });
  try {
    options.signal?.throwIfAborted();
    await supervisor.start(setup.nodes);
    info = await describeStack(setup, supervisor.parts());
    writeStackInfo(infoFile, info);
    return { info, infoFile, part: (name) => supervisor.part(name), crashed, stop };
  } catch (error) {
    await stop();
    if (options.signal?.aborted === true) throw new StartError("stopped");
    throw crash === undefined ? error : new StartError(crash);
  }
}

/**
 * Starts the stack and returns when every part is ready. Throws StartError when it cannot; then every part is stopped.
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  const dir = resolve(options.dir);
  const progress = options.progress ?? silentProgress;
  const lockFile = join(dir, "lock");
  mkdirSync(dir, { recursive: true });
  requireNotRunning(dir, lockFile, `http://127.0.0.1:${options.apiPort ?? "(a free port)"}`);
  try {
    const leftovers = await endLeftovers(dir);
    if (leftovers.length > 0) progress.line(`ended leftovers of a killed start: ${leftovers.join(", ")}`);
    if (options.fresh === true) clearRun(dir, lockFile);
    const setup = await prepare(options, dir, progress);
    const stack = await runStack(options, setup, progress);
    return {
      ...stack,
      async stop() {
        await stack.stop();
        releaseLock(lockFile);
      },
    };
  } catch (error) {
    releaseLock(lockFile);
    throw error;
  }
}
