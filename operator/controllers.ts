import {
  type Controller,
  type ControllerMetrics,
  createController,
  type ReconcileResult,
} from "../shared/controller/controller.ts";
import type { Recorder } from "../shared/controller/recorder.ts";
import { createStatusThrottle } from "../shared/controller/status-throttle.ts";
import { FINALIZER, MANAGER_OPERATOR, MANAGER_OPERATOR_STATUS } from "../shared/crd/names.ts";
import type { KubeClient } from "../shared/kube/client.ts";
import type { Kind } from "../shared/kube/kind.ts";
import type { Logger } from "../shared/log.ts";
import { runGrant } from "./access/grant.ts";
import { runAccess } from "./access/run.ts";
import { createTenantAccess } from "./access/tenant.ts";
import { watchAccess, watchGrants } from "./access/watch.ts";
import { runAutoscaler } from "./autoscaler/run.ts";
import { watchAutoscalers } from "./autoscaler/watch.ts";
import type { CacheSet } from "./caches.ts";
import { createProber, probeEndpoint } from "./cluster/probe.ts";
import { runCluster } from "./cluster/run.ts";
import { watchClusters } from "./cluster/watch.ts";
import type { Config } from "./config.ts";
import { runEvent } from "./events/run.ts";
import { watchEvents } from "./events/watch.ts";
import { runPool } from "./node-pool/run.ts";
import { watchNodePools } from "./node-pool/watch.ts";
import { sweepLock } from "./subnets/sweep.ts";

export interface ControllersDeps {
  config: Config;
  client: KubeClient;
  set: CacheSet;
  recorder: Recorder;
  reportingController: string;
  isLeader(): boolean;
  metrics: ControllerMetrics;
  log: Logger;
}

export interface Controllers {
  /** Once all caches are synced. */
  start(): void;
  /** Ends the runs under way; false when the deadline came first. */
  drain(deadlineMs: number): Promise<boolean>;
  healthy(): boolean;
}

type OnWritten = (kind: Kind<unknown>, resourceVersion: string) => void;
type Reconcile = (key: string, signal: AbortSignal, onWritten: OnWritten) => Promise<ReconcileResult>;

/** The table of contents: every controller, what it runs, and what wakes it. */
export function createControllers(deps: ControllersDeps): Controllers {
  const { config, client, set, recorder, reportingController } = deps;
  const { caches } = set;
  const { settings } = config;
  const now = () => new Date();
  const isLeader = () => deps.isLeader();
  const prober = createProber({
    probe: probeEndpoint,
    onChange: (key) => clusters.add(key),
    random: Math.random,
  });
  const clusterDeps = { caches, settings, prober, pace: createStatusThrottle(), now };
  const poolDeps = { caches, settings, pace: createStatusThrottle(), now, seen: new Set<string>() };
  const apiserver = { namespace: settings.platformNamespace, name: config.apiserverServiceAccount };
  const tenants = createTenantAccess({ client, caches, now, isLeader });
  const accessDeps = {
    client,
    caches,
    apiserver,
    tenants,
    now,
    random: Math.random,
    seen: new Set<string>(),
  };
  const plan = (signal: AbortSignal, onWritten: OnWritten) => makePlanContext(deps, signal, onWritten);

  const clusters: Controller = makeController(
    deps,
    "cluster",
    (key, signal, onWritten) => runCluster(clusterDeps, key, plan(signal, onWritten)),
    () => caches.clusters.keys(),
  );
  const nodePools = makeController(
    deps,
    "node-pool",
    (key, signal, onWritten) => runPool(poolDeps, key, plan(signal, onWritten)),
    () => caches.nodePools.keys(),
  );
  // No resync: it looks into each tenant's API at its own pace.
  const access = makeController(deps, "access", (key, signal, onWritten) =>
    runAccess({ ...accessDeps, onWritten }, key, signal),
  );
  const grants = makeController(
    deps,
    "cluster-access",
    (key, signal, onWritten) => runGrant({ client, caches, tenants, now }, key, plan(signal, onWritten)),
    () => caches.accesses.keys(),
  );
  const autoscalers = makeController(
    deps,
    "autoscaler",
    (key, signal, onWritten) => runAutoscaler({ client, caches, settings, onWritten }, key, signal),
    () => caches.clusters.keys(),
  );
  const events = makeController(deps, "event", (key) =>
    runEvent({ caches, recorder, reportingController }, key),
  );
  const subnets = makeController(
    deps,
    "subnet",
    (key, signal) => sweepLock({ client, caches, now }, key, signal),
    () => caches.subnetLocks.keys(),
  );

  watchClusters(set, clusters);
  watchNodePools(set, nodePools);
  watchAccess(set, access);
  watchGrants(set, grants);
  watchAutoscalers(set, autoscalers);
  watchEvents(set, events);
  return bundle([clusters, nodePools, access, grants, autoscalers, events, subnets], () => prober.stop());
}

/** After a write the key rests until the cache shows it; what is not cached need not be waited for. */
function makeController(
  deps: ControllersDeps,
  name: string,
  reconcile: Reconcile,
  resyncKeys?: () => Iterable<string>,
): Controller {
  const controller: Controller = createController({
    name,
    reconcile: (key, signal) =>
      reconcile(key, signal, (kind, resourceVersion) => {
        const cache = deps.set.cacheOfWrites(kind);
        if (cache !== undefined) controller.expect(key, cache, resourceVersion);
      }),
    resyncKeys,
    resyncEveryMs: deps.config.resyncSeconds * 1000,
    workers: deps.config.workersPerKind,
    isLeader: () => deps.isLeader(),
    log: deps.log,
    metrics: deps.metrics,
  });
  return controller;
}

function makePlanContext({ client, recorder }: ControllersDeps, signal: AbortSignal, onWritten: OnWritten) {
  return {
    client,
    recorder,
    finalizer: FINALIZER,
    fieldManager: MANAGER_OPERATOR,
    statusFieldManager: MANAGER_OPERATOR_STATUS,
    onWritten,
    signal,
  };
}

function bundle(all: Controller[], stopProbing: () => void): Controllers {
  return {
    start() {
      for (const controller of all) controller.start();
    },
    async drain(deadlineMs) {
      stopProbing();
      const finished = await Promise.all(all.map((controller) => controller.drain(deadlineMs)));
      return finished.every(Boolean);
    },
    healthy: () => all.every((controller) => controller.healthy()),
  };
}
