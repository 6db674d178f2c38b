import type { Controller } from "../../shared/controller/controller.ts";
import { PRIORITY_BACKGROUND } from "../../shared/controller/queue.ts";
import type { KubeObject } from "../../shared/kube/kind.ts";
import { objectKey, toKey } from "../../shared/kube/object.ts";
import type { Change } from "../../shared/kube/reflector.ts";
import type { CacheSet } from "../caches.ts";
import { clusterOfAutoscaler } from "./children.ts";

/** Which changes make the autoscaler of a cluster worth another look. Only keys are added. */
export function watchAutoscalers(set: CacheSet, controller: Pick<Controller, "add">): void {
  const add = (key: string, change: Change<KubeObject>) =>
    controller.add(key, change.initial ? { priority: PRIORITY_BACKGROUND } : {});
  const isNewSpec = ({ object, previous, type }: Change<KubeObject>) =>
    type !== "updated" ||
    object.metadata.generation !== previous?.metadata.generation ||
    object.metadata.finalizers?.length !== previous?.metadata.finalizers?.length;
  const addByChild = (change: Change<KubeObject>) => {
    const { namespace, name } = change.object.metadata;
    const cluster = clusterOfAutoscaler(name);
    if (cluster !== undefined && isNewSpec(change)) add(toKey(namespace, cluster), change);
  };
  set.listen("clusters", (change) => {
    if (isNewSpec(change)) add(objectKey(change.object), change);
  });
  set.listen("nodePools", (change) => {
    const { metadata, spec } = change.object;
    if (isNewSpec(change)) add(toKey(metadata.namespace, spec.clusterName), change);
  });
  set.listen("serviceAccounts", addByChild);
  set.listen("roles", addByChild);
  set.listen("roleBindings", addByChild);
  set.listen("deployments", addByChild);
}
