import { Gauge, type Registry } from "../shared/metrics.ts";
import type { Caches } from "./caches.ts";

/** `<prefix>_clusters` and `<prefix>_node_pools` by phase, counted from the caches whenever they are asked for. */
export function observeFleet(registry: Registry, prefix: string, caches: Caches): void {
  const kinds = [
    { name: "clusters", help: "Clusters by phase", list: () => caches.clusters.list() },
    { name: "node_pools", help: "Node pools by phase", list: () => caches.nodePools.list() },
  ];
  for (const { name, help, list } of kinds) {
    const gauge = new Gauge({
      name: `${prefix}_${name}`,
      help,
      labelNames: ["phase"],
      registers: [registry],
      collect() {
        gauge.reset();
        for (const object of list()) gauge.inc({ phase: object.status?.phase ?? "Unknown" });
      },
    });
  }
}
