import { Gauge, type Registry } from "../shared/metrics.ts";
import type { Caches } from "./caches.ts";

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
}
