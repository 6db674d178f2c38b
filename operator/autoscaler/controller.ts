import type { Controller, ReconcileResult } from "../../shared/controller/controller.ts";
import { applyPlan } from "../../shared/controller/plan.ts";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { idOf } from "../../shared/crd/identity.ts";
import { isAutoscaled } from "../../shared/crd/node-pool-rules.ts";
import type { KubeObject } from "../../shared/kube/kind.ts";
import { objectKey, toKey } from "../../shared/kube/object.ts";
import type { Change } from "../../shared/kube/reflector.ts";
import { type Cached, type CacheSet, type Caches, enqueueTo, isNewSpec, type RunContext } from "../caches.ts";
import { clusterOfAccessSecret, nameKubeconfigSecret } from "../capi/secrets.ts";
import { isDeleting, isSuspended } from "../identity/identity.ts";
import { findCapi, isOwnerChanged } from "../identity/ownership.ts";
import { INDEX_CLUSTER } from "../indexes.ts";
import { revisionOf } from "../tenant/access.ts";
import { clusterOfAutoscaler, nameAutoscaler } from "./children.ts";
import { type AutoscalerSettings, type ObservedAutoscaler, reconcileAutoscaler } from "./reconcile.ts";

export interface AutoscalerDeps {
  caches: Caches;
  settings: AutoscalerSettings;
}

/** Reconciles the autoscaler of one cluster. Rejects with the StepError of an object that was not written. */
export async function runAutoscaler(
  deps: AutoscalerDeps,
  key: string,
  context: RunContext,
): Promise<ReconcileResult> {
  const observed = observeAutoscaler(deps.caches, deps.settings, key);
  if (observed === undefined) return undefined;
  await applyPlan({ ...context, kind: clusterKind }, observed.cluster, reconcileAutoscaler(observed));
  return undefined;
}

/** Adds the key of a cluster for every change that its autoscaler depends on. */
export function watchAutoscalers(cacheSet: CacheSet, controller: Pick<Controller, "add">): void {
  const add = enqueueTo(controller);
  const isChanged = (change: Change<KubeObject>) =>
    isNewSpec(change) ||
    change.object.metadata.finalizers?.length !== change.previous?.metadata.finalizers?.length;
  const addByChild = (change: Change<KubeObject>) => {
    const { namespace, name } = change.object.metadata;
    const cluster = clusterOfAutoscaler(name);
    if (cluster !== undefined && isChanged(change)) add(toKey(namespace, cluster), change);
  };
  cacheSet.listen("clusters", (change) => {
    const isOtherVersion = change.previous?.status?.version !== change.object.status?.version;
    if (isChanged(change) || isOtherVersion) add(objectKey(change.object), change);
  });
  cacheSet.listen("clusterSecrets", (change) => {
    const { metadata } = change.object;
    const cluster = clusterOfAccessSecret(metadata);
    if (cluster !== undefined && metadata.name === nameKubeconfigSecret(cluster))
      add(toKey(metadata.namespace, cluster), change);
  });
  cacheSet.listen("capiClusters", (change) => {
    if (isOwnerChanged(change)) add(objectKey(change.object), change);
  });
  cacheSet.listen("nodePools", (change) => {
    const { metadata, spec } = change.object;
    if (isChanged(change)) add(toKey(metadata.namespace, spec.clusterName), change);
  });
  cacheSet.listen("serviceAccounts", addByChild);
  cacheSet.listen("roles", addByChild);
  cacheSet.listen("roleBindings", addByChild);
  cacheSet.listen("deployments", addByChild);
}

/**
 * The caches of what only autoscalers have: without an image the operator has no right to it. Those of an earlier image
 * have lost their Roles by then, which it may always delete.
 */
export function findUnusedCaches({ autoscalerImage }: AutoscalerSettings): ReadonlySet<keyof Cached> {
  return new Set(autoscalerImage === undefined ? ["serviceAccounts", "deployments"] : []);
}

/** Gathers it from the caches; undefined for a cluster that is deleted or suspended, or has no id yet. */
function observeAutoscaler(
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
  const kubeconfig = caches.clusterSecrets.get(nameKubeconfigSecret(key));
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
    version: cluster.status?.version ?? capi?.state.topologyVersion,
    kubeconfigRevision: kubeconfig && revisionOf(kubeconfig.metadata),
    settings,
  };
}
