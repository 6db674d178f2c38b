import type { Controller, ReconcileResult } from "../../shared/controller/controller.ts";
import { applyPlan, composePlan } from "../../shared/controller/plan.ts";
import { LABEL_ADD_ON } from "../../shared/crd/names.ts";
import { listConcernedNamespaces } from "../../shared/crd/organization.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import { configMapKind, namespaceKind, secretKind } from "../../shared/kube/core-kinds.ts";
import type { KubeObject } from "../../shared/kube/kind.ts";
import { objectKey } from "../../shared/kube/object.ts";
import type { Change } from "../../shared/kube/reflector.ts";
import { type CacheSet, type Caches, enqueueTo, isNewSpec, type RunContext } from "../caches.ts";
import type { AddOnResource } from "../capi/add-ons.ts";
import { type CopyFailure, isOfCopy, writeCopies } from "../copies/copy.ts";
import {
  type AddOnObstacles,
  describePart,
  listManifests,
  type ObservedAddOns,
  observeAddOns,
} from "./observe.ts";
import { reconcileAddOns } from "./reconcile.ts";

export interface AddOnDeps {
  client: Pick<KubeClient, "get">;
  caches: Caches;
  obstacles: Pick<AddOnObstacles, "record" | "forget">;
}

/**
 * Reconciles the add-ons in one Namespace: the manifests first, so that Cluster API finds them. Records which cannot be copied, for
 * the conditions of the clusters. Rejects at the end with an error that names each object that was not written.
 */
export async function runAddOns(
  { client, caches, obstacles }: AddOnDeps,
  key: string,
  context: RunContext,
): Promise<ReconcileResult> {
  const observed = observeAddOns(caches, key);
  if (observed === undefined) {
    obstacles.forget(key);
    return undefined;
  }
  const changes = reconcileAddOns(observed);
  const { namespace } = observed;
  const writing = { client, label: LABEL_ADD_ON, namespace };
  const configMaps = await writeCopies(
    { ...writing, kind: configMapKind, sourceOf: findSource(observed, "ConfigMap") },
    changes.configMaps,
    context,
  );
  const secrets = await writeCopies(
    { ...writing, kind: secretKind, sourceOf: findSource(observed, "Secret") },
    changes.secrets,
    context,
  );
  if (observed.wanted.size + observed.taken.size === 0) obstacles.forget(key);
  else obstacles.record(key, findObstacles(observed, configMaps, secrets));
  const failures = [
    ...[...configMaps, ...secrets].map(({ message }) => message),
    ...changes.foreign.map((name) => `${name}: there is one that is no copy; remove it`),
    ...changes.taken,
  ];
  const plan = composePlan({ write: changes.write, remove: changes.remove });
  // The cache of the sets shows these writes, and enqueues the key again.
  await applyPlan({ ...context, kind: namespaceKind, onWritten: () => undefined }, namespace, plan);
  if (failures.length > 0)
    throw new Error(`Add-ons of the Namespace ${key} were not written: ${failures.join("; ")}`);
  return undefined;
}

/** The sets whose manifests, or whose own name, something else has. */
function findObstacles(
  { wanted, taken }: ObservedAddOns,
  configMaps: readonly CopyFailure[],
  secrets: readonly CopyFailure[],
): Map<string, readonly string[]> {
  const partsOf = (kind: AddOnResource["kind"], failures: readonly CopyFailure[]) =>
    failures.filter(({ isForeign }) => isForeign).map(({ name }) => describePart({ kind, name }));
  const foreign = new Set([...partsOf("ConfigMap", configMaps), ...partsOf("Secret", secrets)]);
  const obstacles = new Map(taken);
  for (const set of wanted.values()) {
    const inWay = listManifests(set)
      .map(describePart)
      .filter((part) => foreign.has(part));
    if (inWay.length > 0) obstacles.set(objectKey(set), inWay);
  }
  return obstacles;
}

function findSource({ wanted }: ObservedAddOns, kind: "ConfigMap" | "Secret"): (name: string) => string {
  const manifests = [...wanted.values()].flatMap(listManifests);
  return (name) => manifests.find((one) => one.kind === kind && one.name === name)?.namespace ?? "";
}

/** Adds the name of a Namespace for every change that its copies of add-ons depend on: those of a source concern all. */
export function watchAddOns(cacheSet: CacheSet, controller: Pick<Controller, "add">): void {
  const { caches } = cacheSet;
  const add = enqueueTo(controller);
  const addAll = (change: Change<KubeObject>) => {
    for (const { metadata } of caches.namespaces.list()) add(metadata.name, change);
  };
  const addConcerned = (change: Change<KubeObject>) => {
    if (isOfCopy(change, LABEL_ADD_ON)) add(change.object.metadata.namespace ?? "", change);
    else addAll(change);
  };
  cacheSet.listen("namespaces", (change) => {
    for (const namespace of listConcernedNamespaces(caches.namespaces, change)) add(namespace, change);
  });
  cacheSet.listen("capiClusters", (change) => {
    if (isNewSpec(change)) add(change.object.metadata.namespace ?? "", change);
  });
  cacheSet.listen("clusterClasses", addAll);
  cacheSet.listen("resourceSets", (change) => {
    if (isNewSpec(change)) addConcerned(change);
  });
  cacheSet.listen("addOnConfigMaps", addConcerned);
  cacheSet.listen("addOnSecrets", addConcerned);
}
