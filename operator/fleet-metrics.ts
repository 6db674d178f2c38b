import { findCondition } from "../shared/controller/conditions.ts";
import { elapsedMs } from "../shared/controller/time.ts";
import type { Cluster } from "../shared/crd/cluster.ts";
import { LABEL_ID, LABEL_ORG_ID } from "../shared/crd/names.ts";
import type { NodePool } from "../shared/crd/node-pool.ts";
import { toKey } from "../shared/kube/object.ts";
import { Gauge, type Registry } from "../shared/program/metrics.ts";
import type { Caches } from "./caches.ts";
import { LABEL_CAPI_CLUSTER, LABEL_CAPI_POOL } from "./capi/kinds.ts";

/** `<prefix>_clusters` and `<prefix>_node_pools` by phase, counted from the caches at each scrape. */
export function observeFleet(registry: Registry, prefix: string, caches: Caches): void {
  const kinds = [
    { name: "clusters", help: "Clusters by phase.", list: () => caches.clusters.list() },
    { name: "node_pools", help: "Node pools by phase.", list: () => caches.nodePools.list() },
  ];
  for (const { name, help, list } of kinds) {
    const gauge = new Gauge({
      name: `${prefix}_${name}`,
      help,
      labelNames: ["phase"],
      registers: [registry],
      collect() {
        const counts = new Map<string, number>();
        for (const { status } of list()) {
          const phase = status?.phase ?? "Unknown";
          counts.set(phase, (counts.get(phase) ?? 0) + 1);
        }
        gauge.reset();
        for (const [phase, count] of counts) gauge.set({ phase }, count);
      },
    });
  }
  observeUnrecorded(registry, prefix, caches);
}

/** Counts what runs or is to run, and is billed to no organization: each should be 0. */
function observeUnrecorded(registry: Registry, prefix: string, caches: Caches): void {
  const gauges = [
    {
      name: "unrecorded_machines",
      help: "Machines of node pools for at least a minute that the status of no node pool lists.",
      count: () => countUnrecordedMachines(caches, new Date()),
    },
    {
      name: "capi_clusters_without_cluster",
      help: "Clusters of Cluster API that Marina made and that have no Cluster.",
      count: () => countOrphanedClusters(caches),
    },
    {
      name: "refused_objects",
      help: "Clusters and node pools whose id belongs to another object.",
      count: () => [...caches.clusters.list(), ...caches.nodePools.list()].filter(isRefused).length,
    },
  ];
  for (const { name, help, count } of gauges) {
    const gauge = new Gauge({
      name: `${prefix}_${name}`,
      help,
      registers: [registry],
      collect() {
        gauge.set(count());
      },
    });
  }
}

/** A new machine is in a status within seconds. */
const RECORDED_WITHIN_MS = 60_000;

type FleetCaches = {
  [Name in "clusters" | "nodePools" | "capiClusters" | "machines" | "namespaces"]: Pick<
    Caches[Name],
    "list" | "get"
  >;
};

/**
 * Machines of pools of Cluster API clusters that Marina made, which no status lists. Where their Cluster of Cluster API is gone,
 * those in the Namespace of an organization.
 */
export function countUnrecordedMachines(caches: FleetCaches, now: Date): number {
  const recorded = new Set(
    caches.nodePools.list().flatMap(({ status }) => (status?.machines ?? []).map(({ uid }) => uid)),
  );
  return caches.machines.list().filter(({ metadata }) => {
    const cluster = metadata.labels?.[LABEL_CAPI_CLUSTER];
    if (cluster === undefined || metadata.labels?.[LABEL_CAPI_POOL] === undefined) return false;
    const capi = caches.capiClusters.get(toKey(metadata.namespace, cluster));
    const owner = capi ?? caches.namespaces.get(metadata.namespace ?? "");
    const isOurs = owner?.metadata.labels?.[capi === undefined ? LABEL_ORG_ID : LABEL_ID] !== undefined;
    if (!isOurs || recorded.has(metadata.uid ?? "")) return false;
    return elapsedMs(metadata.creationTimestamp, now) >= RECORDED_WITHIN_MS;
  }).length;
}

/** Cluster API clusters with an id of Marina and no Cluster of their name. */
export function countOrphanedClusters({
  capiClusters,
  clusters,
}: Pick<FleetCaches, "capiClusters" | "clusters">): number {
  return capiClusters
    .list()
    .filter(
      ({ metadata }) =>
        metadata.labels?.[LABEL_ID] !== undefined &&
        clusters.get(toKey(metadata.namespace, metadata.name)) === undefined,
    ).length;
}

function isRefused({ status }: Cluster | NodePool): boolean {
  const stalled = findCondition(status?.conditions, "Stalled");
  return stalled?.status === "True" && stalled.reason === "DuplicateID";
}
