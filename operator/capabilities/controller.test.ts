import { expect, test } from "vitest";
import type { Controller } from "../../shared/controller/controller.ts";
import type { Change } from "../../shared/kube/reflector.ts";
import type { CacheSet, Listener } from "../caches.ts";
import type { ClusterClass } from "../capi/kinds.ts";
import { watchClusters } from "../cluster/watch.ts";
import { CAPABILITIES, watchCapabilities } from "./controller.ts";

const CLUSTER = "org/demo";

type Watch = (cacheSet: CacheSet, controller: Pick<Controller, "add">) => void;

/** The keys that a controller looks at when the status of a class changes. */
function findWoken(watch: Watch, status: ClusterClass["status"]): string[] {
  const listeners: Listener<ClusterClass>[] = [];
  const listen = (name: string, listener: never) => {
    if (name === "clusterClasses") listeners.push(listener);
  };
  const added: string[] = [];
  const caches = { clusters: { keys: () => [CLUSTER] } };
  watch({ caches, listen } as unknown as CacheSet, { add: (key) => added.push(key) });
  const previous: ClusterClass = {
    apiVersion: "cluster.x-k8s.io/v1beta2",
    kind: "ClusterClass",
    metadata: { name: "standard", namespace: "classes", generation: 1 },
  };
  const object = { ...previous, ...(status && { status }) };
  const change: Change<ClusterClass> = { type: "updated", previous, object, initial: false };
  for (const listener of listeners) listener(change);
  return added;
}

test.each<[string, Watch, string[]]>([
  ["what the classes can do", watchCapabilities, [CAPABILITIES]],
  ["every cluster", watchClusters, [CLUSTER]],
])(
  "for variables that an extension gives a class %s is looked at once they are in its status",
  (_, watch, woken) => {
    expect(findWoken(watch, { variables: [{ name: "authorizedCIDRs" }] })).toEqual(woken);
  },
);

test("no cluster is looked at for a class whose status says nothing new", () => {
  expect(findWoken(watchClusters, undefined)).toEqual([]);
});
