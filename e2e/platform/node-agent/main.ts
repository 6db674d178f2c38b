import { startHealthServer } from "../../../shared/controller/server.ts";
import { createClient, type KubeClient } from "../../../shared/kube/client.ts";
import { loadConnection } from "../../../shared/kube/connection.ts";
import { configMapKind, secretKind } from "../../../shared/kube/core-kinds.ts";
import type { Kind, KubeObject } from "../../../shared/kube/kind.ts";
import { objectKey } from "../../../shared/kube/object.ts";
import { type Change, createReflector, type Reflector } from "../../../shared/kube/reflector.ts";
import { createStore, type Indexer, type Store } from "../../../shared/kube/store.ts";
import { createTransport } from "../../../shared/kube/transport.ts";
import { createLogger, type Logger } from "../../../shared/program/log.ts";
import { createRegistry } from "../../../shared/program/metrics.ts";
import { readConfig } from "./config.ts";
import type { Context } from "./context.ts";
import { endpointSliceKind, podKind, serviceKind } from "./kinds.ts";
import { registerNodes } from "./nodes.ts";
import { createPods } from "./pods.ts";
import { createServiceProxies, INDEX_SERVICE, indexByService } from "./services.ts";

interface Watched<T> {
  store: Store<T>;
  reflector: Reflector;
}

function watch<T extends KubeObject>(
  { client, log }: { client: KubeClient; log: Logger },
  kind: Kind<T>,
  onChange: (change: Change<T>) => void = () => undefined,
  indexers: Record<string, Indexer<T>> = {},
): Watched<T> {
  const store = createStore<T>(indexers);
  return { store, reflector: createReflector<T>({ client, kind, store, onChange, log }) };
}

function waitForSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => resolve());
  });
}

/**
 * Runs the Pods of its Nodes as processes of this machine, and makes Services reachable. Argument: the configuration
 * file. The processes end with it.
 */
async function main(): Promise<void> {
  const stopped = waitForSignal();
  const config = readConfig(process.argv[2] ?? "");
  const log = createLogger({ name: "node-agent", level: "info" });
  const transport = createTransport({
    connection: loadConnection(config.kubeconfig),
    userAgent: "node-agent",
  });
  const client = createClient(transport);
  const watching = { client, log };
  const secrets = watch(watching, secretKind);
  const configMaps = watch(watching, configMapKind);
  const slices = watch(watching, endpointSliceKind, undefined, { [INDEX_SERVICE]: indexByService });
  const services = watch(watching, serviceKind, ({ object }) => proxies.sync(objectKey(object)));
  const proxies = createServiceProxies(config.network, services.store, slices.store);
  const context: Context = {
    config,
    client,
    transport,
    log,
    sourcesOf: (namespace) => ({
      secret: (name) => secrets.store.get(`${namespace}/${name}`),
      configMap: (name) => configMaps.store.get(`${namespace}/${name}`),
    }),
    servicesOf: (namespace) =>
      services.store.list().filter(({ metadata }) => metadata.namespace === namespace),
    slicesOf: (service) => slices.store.byIndex(INDEX_SERVICE, objectKey(service)),
  };
  const pods = createPods(context);
  const podWatch = watch(watching, podKind, ({ type, object }) =>
    type === "deleted" ? pods.forget(object) : pods.observe(object),
  );
  const all = [secrets, configMaps, slices, services].map(({ reflector }) => reflector);
  const ending = new AbortController();
  for (const reflector of all) reflector.start(ending.signal);
  await Promise.race([Promise.all(all.map(({ synced }) => synced)), stopped]);
  await registerNodes(context);
  podWatch.reflector.start(ending.signal);
  const server = await startHealthServer({
    address: "127.0.0.1",
    port: config.healthPort,
    registry: createRegistry(),
    healthz: { watches: () => all.every((one) => one.healthy()) },
    readyz: { watches: () => all.every((one) => one.healthy()) },
    log,
  });
  log.info({ nodes: config.nodes }, "ready");
  await stopped;
  ending.abort();
  await pods.kill();
  proxies.close();
  await server.close();
  process.exit(0);
}

await main();
