import {
  type Controller,
  type ControllerMetrics,
  createController,
  type ReconcileResult,
} from "../shared/controller/controller.ts";
import type { Leadership } from "../shared/controller/lease.ts";
import type { Recorder } from "../shared/controller/recorder.ts";
import { createStatusThrottle } from "../shared/controller/status-throttle.ts";
import { FINALIZER, MANAGER_OPERATOR, MANAGER_OPERATOR_STATUS } from "../shared/crd/names.ts";
import type { KubeClient } from "../shared/kube/client.ts";
import type { Logger } from "../shared/program/log.ts";
import { runAdminKubeconfig } from "./admin-kubeconfig/run.ts";
import { watchAdminKubeconfigs } from "./admin-kubeconfig/watch.ts";
import { runAutoscaler } from "./autoscaler/run.ts";
import { watchAutoscalers } from "./autoscaler/watch.ts";
import type { CacheSet, RunContext } from "./caches.ts";
import { CAPABILITIES, publishCapabilities } from "./capabilities/run.ts";
import { watchCapabilities } from "./capabilities/watch.ts";
import { createProber, probeEndpoint } from "./cluster/probe.ts";
import { createInfrastructureReader } from "./cluster/read-infrastructure.ts";
import { runCluster } from "./cluster/run.ts";
import { createTaintRefusals } from "./cluster/taint-refusals.ts";
import { watchClusters } from "./cluster/watch.ts";
import { runAccess } from "./cluster-access/run.ts";
import { watchAccesses } from "./cluster-access/watch.ts";
import type { Config } from "./config.ts";
import { runEvent } from "./events/run.ts";
import { watchClusterEvents } from "./events/watch.ts";
import { runPool } from "./node-pool/run.ts";
import { watchNodePools } from "./node-pool/watch.ts";
import { runOrphans } from "./orphans/run.ts";
import { watchOrphans } from "./orphans/watch.ts";
import { runProviderCredentials } from "./provider-credentials/run.ts";
import { watchProviderCredentials } from "./provider-credentials/watch.ts";
import { createPoolList } from "./shared-storage/pool-list.ts";
import { ROUND, runRound } from "./shared-storage/round.ts";
import { runInventory } from "./shared-storage/run.ts";
import { createDriver } from "./shared-storage/settings.ts";
import { watchInventories } from "./shared-storage/watch.ts";
import { runLock } from "./subnets/run.ts";
import { createAccessHealth } from "./tenant/access-health.ts";
import { createSigners } from "./tenant/signers.ts";
import { createTenantAccess } from "./tenant/tenant.ts";
import { createTenantRecords } from "./tenant/tenant-records.ts";
import { runTenantBindings } from "./tenant-bindings/run.ts";
import { watchTenantBindings } from "./tenant-bindings/watch.ts";

export interface ControllersDeps {
  config: Config;
  client: KubeClient;
  set: CacheSet;
  recorder: Recorder;
  reportingController: string;
  leadership: Leadership;
  metrics: ControllerMetrics;
  log: Logger;
}

export interface Controllers {
  /** To be called once all caches are synced. */
  start(): void;
  /** Waits for the runs in progress; false when the deadline came first. */
  drain(deadlineMs: number): Promise<boolean>;
  healthy(): boolean;
}

type Run = (key: string, context: RunContext) => Promise<ReconcileResult>;

/** All controllers: what each of them runs, what it resyncs, and which changes wake it. */
export function createControllers(deps: ControllersDeps): Controllers {
  const { config, client, set, reportingController } = deps;
  const { caches } = set;
  const { settings } = config;
  const now = () => new Date();
  const prober = createProber({
    probe: (target) => probeEndpoint(target),
    onChange: (key) => clusters.add(key),
    random: Math.random,
  });
  const accessHealth = createAccessHealth({ now, onChange: (key) => clusters.add(key) });
  const tenantRecords = createTenantRecords({ now, onChange: (key) => clusters.add(key) });
  const tenants = createTenantAccess({ client, now, isLeader: () => deps.leadership.isLeader() });
  const clusterDeps = {
    client,
    caches,
    settings,
    prober,
    accessHealth,
    tenantRecords,
    infrastructure: createInfrastructureReader(client),
    throttle: createStatusThrottle({ counters: ["nodePools", "nodes"] }),
    taintRefusals: createTaintRefusals(),
    now,
  };
  const poolDeps = {
    caches,
    settings,
    throttle: createStatusThrottle(),
    now,
    log: deps.log,
  };
  const apiserver = { namespace: settings.platformNamespace, name: config.apiserverServiceAccount };
  const signers = createSigners(now);
  const accessDeps = {
    client,
    caches,
    tenants,
    signers,
    apiserver,
    now,
    issuing: new Set<string>(),
    throttle: createStatusThrottle(),
    sweeps: new Map(),
  };
  const bindingsDeps = {
    client,
    caches,
    apiserver,
    tenants,
    signers,
    accessHealth,
    now,
    random: Math.random,
    checked: new Set<string>(),
    sweeps: new Map(),
    tenantRecords,
  };

  const clusters: Controller = createOne(
    deps,
    "cluster",
    (key, context) => runCluster(clusterDeps, key, context),
    () => caches.clusters.keys(),
  );
  const nodePools = createOne(
    deps,
    "node-pool",
    (key, context) => runPool(poolDeps, key, context),
    () => caches.nodePools.keys(),
  );
  const adminKubeconfigs = createOne(
    deps,
    "admin-kubeconfig",
    (key, context) => runAdminKubeconfig({ client, caches, apiserver, accessHealth, now }, key, context),
    () => caches.clusters.keys(),
  );
  // No resync: it checks each tenant's API at its own interval.
  const tenantBindings = createOne(deps, "tenant-bindings", (key, context) =>
    runTenantBindings(bindingsDeps, key, context),
  );
  const accesses = createOne(
    deps,
    "cluster-access",
    (key, context) => runAccess(accessDeps, key, context),
    () => caches.accesses.keys(),
  );
  const autoscalers = createOne(
    deps,
    "autoscaler",
    (key, context) => runAutoscaler({ caches, settings }, key, context),
    () => caches.clusters.keys(),
  );
  const events = createOne(deps, "event", (key, context) =>
    runEvent({ caches, reportingController }, key, context),
  );
  const subnets = createOne(
    deps,
    "subnet",
    (key, context) => runLock({ caches, now }, key, context),
    () => caches.subnetLocks.keys(),
  );
  // No resync: it looks again by itself.
  const capabilities = createOne(deps, "class-capabilities", (_key, context) =>
    publishCapabilities({ caches, client, settings }, context),
  );
  const providerCredentials = createOne(
    deps,
    "provider-credentials",
    (key, context) => runProviderCredentials({ client, caches, settings }, key, context),
    () => caches.namespaces.keys(),
  );
  // No resync: it looks again by itself while a deletion lasts.
  const orphans = createOne(deps, "orphan", (key, context) =>
    runOrphans({ caches, client, now }, key, context),
  );

  watchCapabilities(set, capabilities);
  watchClusters(set, clusters);
  watchNodePools(set, nodePools);
  watchAdminKubeconfigs(set, adminKubeconfigs);
  watchTenantBindings(set, tenantBindings);
  watchAccesses(set, accesses);
  watchAutoscalers(set, autoscalers);
  watchClusterEvents(set, events);
  watchOrphans(set, orphans);
  watchProviderCredentials(set, providerCredentials);
  const onPlatform = [
    clusters,
    nodePools,
    adminKubeconfigs,
    autoscalers,
    events,
    subnets,
    orphans,
    capabilities,
    providerCredentials,
  ];
  capabilities.add(CAPABILITIES);
  const outside = [tenantBindings, accesses, ...createStorageControllers(deps, now)];
  return bundle(onPlatform, outside, () => prober.stop());
}

/** Where there is a shared storage: the rounds, and the inventories that they and changes wake. */
function createStorageControllers(deps: ControllersDeps, now: () => Date): Controller[] {
  const { client, set, log } = deps;
  const { storage, settings } = deps.config;
  if (storage === undefined) return [];
  const { defaultQuotaBytes, intervalSeconds } = storage;
  const unread = new Map<string, number>();
  const shared = { caches: set.caches, pools: createPoolList(), driver: createDriver(storage), now, log };
  const inventories = createOne(deps, "storage-inventory", (key, context) =>
    runInventory({ ...shared, defaultQuotaBytes, unread }, key, context),
  );
  const { platformNamespace } = settings;
  const rounds = createOne(deps, "storage-round", (_key, context) =>
    runRound(
      { ...shared, client, platformNamespace, intervalMs: intervalSeconds * 1000 },
      inventories,
      context,
    ),
  );
  watchInventories(set, inventories);
  rounds.add(ROUND);
  return [inventories, rounds];
}

/** After a write the key rests until the cache shows it; writes of kinds that are not cached are not waited for. */
function createOne(
  deps: ControllersDeps,
  name: string,
  run: Run,
  resyncKeys?: () => Iterable<string>,
): Controller {
  const { client, recorder } = deps;
  const controller: Controller = createController({
    name,
    reconcile: (key, signal) =>
      run(key, {
        client,
        recorder,
        finalizer: FINALIZER,
        fieldManager: MANAGER_OPERATOR,
        statusFieldManager: MANAGER_OPERATOR_STATUS,
        onWritten(kind, resourceVersion) {
          const cache = deps.set.cacheOfWrites(kind);
          if (cache !== undefined) controller.expect(key, cache, resourceVersion);
        },
        signal,
      }),
    resyncKeys,
    resyncEveryMs: deps.config.resyncSeconds * 1000,
    ...workersOf(deps.config, name),
    leadership: deps.leadership,
    log: deps.log,
    metrics: deps.metrics,
  });
  return controller;
}

/**
 * What connects to tenants has many workers, few for each organization: a tenant's API server that responds slowly delays
 * its own organization only.
 */
function workersOf(config: Config, name: string): { workers: number; maxPerNamespace?: number } {
  if (name !== "tenant-bindings" && name !== "cluster-access") return { workers: config.workersPerKind };
  return { workers: config.tenantWorkers, maxPerNamespace: config.tenantWorkersPerNamespace };
}

/** Liveness counts only what depends on the platform's API server: no tenant and no storage may restart the operator. */
export function bundle(
  onPlatform: Controller[],
  outside: Controller[],
  stopProbing: () => void,
): Controllers {
  const all = [...onPlatform, ...outside];
  return {
    start() {
      for (const controller of all) controller.start();
    },
    async drain(deadlineMs) {
      stopProbing();
      const finished = await Promise.all(all.map((controller) => controller.drain(deadlineMs)));
      return finished.every(Boolean);
    },
    healthy: () => onPlatform.every((controller) => controller.healthy()),
  };
}
