import type { Cluster } from "../../shared/crd/cluster.ts";
import { idOf } from "../../shared/crd/identity.ts";
import { isAutoscaled } from "../../shared/crd/node-pool-rules.ts";
import type { Deployment, RbacRole, RoleBinding, ServiceAccount } from "../../shared/kube/core-kinds.ts";
import type { Cached, Caches } from "../caches.ts";
import { nameKubeconfigSecret } from "../capi/secrets.ts";
import type { PoolDefaults } from "../capi/worker-pool.ts";
import { isDeleting, isSuspended } from "../identity/identity.ts";
import { findCapi } from "../identity/ownership.ts";
import { INDEX_CLUSTER } from "../indexes.ts";
import { revisionOf } from "../tenant/authority.ts";
import { type AutoscalerPod, nameAutoscaler } from "./children.ts";

export interface AutoscalerSettings {
  /** Undefined = the platform runs no autoscalers. */
  autoscalerImage: string | undefined;
  /** What their Pods have of the platform; undefined = the defaults. */
  autoscalerPod?: AutoscalerPod | undefined;
  poolDefaults: PoolDefaults;
}

/**
 * The caches of what only autoscalers have: without an image the operator has no right to it. Those of an earlier image
 * have lost their Roles by then, which it may always delete.
 */
export function findUnusedCaches({ autoscalerImage }: AutoscalerSettings): ReadonlySet<keyof Cached> {
  return new Set(autoscalerImage === undefined ? ["serviceAccounts", "deployments"] : []);
}

/** All that is known about the autoscaler of one cluster when it is reconciled: plain data, no client. */
export interface ObservedAutoscaler {
  cluster: Cluster;
  clusterId: string;
  /** False for a cluster whose name a foreign Cluster API cluster has. */
  hasAutoscaledPool: boolean;
  /** The live objects of the autoscaler. */
  live: {
    serviceAccount: ServiceAccount | undefined;
    role: RbacRole | undefined;
    roleBinding: RoleBinding | undefined;
    deployment: Deployment | undefined;
  };
  /** What the cluster runs, else what it is made with; undefined = not known yet. */
  version: string | undefined;
  /** The version of the Secret with the tenant's kubeconfig; undefined = there is none yet. */
  kubeconfigRevision: string | undefined;
  settings: AutoscalerSettings;
}

/** Gathers it from the caches; undefined for a cluster that is deleted or suspended, or has no id yet. */
export function observeAutoscaler(
  caches: Caches,
  settings: AutoscalerSettings,
  key: string,
): ObservedAutoscaler | undefined {
  const cluster = caches.clusters.get(key);
  const clusterId = cluster && idOf(cluster);
  if (cluster === undefined || clusterId === undefined || isSuspended(cluster)) return undefined;
  const pools = caches.nodePools.byIndex(INDEX_CLUSTER, key);
  const name = nameAutoscaler(key);
  const { capi, nameTaken } = findCapi(caches, key);
  const kubeconfig = caches.authorities.get(nameKubeconfigSecret(key));
  return {
    cluster,
    clusterId,
    hasAutoscaledPool: !nameTaken && pools.some((pool) => !isDeleting(pool) && isAutoscaled(pool.spec)),
    live: {
      serviceAccount: caches.serviceAccounts.get(name),
      role: caches.roles.get(name),
      roleBinding: caches.roleBindings.get(name),
      deployment: caches.deployments.get(name),
    },
    version: cluster.status?.version ?? capi?.state.version,
    kubeconfigRevision: kubeconfig && revisionOf(kubeconfig.metadata),
    settings,
  };
}
