import { setTimeout as sleep } from "node:timers/promises";
import { readCpuSeconds, readMemoryMB } from "../../platform/programs/proc.ts";
import { secondsSince } from "../measure.ts";
import { countRequests, countWrites, endOf } from "./audit.ts";
import type { FleetCluster } from "./fleet-cluster.ts";
import { waitUntilIdle } from "./metrics.ts";
import type { OperatorProcess } from "./operator-process.ts";

/** The cost of a start of the operator until it is idle. */
export interface Cost {
  /** Until everything is listed. */
  listedSeconds: number;
  seconds: number;
  cpuSeconds: number;
  memoryMB: number;
  writes: number;
}

/** Time for garbage collection after the last work, as in any idle fleet. */
const REST_MS = 10_000;

/** Starts the operator, which keeps running. Prints its requests until it is idle. */
export async function measureColdStart(fleet: FleetCluster, operator: OperatorProcess): Promise<Cost> {
  const from = endOf(fleet.auditLog);
  const startedAt = performance.now();
  await operator.part.start();
  const listedSeconds = secondsSince(startedAt);
  const seconds = ((await waitUntilIdle(operator.metricsUrl)) - startedAt) / 1000;
  const { pid } = operator.part;
  const cpuSeconds = readCpuSeconds(pid);
  await sleep(REST_MS);
  const counts = await countRequests(fleet.auditLog, from);
  const cost = {
    listedSeconds,
    seconds,
    cpuSeconds,
    memoryMB: readMemoryMB(pid).now,
    writes: countWrites(counts),
  };
  const requests = [...counts].map(([request, count]) => `${count} ${request}`);
  console.log(`  cold start ${JSON.stringify(cost)}; requests: ${requests.join(", ")}`);
  return cost;
}
