import { expect, test } from "vitest";
import type { Caches } from "../caches.ts";
import type { ClusterClass } from "../capi/kinds.ts";
import { watchClusters } from "../cluster/watch.ts";
import { findWoken, type Watch } from "../testing-changes.ts";
import { CAPABILITIES, watchCapabilities } from "./controller.ts";

const CLUSTER = "org/demo";

/** The keys that a controller looks at when the status of a class changes. */
function findWokenBy(watch: Watch, status: ClusterClass["status"]): string[] {
  const caches = { clusters: { keys: () => [CLUSTER] } } as Caches;
  const previous: ClusterClass = {
    apiVersion: "cluster.x-k8s.io/v1beta2",
    kind: "ClusterClass",
    metadata: { name: "standard", namespace: "classes", generation: 1 },
  };
  const object = { ...previous, ...(status && { status }) };
  return findWoken(watch, caches, "clusterClasses", { previous, object });
}

test.each<[string, Watch, string[]]>([
  ["what the classes can do", watchCapabilities, [CAPABILITIES]],
  ["every cluster", watchClusters, [CLUSTER]],
])(
  "for variables that an extension gives a class %s is looked at once they are in its status",
  (_, watch, woken) => {
    expect(findWokenBy(watch, { variables: [{ name: "authorizedCIDRs" }] })).toEqual(woken);
  },
);

test("no cluster is looked at for a class whose status says nothing new", () => {
  expect(findWokenBy(watchClusters, undefined)).toEqual([]);
});
