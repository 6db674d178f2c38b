import type { Cluster } from "../../../shared/crd/cluster.ts";
import type { Queryable } from "../../db/client.ts";
import { centsToEuros } from "../money.ts";
import { type Month, monthOf } from "../month.ts";
import type { PriceHistory } from "../rating/histories.ts";
import { type RatedLine, rateLines, sumByType, sumCents } from "../rating/lines.ts";
import { readPriceHistory } from "../rating/read.ts";
import type { MeteredType, UsageInterval } from "../resource-types.ts";
import { type MachineSize, type Use, useOfControlPlane, useOfMachine, useOfStatus } from "../usage/uses.ts";
import type { CostEffect } from "./schema.ts";

/** The nodes of a pool of a cluster. */
export interface BilledPool {
  id: string;
  size: MachineSize;
  nodes: number;
  /** As far as the autoscaler may go; of any other pool the same as `nodes`. */
  maxNodes: number;
}

/** What a cluster consists of. */
export interface BilledCluster {
  /** undefined: there is none, and nothing but its pools is billed. */
  cluster: Pick<Cluster, "spec" | "status"> | undefined;
  pools: readonly BilledPool[];
}

/**
 * What a change of one cluster does to its price: what the ledger would hold of the whole month before and after, rated
 * as a month of usage is, at the newest prices of `newest`.
 */
export function compareCost(
  month: Month,
  newest: PriceHistory,
  before: BilledCluster,
  after: BilledCluster,
): CostEffect {
  const history = holdThroughout(newest);
  const rate = (billed: BilledCluster) =>
    rateLines({ month, until: month.end, intervals: toIntervals(billed, month), history });
  const [linesBefore, linesAfter] = [rate(before), rate(after)];
  const atMaximum = after.pools.map((pool) => ({ ...pool, nodes: pool.maxNodes }));
  return {
    currency: "EUR",
    monthly_eur_before: centsToEuros(sumCents(linesBefore)),
    monthly_eur_after: centsToEuros(sumCents(linesAfter)),
    monthly_eur_max: centsToEuros(sumCents(rate({ ...after, pools: atMaximum }))),
    resource_types: compareTypes(linesBefore, linesAfter),
  };
}

/** What a change of one cluster does to its price in a full month, at the prices that hold at `now`. */
export async function assessCost(
  db: Queryable,
  now: Date,
  before: BilledCluster,
  after: BilledCluster,
): Promise<CostEffect> {
  const month = monthOf(now);
  return compareCost(month, await readPriceHistory(db, month.end), before, after);
}

function compareTypes(
  before: readonly RatedLine[],
  after: readonly RatedLine[],
): CostEffect["resource_types"] {
  const [centsBefore, centsAfter] = [new Map(sumByType(before)), new Map(sumByType(after))];
  const types = new Set([...centsBefore.keys(), ...centsAfter.keys()]);
  return [...types].map((type) => ({
    resource_type: type,
    monthly_eur_before: centsToEuros(centsBefore.get(type) ?? 0n),
    monthly_eur_after: centsToEuros(centsAfter.get(type) ?? 0n),
  }));
}

/** The intervals that a ledger has of a cluster that is the same through a whole month. */
function toIntervals({ cluster, pools }: BilledCluster, month: Month): UsageInterval[] {
  const uses: { nodePoolId: string | null; use: Use; count: number }[] = pools.map(({ id, size, nodes }) => ({
    nodePoolId: id,
    use: useOfMachine(size, undefined),
    count: nodes,
  }));
  if (cluster !== undefined) {
    const { spec, status } = cluster;
    const use = {
      ...useOfControlPlane(spec),
      ...useOfStatus(status),
      public_ip: spec.publicEndpoint ? 1 : 0,
    };
    uses.push({ nodePoolId: null, use, count: 1 });
  }
  return uses.flatMap(({ nodePoolId, use, count }) =>
    Object.entries(use).map(([resourceType, quantity = 0]) => ({
      organizationId: "",
      clusterId: "",
      clusterName: null,
      nodePoolId,
      resourceType: resourceType as MeteredType,
      quantity: BigInt(quantity * count),
      startedAt: month.start,
      endedAt: null,
    })),
  );
}

/** The newest price of each resource type and package, as if it had held since ever. */
function holdThroughout({ prices, packages }: PriceHistory): PriceHistory {
  return {
    prices: newestOf(prices, ({ resourceType }) => resourceType),
    packages: newestOf(packages, ({ slug }) => slug),
  };
}

function newestOf<Change extends { effectiveFrom: Date }>(
  changes: readonly Change[],
  keyOf: (change: Change) => string,
): Change[] {
  const ordered = changes.toSorted((a, b) => a.effectiveFrom.getTime() - b.effectiveFrom.getTime());
  const newest = new Map(ordered.map((change) => [keyOf(change), change]));
  return [...newest.values()].map((change) => ({ ...change, effectiveFrom: new Date(0) }));
}
