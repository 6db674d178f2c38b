import { describe, expect, test } from "vitest";
import type { Cluster } from "../../shared/crd/cluster.ts";
import type { ClusterAccess } from "../../shared/crd/cluster-access.ts";
import { LABEL_ID, LABEL_ORG_ID } from "../../shared/crd/names.ts";
import { STORAGE_INVENTORY_NAME } from "../../shared/crd/storage-inventory.ts";
import type { Namespace } from "../../shared/kube/core-kinds.ts";
import type { KubeObject } from "../../shared/kube/kind.ts";
import { createStore } from "../../shared/kube/store.ts";
import { watchAddOns } from "../add-ons/controller.ts";
import { watchClusters } from "../cluster/watch.ts";
import { watchAccesses } from "../cluster-access/watch.ts";
import { INDEX_ID } from "../indexes.ts";
import { watchNodePools } from "../node-pool/controller.ts";
import { watchProviderCredentials } from "../provider-credentials/controller.ts";
import { watchInventories } from "../shared-storage/controller.ts";
import { makePool } from "../testing.ts";
import { createTestCaches } from "../testing-caches.ts";
import { findWoken, type Watch } from "../testing-changes.ts";
import { aCluster } from "../testing-cluster.ts";
import { findOlderDuplicate, indexById } from "./identity.ts";

test("of two objects with one id the younger has an older duplicate", () => {
  const pools = createStore({ [INDEX_ID]: indexById });
  const [old, young] = [
    makePool("old", {}, { creationTimestamp: "2026-01-01T00:00:00Z" }),
    makePool("young", {}, { creationTimestamp: "2026-01-02T00:00:00Z" }),
  ];
  pools.set(old);
  pools.set(young);
  expect(findOlderDuplicate(pools, old)).toBeUndefined();
  expect(findOlderDuplicate(pools, young)).toBe(`${old.metadata.namespace}/old`);
});

/** An object of this kind with the id in this Namespace; of another name in another one. */
function make<T extends KubeObject>(sample: T, namespace: string, id = "one"): T {
  const name = namespace === "young" ? sample.metadata.name : namespace;
  const labels = { [LABEL_ID]: id };
  return { ...sample, metadata: { ...sample.metadata, name, namespace, uid: `uid-${namespace}`, labels } };
}

const cluster = aCluster().observed.cluster;
const pool = makePool("web");
const access = {
  apiVersion: cluster.apiVersion,
  kind: "ClusterAccess",
  metadata: { name: "key" },
  spec: { clusterName: "demo" },
} as ClusterAccess;

function makeCaches() {
  const caches = createTestCaches();
  caches.clusters.set(make<Cluster>(cluster, "young"));
  caches.nodePools.set(make(pool, "young"));
  caches.accesses.set(make(access, "young"));
  return caches;
}

describe("what shares its id with another one is looked at when that comes or goes", () => {
  test.each([
    ["a cluster", watchClusters, "clusters", cluster, "young/demo"],
    ["the cluster of a pool", watchClusters, "nodePools", pool, "young/demo"],
    ["a pool", watchNodePools, "nodePools", pool, "young/web"],
    ["an access", watchAccesses, "accesses", access, "young/key"],
  ] as const)("%s", (_what, watch, cache, sample, key) => {
    const changed = (change: object) =>
      findWoken(watch, makeCaches(), cache as "clusters", change as { object: Cluster });
    const [object, other] = [make<KubeObject>(sample, "old"), make<KubeObject>(sample, "old", "two")];
    expect(changed({ type: "deleted", previous: object, object })).toContain(key);
    expect(changed({ type: "added", object })).toContain(key);
    expect(changed({ previous: object, object: other })).toContain(key);
    expect(changed({ previous: object, object })).not.toContain(key);
    expect(changed({ type: "deleted", previous: other, object: other })).not.toContain(key);
  });
});

test.each<[string, Watch, string]>([
  ["a cluster", watchClusters, "young/demo"],
  ["a pool", watchNodePools, "young/web"],
  ["an access", watchAccesses, "young/key"],
  ["an inventory", watchInventories, `young/${STORAGE_INVENTORY_NAME}`],
  ["copies of credentials", watchProviderCredentials, "young"],
  ["copies of add-ons", watchAddOns, "young"],
])(
  "of two Namespaces of one organization: %s in one is looked at when the other comes or goes",
  (_what, watch, key) => {
    const namespaceOf = (name: string, organization: string): Namespace => ({
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name, uid: `uid-${name}`, labels: { [LABEL_ORG_ID]: organization } },
    });
    const changed = (change: { type?: "added" | "deleted"; previous?: Namespace; object: Namespace }) => {
      const caches = makeCaches();
      caches.namespaces.set(namespaceOf("young", "one"));
      return findWoken(watch, caches, "namespaces", change);
    };
    const [object, other] = [namespaceOf("old", "one"), namespaceOf("old", "two")];
    expect(changed({ type: "deleted", previous: object, object })).toContain(key);
    expect(changed({ type: "added", object })).toContain(key);
    expect(changed({ previous: object, object: other })).toContain(key);
    expect(changed({ previous: object, object })).not.toContain(key);
    expect(changed({ type: "deleted", previous: other, object: other })).not.toContain(key);
  },
);
