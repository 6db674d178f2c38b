import { keepFor } from "../../../shared/program/keep-for.ts";
import { Gauge, type Registry } from "../../../shared/program/metrics.ts";
import type { Deps } from "../../deps.ts";
import { readPendingSeconds } from "./store.ts";

/** A scrape reads again once the figure is this old. */
const FIGURE_AGE_MS = 10_000;

/** Of all replicas, read from the database by a scrape: `marina_apiserver_ended_rights_pending_seconds`. */
export function createOffboardingMetrics(registry: Registry, { db }: Pick<Deps, "db">): void {
  const read = keepFor(FIGURE_AGE_MS, () => readPendingSeconds(db));
  new Gauge({
    name: "marina_apiserver_ended_rights_pending_seconds",
    help: "How long the oldest right that is to end has been pending; NaN when the database does not respond",
    registers: [registry],
    async collect() {
      this.set((await read()) ?? Number.NaN);
    },
  });
}
