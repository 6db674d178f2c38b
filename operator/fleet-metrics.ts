import { findCondition } from "../shared/controller/conditions.ts";
import type { Cluster } from "../shared/crd/cluster.ts";
import type { NodePool } from "../shared/crd/node-pool.ts";
import { Gauge, type Registry } from "../shared/program/metrics.ts";
import type { Caches } from "./caches.ts";
import { countLeftInDeleted } from "./expiry/expiry.ts";
import { findOrphanedClusters, findUnrecordedMachines } from "./orphans/unrecorded.ts";

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

/** Counts what runs and is in no record of Marina, what has no id of its own, and what has lost its Namespace: each should be 0. */
function observeUnrecorded(registry: Registry, prefix: string, caches: Caches): void {
  const gauges = [
    {
      name: "unrecorded_machines",
      help: "Machines of node pools for at least a minute that the status of no node pool lists.",
      count: () => findUnrecordedMachines(caches, new Date()).length,
    },
    {
      name: "capi_clusters_without_cluster",
      help: "Clusters of Cluster API that Marina made and that have no Cluster.",
      count: () => findOrphanedClusters(caches).length,
    },
    {
      name: "refused_objects",
      help: "Clusters and node pools whose id belongs to another object.",
      count: () => listAll(caches).filter(isRefused).length,
    },
    {
      name: "protected_objects_in_deleted_namespaces",
      help: "Clusters and node pools that are protected from deletion, in Namespaces that are being deleted.",
      count: () => countLeftInDeleted(listAll(caches), caches.namespaces),
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

function listAll({ clusters, nodePools }: Caches): (Cluster | NodePool)[] {
  return [...clusters.list(), ...nodePools.list()];
}

function isRefused({ status }: Cluster | NodePool): boolean {
  const stalled = findCondition(status?.conditions, "Stalled");
  return stalled?.status === "True" && stalled.reason === "DuplicateID";
}
