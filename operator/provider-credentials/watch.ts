import type { Controller } from "../../shared/controller/controller.ts";
import type { KubeObject } from "../../shared/kube/kind.ts";
import type { Change } from "../../shared/kube/reflector.ts";
import type { CacheSet } from "../caches.ts";
import { enqueueTo, isNewSpec } from "../enqueue.ts";

/** Adds the name of a Namespace for every change that its copies of credentials depend on. */
export function watchProviderCredentials(set: CacheSet, controller: Pick<Controller, "add">): void {
  const { caches } = set;
  const add = enqueueTo(controller);
  const addNamespace = (change: Change<KubeObject>) => add(change.object.metadata.namespace ?? "", change);
  set.listen("namespaces", (change) => add(change.object.metadata.name, change));
  set.listen("clusters", (change) => {
    if (isNewSpec(change)) addNamespace(change);
  });
  set.listen("capiClusters", (change) => {
    if (change.type !== "updated") addNamespace(change);
  });
  set.listen("providerCopies", addNamespace);
  set.listen("providerCredentials", (change) => {
    for (const { metadata } of caches.namespaces.list()) add(metadata.name, change);
  });
}
