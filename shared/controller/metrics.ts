import { Counter, Gauge, Histogram, type Registry } from "../program/metrics.ts";
import type { ControllerMetrics } from "./controller.ts";

export interface RuntimeMetrics {
  controller: ControllerMetrics;
  /** For the leader election's `onLeader`. */
  onLeader: (leads: boolean) => void;
  /** For the recorder's `onEvent`. */
  onEvent: (result: "written" | "failed" | "dropped") => void;
}

/**
 * `<prefix>_queue_depth`, `_queue_wait_seconds`, `_reconcile_duration_seconds` and `_active_workers` by controller,
 * `_reconciles_total` by controller and result, `_leader` (1 on the leader) and `_events_total` by result.
 */
export function createRuntimeMetrics(registry: Registry, prefix: string): RuntimeMetrics {
  const leader = new Gauge({
    name: `${prefix}_leader`,
    help: "Whether this process is the leader (1) or not (0).",
    registers: [registry],
  });
  const events = new Counter({
    name: `${prefix}_events_total`,
    help: "Kubernetes Events by outcome: written, failed or dropped.",
    labelNames: ["result"],
    registers: [registry],
  });
  return {
    controller: createControllerMetrics(registry, prefix),
    onLeader: (leads) => leader.set(leads ? 1 : 0),
    onEvent: (result) => events.inc({ result }),
  };
}

function createControllerMetrics(registry: Registry, prefix: string): ControllerMetrics {
  const registers = [registry];
  const labelNames = ["controller"] as const;
  const depth = new Gauge({
    name: `${prefix}_queue_depth`,
    help: "Keys that wait for a worker.",
    labelNames,
    registers,
  });
  const wait = new Histogram({
    name: `${prefix}_queue_wait_seconds`,
    help: "Time a key waited for a worker.",
    labelNames,
    buckets: [0.001, 0.01, 0.1, 0.5, 1, 5, 15, 60, 300],
    registers,
  });
  const duration = new Histogram({
    name: `${prefix}_reconcile_duration_seconds`,
    help: "Duration of one reconcile.",
    labelNames,
    buckets: [0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300],
    registers,
  });
  const total = new Counter({
    name: `${prefix}_reconciles_total`,
    help: "Reconciles by result: success, requeue or error.",
    labelNames: ["controller", "result"],
    registers,
  });
  const active = new Gauge({
    name: `${prefix}_active_workers`,
    help: "Workers that are reconciling.",
    labelNames,
    registers,
  });
  return {
    onDepth: (controller, keys) => depth.set({ controller }, keys),
    onWait: (controller, seconds) => wait.observe({ controller }, seconds),
    onReconcile(controller, result, seconds) {
      total.inc({ controller, result });
      duration.observe({ controller }, seconds);
    },
    onActive: (controller, workers) => active.set({ controller }, workers),
  };
}
