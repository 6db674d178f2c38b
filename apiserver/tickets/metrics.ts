import { cacheFor } from "../../shared/program/cache-for.ts";
import { Gauge, Histogram, type Registry } from "../../shared/program/metrics.ts";
import type { Deps } from "../deps.ts";
import type { GivenResponse } from "./add-message.ts";
import { countOverdue } from "./store.ts";
import { TICKET_SEVERITIES } from "./table.ts";

/** A scrape counts again once the figures are this old. */
const FIGURES_AGE_MS = 30_000;
const HOUR_SECONDS = 3600;

export interface TicketMetrics {
  onResponse(response: GivenResponse): void;
}

/**
 * `marina_apiserver_ticket_response_seconds{severity,kind}` of this process: how long tenants waited for the first and
 * for each further response, in hours of the clock on the wall. Of all replicas, read from the database by a scrape:
 * `marina_apiserver_tickets_overdue{severity}`.
 */
export function createTicketMetrics(registry: Registry, deps: Pick<Deps, "db" | "now">): TicketMetrics {
  const registers = [registry];
  const seconds = new Histogram({
    name: "marina_apiserver_ticket_response_seconds",
    help: "How long tenants waited for a response, by severity; kind is first or next",
    labelNames: ["severity", "kind"],
    buckets: [0.25, 1, 2, 4, 8, 24, 48, 120].map((hours) => hours * HOUR_SECONDS),
    registers,
  });
  const read = cacheFor(FIGURES_AGE_MS, () => countOverdue(deps.db, deps.now()));
  new Gauge({
    name: "marina_apiserver_tickets_overdue",
    help: "Tickets whose response is overdue, by severity; NaN when the database does not respond",
    labelNames: ["severity"],
    registers,
    async collect() {
      const counts = await read();
      for (const severity of TICKET_SEVERITIES)
        this.set({ severity }, counts === undefined ? Number.NaN : (counts.get(severity) ?? 0));
    },
  });
  return {
    onResponse: ({ severity, isFirst, seconds: waited }) =>
      seconds.observe({ severity, kind: isFirst ? "first" : "next" }, waited),
  };
}
