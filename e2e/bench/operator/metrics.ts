import { setTimeout as sleep } from "node:timers/promises";
import { until } from "../measure.ts";

/** The operator's metrics: the sum of the samples of each name, and every single sample. */
export interface Metrics {
  sum(name: string, filter?: string): number;
}

/** Reads the Prometheus text of a metrics endpoint. */
export async function readMetrics(url: string): Promise<Metrics> {
  const text = await (await fetch(url)).text();
  const samples = text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => /^(\w+)(\{[^}]*\})? (\S+)/.exec(line) ?? ["", "", "", ""]);
  return {
    sum: (name, filter = "") =>
      samples
        .filter(([, sampled, labels = ""]) => sampled === name && labels.includes(filter))
        .reduce((total, [, , , value]) => total + Number(value), 0),
  };
}

/** Number of consecutive samples with an empty queue and no running reconcile. */
const QUIET_LOOKS = 3;
const LOOK_MS = 300;

/** This controller visits one tenant's API after the other continuously. */
const PACED = 'controller="tenant-bindings"';

function countUnder(metrics: Metrics, filter: string): number {
  const sum = (name: string) => metrics.sum(`marina_operator_${name}`, filter);
  return sum("queue_depth") + sum("active_workers");
}

/** Waits until the operator is idle, and returns when that began (performance.now). */
export async function waitUntilIdle(metricsUrl: string, timeoutMs = 300_000): Promise<number> {
  let quiet = 0;
  let since = 0;
  const look = async () => {
    const metrics = await readMetrics(metricsUrl);
    const hasBegun =
      metrics.sum("marina_operator_reconciles_total") > 0 || metrics.sum("marina_operator_clusters") === 0;
    const under = countUnder(metrics, "") - countUnder(metrics, PACED);
    const busy = under > 0 || !hasBegun;
    if (!busy && quiet === 0) since = performance.now();
    quiet = busy ? 0 : quiet + 1;
    return quiet >= QUIET_LOOKS;
  };
  await until("the operator to be idle", look, { timeoutMs, everyMs: LOOK_MS });
  return since;
}

/** The number of reconciles of one controller. */
export async function countReconciles(metricsUrl: string, controller: string): Promise<number> {
  const metrics = await readMetrics(metricsUrl);
  return metrics.sum("marina_operator_reconciles_total", `controller="${controller}"`);
}

/** Waits until each of this many objects has been reconciled again since `from`. */
export async function waitForResync(
  metricsUrl: string,
  controller: string,
  { from, objects, timeoutMs }: { from: number; objects: number; timeoutMs: number },
): Promise<void> {
  const done = async () => (await countReconciles(metricsUrl, controller)) - from >= objects;
  await until(`a resync of ${controller}`, done, { timeoutMs, everyMs: 1000 });
  await sleep(LOOK_MS);
}
