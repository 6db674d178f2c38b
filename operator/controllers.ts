import type { Controller } from "../shared/controller/controller.ts";
import { createStatusThrottle } from "../shared/controller/status-throttle.ts";
import { objectKey } from "../shared/kube/object.ts";
import { runAddOns, watchAddOns } from "./add-ons/controller.ts";
import { createAddOnObstacles } from "./add-ons/observe.ts";
import { runAdminKubeconfig, watchAdminKubeconfigs } from "./admin-kubeconfig/controller.ts";
import { runAutoscaler, watchAutoscalers } from "./autoscaler/controller.ts";
import { CAPABILITIES, publishCapabilities, watchCapabilities } from "./capabilities/controller.ts";
import { createInfrastructureReader } from "./capi/infrastructure.ts";
import { createTopologyWrites } from "./capi/topology.ts";
import { createProber, isShownReachable, probeEndpoint } from "./cluster/probe.ts";
import { createRejections } from "./cluster/rejections.ts";
import { runCluster } from "./cluster/run.ts";
import { createChecksReader, createUpgradeChecker } from "./cluster/upgrade-checks.ts";
import { watchClusters } from "./cluster/watch.ts";
import { runAccess } from "./cluster-access/run.ts";
import { watchAccesses } from "./cluster-access/watch.ts";
import {
  type ControllersDeps,
  createOperatorController,
  createTenantController,
} from "./create-controller.ts";
import { runEvent, watchClusterEvents } from "./events/controller.ts";
import { INDEX_NAMESPACE } from "./indexes.ts";
import { runPool, watchNodePools } from "./node-pool/controller.ts";
import { runOrphans, watchOrphans } from "./orphans/controller.ts";
import { publishUnrecorded, UNRECORDED, watchUnrecorded } from "./orphans/unrecorded.ts";
import { runProviderCredentials, watchProviderCredentials } from "./provider-credentials/controller.ts";
import { runRegistration, watchRegistrations } from "./registration/controller.ts";
import { createDriver, runInventory, watchInventories } from "./shared-storage/controller.ts";
import { createPoolList } from "./shared-storage/pool-list.ts";
import { ROUND, runRound } from "./shared-storage/round.ts";
import { runSubnet } from "./subnets/controller.ts";
import { createSigners } from "./tenant/issue.ts";
import { createTenantAccess } from "./tenant/tenant.ts";
import { createAccessHealth, createFindingsStore } from "./tenant/tenant-findings.ts";
import { runTenantBindings, watchTenantBindings } from "./tenant-bindings/controller.ts";

export interface Controllers {
  /** To be called once all caches are synced. */
  start(): void;
  /** Waits for the runs in progress; false when the deadline came first. */
  drain(deadlineMs: number): Promise<boolean>;
  healthy(): boolean;
}

/** All controllers: what each of them runs, what it resyncs, and which changes enqueue its keys. */
export function createControllers(deps: ControllersDeps): Controllers {
  const { config, client, cacheSet, reportingController } = deps;
  const { caches } = cacheSet;
  const { settings } = config;
  const now = () => new Date();
  const findStatus = (key: string) => caches.clusters.get(key)?.status;
  const onChange = (key: string) => clusters.add(key);
  const prober = createProber({
    probe: (target) => probeEndpoint(target),
    isKnownReachable: (key) => isShownReachable(findStatus(key)),
    onChange,
    random: Math.random,
  });
  const accessHealth = createAccessHealth({ now, findStatus, onChange });
  const tenantFindings = createFindingsStore({ now, findStatus, onChange });
  const addOnObstacles = createAddOnObstacles((namespace) => {
    for (const cluster of caches.clusters.byIndex(INDEX_NAMESPACE, namespace))
      clusters.add(objectKey(cluster));
  });
  const tenants = createTenantAccess({ client, now, isLeader: () => deps.leadership.isLeader() });
  const upgradeChecker = createUpgradeChecker({
    read: createChecksReader(caches, tenants),
    onChange,
    now,
    log: deps.log,
  });
  const topologyWrites = createTopologyWrites();
  const clusterDeps = {
    client,
    caches,
    settings,
    prober,
    accessHealth,
    tenantFindings,
    addOnObstacles,
    infrastructure: createInfrastructureReader(client),
    throttle: createStatusThrottle({ counters: ["nodePools", "nodes"] }),
    rejections: createRejections(),
    topologyWrites,
    upgradeChecker,
    now,
    log: deps.log,
  };
  const poolDeps = {
    client,
    caches,
    settings,
    throttle: createStatusThrottle(),
    topologyWrites,
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
    tenantFindings,
  };

  const clusters: Controller = createOperatorController(
    deps,
    "cluster",
    (key, context) => runCluster(clusterDeps, key, context),
    () => caches.clusters.keys(),
  );
  const nodePools = createOperatorController(
    deps,
    "node-pool",
    (key, context) => runPool(poolDeps, key, context),
    () => caches.nodePools.keys(),
  );
  const adminKubeconfigs = createOperatorController(
    deps,
    "admin-kubeconfig",
    (key, context) => runAdminKubeconfig({ client, caches, apiserver, accessHealth, now }, key, context),
    () => caches.clusters.keys(),
  );
  // No resync: it checks each tenant's API at its own interval.
  const tenantBindings = createTenantController(deps, "tenant-bindings", (key, context) =>
    runTenantBindings(bindingsDeps, key, context),
  );
  const accesses = createTenantController(
    deps,
    "cluster-access",
    (key, context) => runAccess(accessDeps, key, context),
    () => caches.accesses.keys(),
  );
  const registrationDeps = {
    client,
    caches,
    apiserver,
    argoCDNamespace: config.argoCDNamespace,
    tenantFindings,
    now,
    keys: new Map<string, { access: string; key: string }>(),
  };
  const registrations = createOperatorController(
    deps,
    "registration",
    (key, context) => runRegistration(registrationDeps, key, context),
    () => caches.clusters.keys(),
  );
  const autoscalers = createOperatorController(
    deps,
    "autoscaler",
    (key, context) => runAutoscaler({ caches, settings }, key, context),
    () => caches.clusters.keys(),
  );
  const events = createOperatorController(deps, "event", (key, context) =>
    runEvent({ caches, reportingController }, key, context),
  );
  // No watch: the resync adds its keys.
  const subnets = createOperatorController(
    deps,
    "subnet",
    (key, context) => runSubnet({ caches, now }, key, context),
    () => caches.subnetAllocations.keys(),
  );
  // No resync: it looks again by itself.
  const capabilities = createOperatorController(deps, "class-capabilities", (_key, context) =>
    publishCapabilities({ caches, client, settings }, context),
  );
  const providerCredentials = createOperatorController(
    deps,
    "provider-credentials",
    (key, context) => runProviderCredentials({ client, caches, settings }, key, context),
    () => caches.namespaces.keys(),
  );
  const addOns = createOperatorController(
    deps,
    "add-ons",
    (key, context) => runAddOns({ client, caches, obstacles: addOnObstacles }, key, context),
    () => caches.namespaces.keys(),
  );
  // No resync: it looks again by itself while a deletion lasts.
  const orphans = createOperatorController(deps, "orphan", (key, context) =>
    runOrphans({ caches, client, now }, key, context),
  );

  // No resync: it looks again by itself.
  const { platformNamespace } = settings;
  const unrecordedDeps = { caches, client, platformNamespace, log: deps.log, now };
  const unrecorded = createOperatorController(deps, "unrecorded", (_key, context) =>
    publishUnrecorded(unrecordedDeps, context),
  );

  watchCapabilities(cacheSet, capabilities);
  watchClusters(cacheSet, clusters);
  watchNodePools(cacheSet, nodePools);
  watchAdminKubeconfigs(cacheSet, adminKubeconfigs);
  watchTenantBindings(cacheSet, tenantBindings);
  watchAccesses(cacheSet, accesses);
  watchRegistrations(cacheSet, registrations);
  watchAutoscalers(cacheSet, autoscalers);
  watchClusterEvents(cacheSet, events);
  watchOrphans(cacheSet, orphans);
  watchUnrecorded(cacheSet, unrecorded);
  watchProviderCredentials(cacheSet, providerCredentials);
  watchAddOns(cacheSet, addOns);
  const onPlatform = [
    clusters,
    nodePools,
    adminKubeconfigs,
    registrations,
    autoscalers,
    events,
    subnets,
    orphans,
    unrecorded,
    capabilities,
    providerCredentials,
    addOns,
  ];
  capabilities.add(CAPABILITIES);
  unrecorded.add(UNRECORDED);
  const outside = [tenantBindings, accesses, ...createStorageControllers(deps, now)];
  return joinControllers(onPlatform, outside, () => {
    prober.stop();
    upgradeChecker.stop();
  });
}

/** Where there is a shared storage: the rounds, and the inventories that they and changes enqueue. */
function createStorageControllers(deps: ControllersDeps, now: () => Date): Controller[] {
  const { client, cacheSet, log } = deps;
  const { storage, settings } = deps.config;
  if (storage === undefined) return [];
  const { defaultQuotaBytes, intervalSeconds } = storage;
  const unread = new Map<string, number>();
  const shared = {
    caches: cacheSet.caches,
    pools: createPoolList(),
    driver: createDriver(storage),
    now,
    log,
  };
  const inventories = createOperatorController(deps, "storage-inventory", (key, context) =>
    runInventory({ ...shared, defaultQuotaBytes, unread }, key, context),
  );
  const { platformNamespace } = settings;
  const rounds = createOperatorController(deps, "storage-round", (_key, context) =>
    runRound(
      { ...shared, client, platformNamespace, intervalMs: intervalSeconds * 1000 },
      inventories,
      context,
    ),
  );
  watchInventories(cacheSet, inventories);
  rounds.add(ROUND);
  return [inventories, rounds];
}

/** Liveness counts only what depends on the platform's Kubernetes API: no tenant and no storage may restart the operator. */
export function joinControllers(
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
