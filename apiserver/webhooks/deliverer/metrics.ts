import { cacheFor } from "../../../shared/program/cache-for.ts";
import { Counter, Gauge, Histogram, type Registry } from "../../../shared/program/metrics.ts";
import type { Queryable } from "../../db/client.ts";
import type { ErrorClass } from "../table.ts";
import { type Figures, readDeliveryFigures } from "./queue-store.ts";
import type { DeliveryResult } from "./result-store.ts";

/** A scrape counts again once the figures are this old, for many pending deliveries take a while to count. */
const FIGURES_AGE_MS = 30_000;

export interface DeliveryMetrics {
  onAttempt(attempt: { durationMs: number; errorClass: ErrorClass | null }): void;
  onResult(result: DeliveryResult): void;
  /** An attempt was not made because no configured key decrypts a signing secret of its webhook. */
  onUndecryptableSecret(): void;
}

/**
 * `marina_apiserver_webhook_deliveries_total{result}` and `marina_apiserver_webhook_attempt_seconds{result}` of this process
 * (the result of an attempt is `delivered` or its error class), and `marina_apiserver_webhook_undecryptable_secrets_total`: one
 * for every attempt that was not made, up to `endpointConcurrency` per minute and webhook. Of all replicas, read from the
 * database by a scrape: `marina_apiserver_webhook_deliveries_pending`, `_oldest_pending_seconds`, `_overdue_seconds`, and
 * `marina_apiserver_webhooks_disabled{reason}`.
 */
export function createDeliveryMetrics(registry: Registry, db: Queryable): DeliveryMetrics {
  const registers = [registry];
  const results = new Counter({
    name: "marina_apiserver_webhook_deliveries_total",
    help: "Claimed deliveries by what became of them: delivered, retried, failed, postponed by a fault of Marina's own, released by a drain or without its secrets, or superseded once its claim had ended",
    labelNames: ["result"],
    registers,
  });
  const seconds = new Histogram({
    name: "marina_apiserver_webhook_attempt_seconds",
    help: "Duration of attempts by result: delivered, or the error class",
    labelNames: ["result"],
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 15],
    registers,
  });
  const undecryptable = new Counter({
    name: "marina_apiserver_webhook_undecryptable_secrets_total",
    help: "Attempts that were not made because no configured key decrypts a signing secret",
    registers,
  });
  addFigures(registry, db);
  return {
    onAttempt: ({ durationMs, errorClass }) =>
      seconds.observe({ result: errorClass ?? "delivered" }, durationMs / 1000),
    onResult: (result) => results.inc({ result }),
    onUndecryptableSecret: () => undecryptable.inc(),
  };
}

function addFigures(registry: Registry, db: Queryable): void {
  const registers = [registry];
  const read = cacheFor(FIGURES_AGE_MS, () => readDeliveryFigures(db));
  const gauge = (name: string, help: string, pick: (figures: Figures) => number) =>
    new Gauge({
      name: `marina_apiserver_webhook_${name}`,
      help,
      registers,
      async collect() {
        const figures = await read();
        this.set(figures === undefined ? Number.NaN : pick(figures));
      },
    });
  gauge(
    "deliveries_pending",
    "Deliveries that are pending; NaN when the database does not respond",
    ({ pending }) => pending,
  );
  gauge("oldest_pending_seconds", "Age of the oldest pending delivery", ({ oldestSeconds }) => oldestSeconds);
  gauge(
    "overdue_seconds",
    "How long the most overdue queue has been due, or an event has waited for its deliveries to be made",
    ({ overdueSeconds }) => overdueSeconds,
  );
  new Gauge({
    name: "marina_apiserver_webhooks_disabled",
    help: "Disabled webhooks by reason: tenant, gone (410) or failing (five days)",
    labelNames: ["reason"],
    registers,
    async collect() {
      for (const [reason, count] of Object.entries((await read())?.disabled ?? {}))
        this.set({ reason }, count);
    },
  });
}
