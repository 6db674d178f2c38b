import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { createRuntimeMetrics } from "../../shared/controller/metrics.ts";
import { createRecorder } from "../../shared/controller/recorder.ts";
import { startHealthServer } from "../../shared/controller/server.ts";
import { createClient } from "../../shared/kube/client.ts";
import { loadConnection } from "../../shared/kube/connection.ts";
import { objectKey } from "../../shared/kube/object.ts";
import { createTransport } from "../../shared/kube/transport.ts";
import { createLogger } from "../../shared/log.ts";
import { createKubeMetrics, createRegistry } from "../../shared/metrics.ts";
import { linkApiserver, stampedApiserverPath } from "../stack/tools.ts";
import { type Context, findByTenant, type Settings } from "./context.ts";
import { FIELD_MANAGER } from "./control-plane/run.ts";
import { type Controllers, createControllers } from "./controllers.ts";
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

/** Everything that the controllers need, made from the settings; nothing runs yet but what an earlier run left. */
function createContext(settings: Settings) {
  const log = createLogger({ name: "local-provider", level: "info" });
  const registry = createRegistry();
  const kubeMetrics = createKubeMetrics(registry, METRICS_PREFIX);
  const metrics = createRuntimeMetrics(registry, METRICS_PREFIX);
  const transport = createTransport({
    connection: loadConnection(settings.kubeconfig),
    userAgent: FIELD_MANAGER,
    qps: QPS,
    burst: 2 * QPS,
    onRequest: kubeMetrics.onRequest,
  });
  const client = createClient(transport);
  const stores = createStores();
  let controllers: Controllers | undefined;
  const wakeControlPlane = (tenant: Tenant): void => {
    const object = findByTenant(stores.controlPlanes, tenant);
    if (object !== undefined) controllers?.controlPlanes.add(objectKey(object));
  };
  const wakeCluster = (tenant: Tenant): void => {
    const object = findByTenant(stores.clusters, tenant);
    if (object !== undefined) controllers?.clusters.add(objectKey(object));
  };
  const context: Context = {
    settings,
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
      recordsDir: join(settings.runDir, "processes"),
      onExit: (name) => wakeControlPlane(tenantOfProcess(name)),
      log,
    }),
    ports: createTenantPorts(settings.runDir, (port) =>
      stores.clusters.list().some(({ spec }) => spec.controlPlaneEndpoint?.port === port),
    ),
    fronts: createFrontClient(settings.frontUrl),
    keys: createTenantKeys(settings.programs.etcdUrl),
    versions: createVersions({
      pathOf: (version) => stampedApiserverPath(settings.toolsDir, version),
      link: (version) => linkApiserver(settings.toolsDir, version),
      onEnd: () =>
        controllers?.controlPlanes && wakeAll(controllers.controlPlanes, stores.controlPlanes.keys()),
      log,
    }),
    apis: createTenantApis(settings.runDir, wakeCluster),
    starting: new Set(),
    failures: new Map(),
    wakeCluster,
    log,
  };
  const made = createControllers(context, metrics.controller);
  controllers = made;
  return { context, controllers: made, registry, kubeMetrics };
}

function wakeAll(controller: { add(key: string): void }, keys: readonly string[]): void {
  for (const key of keys) controller.add(key);
}

function waitForSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => resolve());
  });
}

/**
 * Cluster API's provider for clusters that are plain processes of this machine, for development and tests. On SIGTERM
 * it ends the processes of all tenants with itself; killed, it leaves them running and finds them again.
 */
async function main(): Promise<void> {
  const stopped = waitForSignal();
  const settings: Settings = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8"));
  const { context, controllers, registry, kubeMetrics } = createContext(settings);
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
    port: settings.healthPort,
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
  removeOrphans(context).catch((error: unknown) => log.error({ err: error }, "orphans were not removed"));
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
