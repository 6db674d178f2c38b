import { setTimeout as sleep } from "node:timers/promises";
import { readCpuSeconds, readMemoryMB } from "../../platform/programs/proc.ts";
import { percentile } from "../measure.ts";
import { type Figure, report } from "../report.ts";
import { countRequests, countWrites, endOf } from "./audit.ts";
import { type Changer, openChanger } from "./change.ts";
import { measureColdStart } from "./cold-start.ts";
import { type FleetCluster, startFleetCluster } from "./fleet-cluster.ts";
import { growTo, reportGrowth } from "./growth.ts";
import { countReconciles, waitForResync, waitUntilIdle } from "./metrics.ts";
import type { OperatorProcess } from "./operator-process.ts";
import { recordTemplate } from "./template.ts";

const CLUSTERS = 10_000;
const IDLE_SAMPLE_MS = 60_000;
/** Clusters that are changed, each forth and back. */
const CHANGED = 100;
const STORM_PAUSE_MS = 60;
const RESYNC_SECONDS = 45;
const DETAILS_REST_MS = 25_000;
const MS_PER_SECOND = 1000;

/**
 * A fleet of converged clusters with two pools each, on a real kube-apiserver with Cluster API's kinds and no managers:
 * its growth (growth.ts), then cold start, memory, CPU when idle, changes when idle and during a restart, takeover by a
 * standby, and the writes of a resync.
 */
export async function benchFleet(clusters = CLUSTERS): Promise<void> {
  const fleet = await startFleetCluster(await recordTemplate());
  let changer: Changer | undefined;
  try {
    const smaller = await growTo(fleet, clusters);
    const objects = await fleet.grow(clusters);
    const operator = fleet.createOperator("operator");
    const cost = await measureColdStart(fleet, operator);
    reportGrowth([...smaller, { size: clusters, cost }]);
    report("operator fleet, cold start", [
      { name: "clusters", value: clusters, unit: "" },
      { name: "objects in the API server", value: objects, unit: "" },
      { name: "all listed", value: cost.listedSeconds, unit: "s" },
      { name: "idle", value: cost.seconds, unit: "s", limit: 60 },
      { name: "CPU time until idle", value: cost.cpuSeconds, unit: "s" },
      { name: "writes", value: cost.writes, unit: "", limit: 0 },
      ...(await measureRest(operator)),
    ]);
    changer = await openChanger(fleet.kubeconfig, CHANGED);
    report("operator fleet, changes", [
      ...describeChanges("one change at rest", await measureChanges(changer, 0), 1),
      ...(await measureStorm(operator, changer)),
      await measureTakeover(fleet, operator, changer),
    ]);
    report("operator fleet, resync", [await measureResync(fleet, clusters)]);
  } finally {
    await changer?.close();
    await fleet.stop();
  }
}

async function measureRest(operator: OperatorProcess): Promise<Figure[]> {
  const before = readCpuSeconds(operator.part.pid);
  await sleep(IDLE_SAMPLE_MS);
  const cpu = readCpuSeconds(operator.part.pid) - before;
  const memory = readMemoryMB(operator.part.pid);
  return [
    { name: "resident memory at rest", value: memory.now, unit: "MB", limit: 512 },
    { name: "resident memory, peak", value: memory.peak, unit: "MB", limit: 512 },
    {
      name: "CPU at rest, of one core",
      value: (cpu / IDLE_SAMPLE_MS) * MS_PER_SECOND * 100,
      unit: "%",
    },
  ];
}

/** Every cluster forth and back; with a pause the changes overlap, without one they are sequential. */
async function measureChanges(changer: Changer, pauseMs: number): Promise<number[]> {
  const seconds: Promise<number>[] = [];
  for (const isReady of [false, true]) {
    for (let index = 0; index < CHANGED; index++) {
      const one = changer.change(index, isReady);
      seconds.push(one);
      if (pauseMs === 0) await one;
      else await sleep(pauseMs);
    }
    await Promise.all(seconds);
  }
  return Promise.all(seconds);
}

function describeChanges(name: string, seconds: readonly number[], limit: number): Figure[] {
  return [
    { name: `${name}: until the Marina status, median`, value: percentile(seconds, 0.5), unit: "s" },
    { name: `${name}: p99`, value: percentile(seconds, 0.99), unit: "s", limit },
  ];
}

/** The operator restarts and reconciles every object; the changes arrive meanwhile. */
async function measureStorm(operator: OperatorProcess, changer: Changer): Promise<Figure[]> {
  await operator.part.stop();
  await operator.part.start();
  const seconds = await measureChanges(changer, STORM_PAUSE_MS);
  const memory = readMemoryMB(operator.part.pid);
  await waitUntilIdle(operator.metricsUrl);
  return [
    ...describeChanges("one change in a restart", seconds, 2),
    { name: "resident memory after a restart with changes", value: memory.peak, unit: "MB", limit: 512 },
  ];
}

/** The leader is killed; the standby reports the next change. */
async function measureTakeover(
  fleet: FleetCluster,
  operator: OperatorProcess,
  changer: Changer,
): Promise<Figure> {
  const standby = fleet.createOperator("standby");
  await standby.part.start();
  await operator.part.kill("SIGKILL");
  const seconds = await changer.change(0, false);
  await changer.change(0, true);
  await standby.part.stop();
  return {
    name: "kill -9 of the leader until the first status of the standby",
    value: seconds,
    unit: "s",
    limit: 20,
  };
}

/** Every object is reconciled again, a few times. */
async function measureResync(fleet: FleetCluster, clusters: number): Promise<Figure> {
  const often = fleet.createOperator("operator", { MARINA_RESYNC_SECONDS: String(RESYNC_SECONDS) });
  await often.part.start();
  await waitUntilIdle(often.metricsUrl);
  // Details of the changes before are written when they have rested for 20 s.
  await sleep(DETAILS_REST_MS);
  const from = endOf(fleet.auditLog);
  const controllers = [
    { controller: "cluster", objects: clusters },
    { controller: "node-pool", objects: clusters * 2 },
  ];
  await Promise.all(
    controllers.map(async ({ controller, objects }) => {
      const done = await countReconciles(often.metricsUrl, controller);
      await waitForResync(often.metricsUrl, controller, { from: done, objects, timeoutMs: 180_000 });
    }),
  );
  await waitUntilIdle(often.metricsUrl);
  const counts = await countRequests(fleet.auditLog, from);
  await often.part.stop();
  return { name: "writes of a resync", value: countWrites(counts), unit: "", limit: 0 };
}
