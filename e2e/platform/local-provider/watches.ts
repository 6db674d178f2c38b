import type { KubeClient } from "../../../shared/kube/client.ts";
import { type Secret, secretKind } from "../../../shared/kube/core-kinds.ts";
import type { Kind, KubeObject } from "../../../shared/kube/kind.ts";
import { objectKey } from "../../../shared/kube/object.ts";
import { createReflector, type Reflector, type ReflectorMetrics } from "../../../shared/kube/reflector.ts";
import { createStore, type Store } from "../../../shared/kube/store.ts";
import type { Logger } from "../../../shared/program/log.ts";
import { type CapiMachine, capiMachineKind, findOwnerName } from "./capi-kinds.ts";
import { findByTenant, findTenant, INDEX_TENANT, indexByTenant, type Stores } from "./context.ts";
import type { Controllers } from "./controllers.ts";
import {
  LABEL_CLUSTER_NAME,
  type LocalBootstrap,
  type LocalCluster,
  type LocalControlPlane,
  type LocalMachine,
  localBootstrapKind,
  localClusterKind,
  localControlPlaneKind,
  localMachineKind,
} from "./kinds.ts";

const INDEX_MACHINE = "machine";

/** The key of the Machine that owns a LocalMachine or LocalBootstrap. */
function indexByMachine(object: KubeObject): string[] {
  const name = findOwnerName(object.metadata, "Machine");
  return name === undefined ? [] : [`${object.metadata.namespace}/${name}`];
}

export function createStores(): Stores {
  const byTenant = { [INDEX_TENANT]: indexByTenant };
  const byMachine = { ...byTenant, [INDEX_MACHINE]: indexByMachine };
  return {
    clusters: createStore<LocalCluster>(byTenant),
    controlPlanes: createStore<LocalControlPlane>(byTenant),
    machines: createStore<LocalMachine>(byMachine),
    bootstraps: createStore<LocalBootstrap>(byMachine),
    capiMachines: createStore<CapiMachine>(),
    secrets: createStore<Secret>(),
  };
}

export interface Watches {
  start(signal: AbortSignal): void;
  synced: Promise<unknown>;
  healthy(): boolean;
}

/** Fills the stores, and queues each change with the controllers that depend on it. */
export function createWatches(options: {
  client: KubeClient;
  stores: Stores;
  controllers: () => Controllers;
  metrics: ReflectorMetrics;
  log: Logger;
}): Watches {
  const { client, stores, metrics, log, controllers } = options;

  function watch<T extends KubeObject>(
    kind: Kind<T>,
    store: Store<T>,
    wake: (object: T) => void,
    labelSelector?: string,
  ): Reflector {
    const onChange = ({ object }: { object: T }): void => wake(object);
    return createReflector({ client, kind, store, labelSelector, onChange, log, metrics });
  }

  function wakeTenantOf(object: KubeObject): void {
    const tenant = findTenant(object);
    if (tenant === undefined) return;
    const cluster = findByTenant(stores.clusters, tenant);
    const controlPlane = findByTenant(stores.controlPlanes, tenant);
    if (cluster !== undefined) controllers().clusters.add(objectKey(cluster));
    if (controlPlane !== undefined) controllers().controlPlanes.add(objectKey(controlPlane));
  }

  const reflectors = [
    watch(localClusterKind, stores.clusters, wakeTenantOf),
    watch(localControlPlaneKind, stores.controlPlanes, (one) => {
      wakeTenantOf(one);
      // Machines wait for the first response of their control plane.
      for (const machine of stores.machines.byIndex(INDEX_TENANT, indexByTenant(one)[0] ?? "")) {
        if (machine.spec.providerID === undefined) controllers().machines.add(objectKey(machine));
      }
    }),
    watch(localMachineKind, stores.machines, (one) => controllers().machines.add(objectKey(one))),
    watch(localBootstrapKind, stores.bootstraps, (one) => controllers().bootstraps.add(objectKey(one))),
    watch(capiMachineKind, stores.capiMachines, (one) => {
      for (const machine of stores.machines.byIndex(INDEX_MACHINE, objectKey(one))) {
        if (machine.spec.providerID === undefined) controllers().machines.add(objectKey(machine));
      }
    }),
    watch(secretKind, stores.secrets, wakeTenantOf, LABEL_CLUSTER_NAME),
  ];
  return {
    start(signal) {
      for (const reflector of reflectors) reflector.start(signal);
    },
    synced: Promise.all(reflectors.map((reflector) => reflector.synced)),
    healthy: () => reflectors.every((reflector) => reflector.healthy()),
  };
}
