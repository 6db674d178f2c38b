import { expect, test } from "vitest";
import type { Controller } from "../../shared/controller/controller.ts";
import { LABEL_ADD_ON } from "../../shared/crd/names.ts";
import type { ConfigMap } from "../../shared/kube/core-kinds.ts";
import type { Change } from "../../shared/kube/reflector.ts";
import type { CacheSet, Listener } from "../caches.ts";
import { watchClusters } from "../cluster/watch.ts";
import { watchAddOns } from "./controller.ts";

type Watch = (cacheSet: CacheSet, controller: Pick<Controller, "add">) => void;

const HERE = "org-here";
const clusters = ["here", "there"].map((name) => ({ metadata: { namespace: `org-${name}`, name } }));
const namespaces = ["org-here", "org-there"].map((name) => ({ metadata: { name } }));

/**
 * The keys that a controller looks at for a change of manifests; only in other Namespaces there are clusters, or in
 * all.
 */
function findWoken(watch: Watch, change: Omit<Change<ConfigMap>, "initial">, hasClusters: boolean): string[] {
  const listeners: Listener<ConfigMap>[] = [];
  const listen = (name: string, listener: never) => {
    if (name === "addOnConfigMaps") listeners.push(listener);
  };
  const byIndex = (_: string, namespace: string) =>
    clusters.filter(({ metadata }) => hasClusters && metadata.namespace === namespace);
  const caches = {
    clusters: {
      byIndex,
      keys: () => clusters.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`),
    },
    capiClusters: { byIndex },
    namespaces: { list: () => namespaces },
  };
  const added: string[] = [];
  watch({ caches, listen } as unknown as CacheSet, { add: (key) => added.push(key) });
  for (const listener of listeners) listener({ ...change, initial: false });
  return added;
}

const marked = (mark: string): ConfigMap => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "cni", namespace: HERE, labels: { [LABEL_ADD_ON]: mark } },
});
const all = ["org-here/here", "org-there/there"];
const allNamespaces = [HERE, "org-there"];

test.each<[string, Omit<Change<ConfigMap>, "initial">, boolean, string[], string[]]>([
  [
    "a copy that is changed: those next to it",
    { type: "updated", previous: marked("copy"), object: marked("copy") },
    true,
    [HERE],
    ["org-here/here"],
  ],
  [
    "a copy that goes with the last cluster: none but its Namespace",
    { type: "deleted", object: marked("copy") },
    false,
    [HERE],
    [],
  ],
  ["a source: all", { type: "added", object: marked("source") }, false, allNamespaces, all],
  ["a source next to clusters: all", { type: "deleted", object: marked("source") }, true, allNamespaces, all],
  [
    "a copy that becomes a source: all",
    { type: "updated", previous: marked("copy"), object: marked("source") },
    true,
    allNamespaces,
    all,
  ],
  [
    "a source that becomes a copy: all",
    { type: "updated", previous: marked("source"), object: marked("copy") },
    true,
    allNamespaces,
    all,
  ],
])("%s are looked at for the manifests of an add-on", (_, change, hasClusters, woken, wokenClusters) => {
  expect(findWoken(watchAddOns, change, hasClusters)).toEqual(woken);
  expect(findWoken(watchClusters, change, hasClusters)).toEqual(wokenClusters);
});
