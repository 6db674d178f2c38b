import { type Figure, report } from "../report.ts";
import { type Cost, measureColdStart } from "./cold-start.ts";
import { type FleetCluster, startFleetCluster } from "./fleet-cluster.ts";
import { recordTemplate } from "./template.ts";

const SIZES = [1_000, 3_000, 10_000];
/** Enough clusters to run every code path once; costs above this baseline are reported too. */
const FEW = 100;
const FLAT_PERCENT = 15;

/** The cost of a fleet of this size. */
export interface Sized {
  size: number;
  cost: Cost;
}

/** Only the growth part of the fleet benchmark. */
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

/** Costs of an empty fleet, of a few clusters, and of each size below `largest`. */
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
 * The cost of a cold start per cluster, and its growth from the smallest fleet to the larger ones: at most 15 %, below
 * 0 where larger fleets share the fixed cost. Also reports the marginal cost of each cluster above the first few.
 */
export function reportGrowth([empty, few, ...costs]: readonly Sized[]): void {
  if (empty === undefined || few === undefined || costs.length === 0) return;
  const costKinds = [
    { name: "time", unit: "ms", of: (cost: Cost) => cost.seconds * 1000 },
    { name: "processor", unit: "ms", of: (cost: Cost) => cost.cpuSeconds * 1000 },
    { name: "memory", unit: "kB", of: (cost: Cost) => cost.memoryMB * 1024 },
  ];
  const figures = costKinds.flatMap(({ name, unit, of }): Figure[] => {
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
