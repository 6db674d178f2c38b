import { type Figure, report } from "../report.ts";
import { type Cost, measureColdStart } from "./cold-start.ts";
import { type FleetCluster, startFleetCluster } from "./fleet-cluster.ts";
import { recordTemplate } from "./template.ts";

const SIZES = [1_000, 3_000, 10_000];
/** With so few the program has run all its code once, which the first of a fleet pays for: costs above them are told too. */
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
 * What a cold start costs for each cluster of a fleet, and how much more that is of the larger ones than of the smallest:
 * held against 15 %, and below 0 where they share what an empty start costs too. What each cluster above the first few
 * adds is told beside it.
 */
export function reportGrowth([empty, few, ...costs]: readonly Sized[]): void {
  if (empty === undefined || few === undefined || costs.length === 0) return;
  const aspects = [
    { name: "time", unit: "ms", of: (cost: Cost) => cost.seconds * 1000 },
    { name: "processor", unit: "ms", of: (cost: Cost) => cost.cpuSeconds * 1000 },
    { name: "memory", unit: "kB", of: (cost: Cost) => cost.memoryMB * 1024 },
  ];
  const figures = aspects.flatMap(({ name, unit, of }): Figure[] => {
    const [smallest = 0, ...larger] = costs.map(({ size, cost }) => of(cost) / size);
    const growth = larger.length === 0 ? 0 : (Math.max(...larger) / smallest - 1) * 100;
    return [
      { name: `${name}: without any cluster`, value: of(empty.cost), unit },
      ...costs.flatMap(({ size, cost }) => [
        { name: `${name}: each of ${size}`, value: of(cost) / size, unit },
        {
          name: `${name}: each above ${few.size}, of ${size}`,
          value: (of(cost) - of(few.cost)) / (size - few.size),
          unit,
        },
      ]),
      { name: `${name}: each of a larger fleet, more by`, value: growth, unit: "%", limit: FLAT_PERCENT },
    ];
  });
  report("operator growth", figures);
}
