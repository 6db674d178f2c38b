import type { KubeObject } from "../../shared/kube/kind.ts";
import { objectKey } from "../../shared/kube/object.ts";
import type { Store } from "../../shared/kube/store.ts";
import { createLogger } from "../../shared/program/log.ts";
import { trimCredential } from "../admin-kubeconfig/kubeconfig.ts";
import type { Caches } from "../caches.ts";
import { trimAccessSecret } from "../capi/secrets.ts";
import { createCaches } from "../create-caches.ts";

/** The operator's caches without an API server behind them. */
export interface BenchCaches {
  caches: Caches;
  put(object: KubeObject): void;
  remove(object: KubeObject): void;
}

export function createBenchCaches(platformNamespace: string): BenchCaches {
  const { caches } = createCaches({
    client: { list: neverAsked, watch: neverAsked },
    platformNamespace,
    log: createLogger({ name: "bench", level: "fatal" }),
    metrics: { onRestart: () => undefined, onSize: () => undefined },
  });
  const stores: Record<string, Store<never>[]> = {
    "v1 Namespace": [caches.namespaces],
    "v1 ConfigMap": [caches.subnetAllocations],
    "rbac.authorization.k8s.io Role": [caches.roles],
    "rbac.authorization.k8s.io RoleBinding": [caches.roleBindings],
    "cloud.marina.dev Cluster": [caches.clusters],
    "cloud.marina.dev NodePool": [caches.nodePools],
    "cluster.x-k8s.io Cluster": [caches.capiClusters],
    "cluster.x-k8s.io MachineDeployment": [caches.machineDeployments],
    "cluster.x-k8s.io MachineSet": [caches.machineSets],
    "cluster.x-k8s.io Machine": [caches.machines],
    "cluster.x-k8s.io ClusterClass": [caches.clusterClasses],
  } as unknown as Record<string, Store<never>[]>;

  function storesOf(object: KubeObject): Store<never>[] {
    if (object.kind === "ConfigMap" && object.metadata.name === "kubernetes-versions") {
      return [caches.catalogues as unknown as Store<never>];
    }
    if (object.kind === "Secret") {
      const ours = object.metadata.labels?.["cloud.marina.dev/credential"] !== undefined;
      return [(ours ? caches.issuedCredentials : caches.clusterSecrets) as unknown as Store<never>];
    }
    return stores[`${object.apiVersion.split("/")[0]} ${object.kind}`] ?? [];
  }

  return {
    caches,
    put(object) {
      const { managedFields: _, ...metadata } = object.metadata;
      const bare = structuredClone({ ...object, metadata });
      const trimmed =
        object.kind !== "Secret"
          ? bare
          : object.metadata.labels?.["cloud.marina.dev/credential"] === undefined
            ? trimAccessSecret(bare)
            : trimCredential(bare);
      if (trimmed === undefined) return;
      for (const store of storesOf(object)) store.set(trimmed as never);
    },
    remove(object) {
      for (const store of storesOf(object)) store.remove(objectKey(object));
    },
  };
}

function neverAsked(): never {
  throw new Error("a benchmark's caches have no API server");
}
