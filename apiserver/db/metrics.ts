import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { Counter, Gauge, type Registry } from "../../shared/program/metrics.ts";
import type { DatabaseClients } from "./client.ts";

const DEADLINE_MS = 2000;

/**
 * The figures of the pool that requests use: `marina_apiserver_db_transactions{state}`,
 * `marina_apiserver_db_pools_lost_total` and, measured at each scrape, `marina_apiserver_db_roundtrip_seconds`.
 */
export function addPoolMetrics(
  registry: Registry,
  { db, poolFigures }: Pick<DatabaseClients, "db" | "poolFigures">,
): void {
  const registers = [registry];
  new Gauge({
    name: "marina_apiserver_db_transactions",
    help: "Transactions by state: waiting for a connection, or open",
    labelNames: ["state"],
    registers,
    collect() {
      this.set({ state: "waiting" }, poolFigures.waiting);
      this.set({ state: "open" }, poolFigures.open);
    },
  });
  new Counter({
    name: "marina_apiserver_db_pools_lost_total",
    help: "Pools that were replaced after a broken connection",
    registers,
    collect() {
      this.reset();
      this.inc(poolFigures.lost);
    },
  });
  new Gauge({
    name: "marina_apiserver_db_roundtrip_seconds",
    help: "An empty query at the time of the scrape, the wait for a connection included; NaN without a response within 2 s",
    registers,
    async collect() {
      this.set(await timeQuery(db));
    },
  });
}

async function timeQuery(db: DatabaseClients["db"]): Promise<number> {
  const startedMs = performance.now();
  const measured = db.execute(sql`select 1`).then(
    () => (performance.now() - startedMs) / 1000,
    () => Number.NaN,
  );
  return Promise.race([measured, sleep(DEADLINE_MS, Number.NaN, { ref: false })]);
}
