import { expect, test } from "vitest";
import type { Cluster, ClusterStatus } from "../../shared/crd/cluster.ts";
import { makePool, NAMESPACE, START } from "../testing.ts";
import { createTestCaches } from "../testing-caches.ts";
import { findWoken } from "../testing-changes.ts";
import { aCluster } from "../testing-cluster.ts";
import { watchNodePools } from "./controller.ts";

const { cluster } = aCluster().ready().observed;
const status = cluster.status as ClusterStatus;

/** The pools of the cluster that are looked at when it changes. */
function findWokenBy(change: Partial<Cluster>): string[] {
  const caches = createTestCaches();
  caches.nodePools.set(structuredClone(makePool("web")));
  return findWoken(watchNodePools, caches, "clusters", {
    previous: cluster,
    object: { ...cluster, ...change },
  });
}

const withCondition = (type: "Stalled" | "Upgrading" | "WorkersReady", reason: string) => ({
  status: {
    ...status,
    conditions: [
      ...(status.conditions ?? []).filter((one) => one.type !== type),
      { type, status: "True" as const, reason, message: "", lastTransitionTime: START.toISOString() },
    ],
  },
});

test.each<[string, Partial<Cluster>]>([
  ["has another name", { spec: { ...cluster.spec, displayName: "blue" } }],
  ["is suspended", { spec: { ...cluster.spec, suspend: true } }],
  ["is deleted", { metadata: { ...cluster.metadata, deletionTimestamp: START.toISOString() } }],
  ["is another object", { metadata: { ...cluster.metadata, uid: "uid-other" } }],
  ["has another id", { metadata: { ...cluster.metadata, labels: {} }, status: { ...status, id: "other" } }],
  ["is stalled", withCondition("Stalled", "QuotaExceeded")],
  ["is upgraded", withCondition("Upgrading", "Upgrading")],
])("a pool is looked at when its cluster %s", (_what, change) => {
  expect(findWokenBy(change)).toEqual([`${NAMESPACE}/web`]);
});

test.each<[string, Partial<Cluster>]>([
  ["its nodes", { status: { ...status, nodes: { total: 9, ready: 9 } } }],
  ["its workers", withCondition("WorkersReady", "NoNodePools")],
  ["what happened", { status: { ...status, transitions: [] } }],
  ["where it is", { status: { ...status, apiServerURL: "https://192.0.2.1:6443" } }],
])("no pool is looked at when the status of its cluster says another thing of %s", (_what, change) => {
  expect(findWokenBy(change)).toEqual([]);
});
