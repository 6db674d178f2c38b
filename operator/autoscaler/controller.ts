import type { Controller, ReconcileResult } from "../../shared/controller/controller.ts";
import { applyPlan } from "../../shared/controller/plan.ts";
import { clusterKind } from "../../shared/crd/cluster.ts";
import type { KubeObject } from "../../shared/kube/kind.ts";
import { objectKey, toKey } from "../../shared/kube/object.ts";
import type { Change } from "../../shared/kube/reflector.ts";
import type { CacheSet, Caches, RunContext } from "../caches.ts";
import { enqueueTo, isNewSpec } from "../caches.ts";
import { clusterOfAuthority, nameKubeconfigSecret } from "../capi/secrets.ts";
import { isOwnerChanged } from "../identity/ownership.ts";
import { clusterOfAutoscaler } from "./children.ts";
import { type AutoscalerSettings, observeAutoscaler } from "./observe.ts";
import { reconcileAutoscaler } from "./reconcile.ts";

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
  cacheSet.listen("authorities", (change) => {
    const { metadata } = change.object;
    const cluster = clusterOfAuthority(metadata);
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
