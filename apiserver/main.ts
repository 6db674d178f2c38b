import { startHealthServer } from "../shared/controller/server.ts";
import { requireOwnKinds } from "../shared/crd/definitions.ts";
import { createClient } from "../shared/kube/client.ts";
import { loadConnection } from "../shared/kube/connection.ts";
import { requireServerVersion } from "../shared/kube/discovery.ts";
import { createKubeMetrics } from "../shared/kube/metrics.ts";
import { requireKinds } from "../shared/kube/required-kinds.ts";
import { createTransport } from "../shared/kube/transport.ts";
import { warnOfUnknownVariables } from "../shared/program/config.ts";
import { createKeyedSlots } from "../shared/program/limits.ts";
import { createBufferedLogger } from "../shared/program/log.ts";
import { createRegistry } from "../shared/program/metrics.ts";
import { reportFatalError, stopOnSignals, untilAborted } from "../shared/program/process.ts";
import { createApiTokenVerifier } from "./api-tokens/index.ts";
import { createApp, memberHooks } from "./app.ts";
import { startBackground } from "./background.ts";
import { runTokenCheck } from "./check-token.ts";
import { type Config, configSchema, readConfig } from "./config.ts";
import { addPoolMetrics, connectDatabase, probeDatabase } from "./db/client.ts";
import { requireSchema } from "./db/require-schema.ts";
import type { Deps } from "./deps.ts";
import { type Authenticator, createAuthenticator } from "./http/authentication/authenticator.ts";
import { watchEventLoop } from "./http/server/liveness.ts";
import { listen, type RunningServer } from "./http/server/server.ts";
import { bindUser, recordConfiguredMappings, recordIssuers } from "./members/index.ts";

/** How long requests in progress may take to complete once no more are accepted. */
const DRAIN_DEADLINE_MS = 20_000;

/** Runs the API server until SIGTERM or SIGINT, then drains it. */
async function run(config: Config): Promise<void> {
  const log = createBufferedLogger({ name: "apiserver", level: config.logLevel });
  warnOfUnknownVariables(log, configSchema);
  const stopping = stopOnSignals(log);
  const draining = new AbortController();
  let server: RunningServer | undefined;
  let authenticator: Authenticator | undefined;
  let hasSchema = false;
  const database = connectDatabase(config.databaseUrl);
  const metrics = createRegistry();
  addPoolMetrics(metrics, database);
  const kubeMetrics = createKubeMetrics(metrics, "marina_apiserver");
  const transport = createTransport({
    connection: loadConnection(config.kubeconfigPath),
    userAgent: "marina-apiserver",
    onRequest: kubeMetrics.onRequest,
  });
  await Promise.all([
    requireServerVersion(transport, log),
    requireKinds(transport, [requireOwnKinds()], log),
  ]);
  const deps: Deps = {
    config,
    log,
    now: () => new Date(),
    db: database.db,
    rightsDb: database.rightsDb,
    sql: database.sql,
    kube: createClient(transport),
    metrics,
    kubeMetrics,
    writeLocks: createKeyedSlots(1),
    draining: draining.signal,
  };
  const { isAlive } = watchEventLoop();
  const healthServer = await startHealthServer({
    address: config.listenAddress,
    port: config.metricsPort,
    registry: metrics,
    healthz: { "event loop": isAlive },
    readyz: {
      listening: () => server !== undefined,
      draining: () => !stopping.aborted,
      database: () => probeDatabase(deps.sql),
      schema: () => hasSchema,
      "identity provider": () => authenticator?.isReady() ?? false,
    },
    log,
  });

  await requireSchema(database.sql, config.databaseUrl, { log, signal: stopping });
  if (stopping.aborted) return;
  const issuers = await recordIssuers(deps.db, config.issuers);
  await recordConfiguredMappings(deps, memberHooks, issuers);
  hasSchema = true;
  authenticator = createAuthenticator({
    issuers,
    bindUser: (user, groups) => bindUser({ db: deps.db, hooks: memberHooks }, user, groups),
    apiTokens: createApiTokenVerifier(deps),
    log,
  });
  const keysLoaded = authenticator.loadKeys(stopping);
  const app = createApp(deps, { authenticator });
  server = await listen(app.fetch, {
    address: config.listenAddress,
    port: config.port,
    limits: config.limits,
    shutdownDelayMs: config.shutdownDelaySeconds * 1000,
  });
  log.info({ address: server.address, metricsPort: healthServer.port }, "listening");
  const background = Promise.all([
    keysLoaded,
    startBackground({ ...deps, db: database.backgroundDb }, draining.signal),
  ]);

  await untilAborted(stopping);
  await server.announceClose();
  draining.abort();
  await server.drain(DRAIN_DEADLINE_MS);
  await background;
  await Promise.all([healthServer.close(), transport.close(), database.close()]);
  log.info("stopped");
}

try {
  if (process.argv[2] === "check-token") await runTokenCheck();
  else await run(readConfig());
  // Seen: sockets that postgres.js opened while Postgres restarted outlive end() and would keep a drained process up.
  process.exit();
} catch (error) {
  reportFatalError(error);
  process.exit();
}
