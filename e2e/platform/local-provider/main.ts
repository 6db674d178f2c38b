import { hostname } from "node:os";
import { join } from "node:path";
import { createRuntimeMetrics } from "../../../shared/controller/metrics.ts";
import { createRecorder } from "../../../shared/controller/recorder.ts";
import { startHealthServer } from "../../../shared/controller/server.ts";
import { createClient } from "../../../shared/kube/client.ts";
import { loadConnection } from "../../../shared/kube/connection.ts";
import { createKubeMetrics } from "../../../shared/kube/metrics.ts";
import { objectKey } from "../../../shared/kube/object.ts";
import { createTransport } from "../../../shared/kube/transport.ts";
import { createLogger } from "../../../shared/program/log.ts";
import { createRegistry } from "../../../shared/program/metrics.ts";
import { apiserverPath, linkApiserver } from "./apiserver-build.ts";
import { type Config, readConfig } from "./config.ts";
import { type Context, findByTenant } from "./context.ts";
import { type Controllers, createControllers } from "./controllers.ts";
import { FIELD_MANAGER } from "./decision.ts";
import { createTenantKeys } from "./etcd.ts";
import { createFrontClient } from "./front/client.ts";
import { removeOrphans } from "./orphans.ts";
import { openProcesses } from "./processes.ts";
import { type Tenant, tenantOfProcess } from "./tenant.ts";
import { createTenantApis } from "./tenant-apis.ts";
import { createTenantPorts } from "./tenant-ports.ts";
import { createVersions } from "./versions.ts";
import { createStores, createWatches } from "./watches.ts";

const METRICS_PREFIX = "marina_local_provider";
const DRAIN_DEADLINE_MS = 1000;
const QPS = 200;

/** The dependencies and the controllers, which are not started yet. Processes of an earlier run are adopted. */
function createContext(config: Config) {
  const log = createLogger({ name: "local-provider", level: "info" });
  const registry = createRegistry();
  const kubeMetrics = createKubeMetrics(registry, METRICS_PREFIX);
  const metrics = createRuntimeMetrics(registry, METRICS_PREFIX);
  const transport = createTransport({
    connection: loadConnection(config.kubeconfig),
    userAgent: FIELD_MANAGER,
    qps: QPS,
    burst: 2 * QPS,
    onRequest: kubeMetrics.onRequest,
  });
  const client = createClient(transport);
  const stores = createStores();
  let controllers: Controllers | undefined;
  // The controllers need the context, and the context wakes the controllers.
  const wakeControlPlane = (tenant: Tenant): void => {
    const object = findByTenant(stores.controlPlanes, tenant);
    if (object !== undefined) controllers?.controlPlanes.add(objectKey(object));
  };
  const wakeCluster = (tenant: Tenant): void => {
    const object = findByTenant(stores.clusters, tenant);
    if (object !== undefined) controllers?.clusters.add(objectKey(object));
  };
  const context: Context = {
    config,
    client,
    stores,
    recorder: createRecorder({
      client,
      reportingController: "local.marina.dev/provider",
      reportingInstance: hostname(),
      fieldManager: FIELD_MANAGER,
      log,
      onEvent: metrics.onEvent,
    }),
    processes: openProcesses({
      recordsDir: join(config.runDir, "processes"),
      onExit: (name) => wakeControlPlane(tenantOfProcess(name)),
      log,
    }),
    ports: createTenantPorts(config.runDir, (port) =>
      stores.clusters.list().some(({ spec }) => spec.controlPlaneEndpoint?.port === port),
    ),
    fronts: createFrontClient(config.frontUrl),
    keys: createTenantKeys(config.programs.etcdUrl),
    versions: createVersions({
      pathOf: (version) => apiserverPath(config.apiserverBuild, version),
      link: (version) => linkApiserver(config.apiserverBuild, version),
      onEnd() {
        for (const key of stores.controlPlanes.keys()) controllers?.controlPlanes.add(key);
      },
      log,
    }),
    apis: createTenantApis(config.runDir, wakeCluster),
    starting: new Set(),
    failures: new Map(),
    wakeCluster,
    log,
  };
  const created = createControllers(context, metrics.controller);
  controllers = created;
  return { context, controllers: created, registry, kubeMetrics };
}

function waitForSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => resolve());
  });
}

/**
 * A Cluster API provider for development and tests, whose clusters are local processes. Argument: the configuration
 * file. SIGTERM stops the processes of all tenants too; after a kill they keep running, and the next start adopts them.
 */
async function main(): Promise<void> {
  const stopped = waitForSignal();
  const config = readConfig(process.argv[2] ?? "");
  const { context, controllers, registry, kubeMetrics } = createContext(config);
  const { client, stores, log, processes } = context;
  const watches = createWatches({
    client,
    stores,
    controllers: () => controllers,
    metrics: kubeMetrics,
    log,
  });
  const watching = new AbortController();
  let synced = false;
  const server = await startHealthServer({
    address: "127.0.0.1",
    port: config.healthPort,
    registry,
    healthz: {
      watches: () => watches.healthy(),
      controllers: () => controllers.all.every((one) => one.healthy()),
    },
    readyz: { synced: () => synced },
    log,
  });
  watches.start(watching.signal);
  await Promise.race([watches.synced, stopped]);
  for (const controller of controllers.all) controller.start();
  synced = true;
  removeOrphans(context).catch((error: unknown) => log.error({ err: error }, "orphans could not be removed"));
  log.info({ adopted: processes.names().length }, "ready");
  await stopped;
  await Promise.all(controllers.all.map((controller) => controller.drain(DRAIN_DEADLINE_MS)));
  processes.close();
  await processes.stopAll();
  watching.abort();
  await server.close();
  process.exit(0);
}

await main();
