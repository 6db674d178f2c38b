import { type Figure, report } from "../report.ts";
import { type Cost, measureColdStart } from "./cold-start.ts";
import { type FleetCluster, startFleetCluster } from "./fleet-cluster.ts";
import { recordTemplate } from "./template.ts";

const SIZES = [1_000, 3_000, 10_000];
/** With so few the program has run all its code once, which the first of a fleet pays for. */
const FEW = 100;
const FLAT_PERCENT = 15;

/** What a fleet of this size costs. */
export interface Sized {
  size: number;
  cost: Cost;
}

/** The growth of a fleet alone. */
export async function benchGrowth(largest = SIZES.at(-1) ?? 0): Promise<void> {
  const fleet = await startFleetCluster(await recordTemplate());
  try {
    const smaller = await growTo(fleet, largest);
    await fleet.grow(largest);
    reportGrowth([...smaller, { size: largest, cost: await startOnce(fleet) }]);
  } finally {
    await fleet.stop();
  }
}

/** Costs of an empty fleet, of a few clusters, and of each size on the way to this one, which is left out. */
export async function growTo(fleet: FleetCluster, largest: number): Promise<Sized[]> {
  const costs = [{ size: 0, cost: await startOnce(fleet) }];
  for (const size of [FEW, ...SIZES].filter((one) => one < largest)) {
    await fleet.grow(size);
    costs.push({ size, cost: await startOnce(fleet) });
  }
  return costs;
}

async function startOnce(fleet: FleetCluster): Promise<Cost> {
  const operator = fleet.createOperator("operator");
  const cost = await measureColdStart(fleet, operator);
  await operator.part.stop();
  return cost;
}

/**
 * What a cold start costs for each cluster. The costs of an empty fleet are told; those of the few are the fixed part, and
 * what each size costs above them is divided by the clusters above them. How much the dearest size is above the cheapest
 * is held against 15 %.
 */
export function reportGrowth([empty, fixed, ...costs]: readonly Sized[]): void {
  if (empty === undefined || fixed === undefined || costs.length === 0) return;
  const aspects = [
    { name: "time", unit: "ms", of: (cost: Cost) => cost.seconds * 1000 },
    { name: "processor", unit: "ms", of: (cost: Cost) => cost.cpuSeconds * 1000 },
    { name: "memory", unit: "kB", of: (cost: Cost) => cost.memoryMB * 1024 },
  ];
  const figures = aspects.flatMap(({ name, unit, of }): Figure[] => {
    const shares = costs.map(({ size, cost }) => {
      return { size, share: (of(cost) - of(fixed.cost)) / (size - fixed.size) };
    });
    const all = shares.map(({ share }) => share);
    const spread = (Math.max(...all) / Math.min(...all) - 1) * 100;
    return [
      { name: `${name}: without any cluster`, value: of(empty.cost), unit },
      { name: `${name}: with ${fixed.size}`, value: of(fixed.cost), unit },
      ...shares.map(({ size, share }) => ({
        name: `${name}: for each above, of ${size}`,
        value: share,
        unit,
      })),
      { name: `${name}: dearest above cheapest`, value: spread, unit: "%", limit: FLAT_PERCENT },
    ];
  });
  report("operator growth", figures);
}
