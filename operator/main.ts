import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import {
  createLeaderElection,
  type LeaderElection,
  type LeaderElectionOptions,
} from "../shared/controller/lease.ts";
import { createRuntimeMetrics } from "../shared/controller/metrics.ts";
import { createRecorder } from "../shared/controller/recorder.ts";
import { startHealthServer } from "../shared/controller/server.ts";
import { requireOwnKinds } from "../shared/crd/definitions.ts";
import { MANAGER_OPERATOR } from "../shared/crd/names.ts";
import { createClient } from "../shared/kube/client.ts";
import { loadConnection } from "../shared/kube/connection.ts";
import { requireServerVersion } from "../shared/kube/discovery.ts";
import { createKubeMetrics } from "../shared/kube/metrics.ts";
import { requireKinds } from "../shared/kube/required-kinds.ts";
import { createTransport } from "../shared/kube/transport.ts";
import { warnOfUnknownVariables } from "../shared/program/config.ts";
import { createLogger, type Logger } from "../shared/program/log.ts";
import { createRegistry } from "../shared/program/metrics.ts";
import { reportFatalError, stopOnSignals, untilAborted } from "../shared/program/process.ts";
import { findUnusedCaches } from "./autoscaler/controller.ts";
import { CAPI } from "./capi/required.ts";
import { type Config, environmentSchema, readConfig } from "./config.ts";
import { createControllers } from "./controllers.ts";
import { createCaches } from "./create-caches.ts";
import { observeFleet } from "./fleet-metrics.ts";
import { formatCheck } from "./preflight/checks.ts";
import { checkInstallation, reportInstallation } from "./preflight/run.ts";
import { listCredentialNames } from "./provider-credentials/controller.ts";

const LEASE = "marina-operator";
const METRICS_PREFIX = "marina_operator";
/** How long running reconciles may take to end; Kubernetes kills a Pod after 30 s. */
const DRAIN_DEADLINE_MS = 15_000;
const FLUSH_DEADLINE_MS = 3_000;
/** Events have their own rate limit: they are two thirds of all requests in a burst of changes, and must not delay a status. */
const EVENT_RATE = { qps: 50, burst: 100 };

/** Runs the operator until SIGTERM or SIGINT, then drains it. Resolves when everything has ended. */
async function run(config: Config): Promise<void> {
  const log = createLogger({ name: "operator", level: config.logLevel });
  warnOfUnknownVariables(log, environmentSchema);
  const stopping = stopOnSignals(log);
  const operator = createOperator(config, log);
  const { cacheSet, election, controllers, recorder } = operator;
  await Promise.all([
    requireServerVersion(operator.transport, log),
    requireKinds(operator.transport, [requireOwnKinds(), CAPI], log),
  ]);
  const caching = new AbortController();
  let synced = false;
  const server = await startHealthServer({
    address: config.listenAddress,
    port: config.metricsPort,
    registry: operator.registry,
    healthz: { caches: () => cacheSet.healthy(), controllers: () => controllers.healthy() },
    readyz: { synced: () => synced, draining: () => !stopping.aborted },
    log,
  });
  cacheSet.start(caching.signal);
  election.start();
  await Promise.race([cacheSet.synced, untilAborted(stopping)]);
  if (!stopping.aborted) {
    synced = true;
    controllers.start();
    log.info({ port: server.port, identity: operator.identity }, "ready");
    await Promise.race([reportInstallation(operator.transport, config, log), untilAborted(stopping)]);
    await untilAborted(stopping);
  }

  const finished = await controllers.drain(DRAIN_DEADLINE_MS);
  if (!finished) log.warn("reconciles were aborted at the deadline");
  await recorder.flush(FLUSH_DEADLINE_MS);
  await election.release();
  caching.abort();
  await server.close();
  await Promise.all(operator.transports.map((transport) => transport.close()));
  log.info("stopped");
}

/** Creates and connects all parts; nothing runs yet. */
function createOperator(config: Config, log: Logger) {
  const identity = `${hostname()}_${randomBytes(4).toString("hex")}`;
  const registry = createRegistry();
  const kubeMetrics = createKubeMetrics(registry, METRICS_PREFIX);
  const metrics = createRuntimeMetrics(registry, METRICS_PREFIX);
  const connecting = {
    connection: loadConnection(config.kubeconfigPath),
    userAgent: "marina-operator",
    onRequest: kubeMetrics.onRequest,
  };
  const transport = createTransport(connecting);
  const eventTransport = createTransport({ ...connecting, ...EVENT_RATE });
  const { platformNamespace } = config.settings;
  const election = elect({
    client: createClient(transport),
    namespace: platformNamespace,
    identity,
    leaseDurationMs: config.leaseDurationSeconds * 1000,
    onLeader: metrics.onLeader,
    log,
  });
  // A process that was suspended resumes in the middle of its reconciles, whose decisions must not be written any more.
  const onlyAsLeader = { mayWrite: () => election.isLeader() };
  const client = createClient(transport, onlyAsLeader);
  const unused = findUnusedCaches(config.settings);
  const credentialNames = listCredentialNames(config.settings.servicePlans);
  const options = { client, platformNamespace, unused, credentialNames };
  const cacheSet = createCaches({ ...options, log, metrics: kubeMetrics });
  observeFleet(registry, METRICS_PREFIX, cacheSet.caches);
  const recorder = createRecorder({
    client: createClient(eventTransport, onlyAsLeader),
    reportingController: MANAGER_OPERATOR,
    reportingInstance: identity,
    fieldManager: MANAGER_OPERATOR,
    log,
    onEvent: metrics.onEvent,
  });
  const controllers = createControllers({
    config,
    client,
    cacheSet,
    recorder,
    reportingController: MANAGER_OPERATOR,
    leadership: election,
    metrics: metrics.controller,
    log,
  });
  return {
    identity,
    registry,
    transport,
    transports: [transport, eventTransport],
    cacheSet,
    recorder,
    election,
    controllers,
  };
}

type ElectionParts = Omit<LeaderElectionOptions, "name" | "fieldManager" | "onLost">;

/** One operator reconciles at a time; the others keep watching. A process that loses the Lease ends and restarts. */
function elect(parts: ElectionParts): LeaderElection {
  return createLeaderElection({
    ...parts,
    name: LEASE,
    fieldManager: MANAGER_OPERATOR,
    onLost: () => {
      parts.log.fatal("leadership lost, exiting");
      process.exit(1);
    },
  });
}

/**
 * `operator preflight`: writes what the installation needs and has, a line each, to standard output. The exit code is 1 when
 * something failed.
 */
async function runPreflight({ kubeconfigPath, settings }: Config): Promise<void> {
  const transport = createTransport({
    connection: loadConnection(kubeconfigPath),
    userAgent: "marina-preflight",
  });
  try {
    const checks = await checkInstallation(transport, { settings });
    process.stdout.write(`${checks.map(formatCheck).join("\n")}\n`);
    process.exitCode = checks.some(({ state }) => state === "failed") ? 1 : 0;
  } finally {
    await transport.close();
  }
}

try {
  await (process.argv[2] === "preflight" ? runPreflight : run)(readConfig());
} catch (error) {
  reportFatalError(error);
}
