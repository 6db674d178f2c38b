import { setTimeout as sleep } from "node:timers/promises";
import { type Figure, report } from "../report.ts";
import { readCpuSeconds, readMemoryMB } from "./common.ts";
import { type FleetCluster, startFleetCluster } from "./fleet-cluster.ts";
import { waitUntilIdle } from "./metrics.ts";
import { recordTemplate } from "./template.ts";

const SIZES = [1_000, 3_000, 10_000];
const STARTS = 2;
const REST_MS = 5_000;
const FLAT_PERCENT = 15;

interface Cost {
  /** Start of the process until idle. */
  seconds: number;
  cpuSeconds: number;
  memoryMB: number;
}

/** The growth of a fleet alone. */
export async function benchGrowth(largest = SIZES.at(-1)): Promise<void> {
  const fleet = await startFleetCluster(await recordTemplate());
  try {
    await measureGrowth(fleet, largest);
  } finally {
    await fleet.stop();
  }
}

/**
 * What a cold start costs for each cluster, while the fleet grows. The fixed part is what it costs on an empty API server;
 * the rest is divided by the clusters. How much the dearest size is above the cheapest is held against 15 %.
 */
export async function measureGrowth(fleet: FleetCluster, largest = 0): Promise<void> {
  const fixed = await measure(fleet);
  const costs: { size: number; cost: Cost }[] = [];
  for (const size of SIZES.filter((one) => one <= largest)) {
    await fleet.grow(size);
    costs.push({ size, cost: await measure(fleet) });
  }
  if (costs.length === 0) return;
  const aspects = [
    { name: "time", unit: "ms", of: (cost: Cost) => cost.seconds * 1000 },
    { name: "processor", unit: "ms", of: (cost: Cost) => cost.cpuSeconds * 1000 },
    { name: "memory", unit: "kB", of: (cost: Cost) => cost.memoryMB * 1024 },
  ];
  const figures = aspects.flatMap(({ name, unit, of }): Figure[] => {
    const shares = costs.map(({ size, cost }) => ({ size, share: (of(cost) - of(fixed)) / size }));
    const all = shares.map(({ share }) => share);
    const spread = (Math.max(...all) / Math.min(...all) - 1) * 100;
    return [
      { name: `${name}: without any cluster`, value: of(fixed), unit },
      ...shares.map(({ size, share }) => ({ name: `${name}: for each of ${size}`, value: share, unit })),
      { name: `${name}: dearest above cheapest`, value: spread, unit: "%", limit: FLAT_PERCENT },
    ];
  });
  report("operator growth", figures);
}

/** The cheapest of a few starts in each respect: what else the machine does can only add. */
async function measure(fleet: FleetCluster): Promise<Cost> {
  const operator = fleet.createOperator("operator");
  const costs: Cost[] = [];
  for (let start = 0; start < STARTS; start++) {
    const startedAt = performance.now();
    await operator.part.start();
    const idleAt = await waitUntilIdle(operator.metricsUrl);
    const cpuSeconds = readCpuSeconds(operator.part.pid);
    await sleep(REST_MS);
    const memoryMB = readMemoryMB(operator.part.pid).now;
    costs.push({ seconds: (idleAt - startedAt) / 1000, cpuSeconds, memoryMB });
    await operator.part.stop();
  }
  const least = (of: (cost: Cost) => number) => Math.min(...costs.map(of));
  return {
    seconds: least((cost) => cost.seconds),
    cpuSeconds: least((cost) => cost.cpuSeconds),
    memoryMB: least((cost) => cost.memoryMB),
  };
}
