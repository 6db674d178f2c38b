import type { Queryable } from "../../db/client.ts";
import { monthOf } from "../month.ts";
import { readPriceHistory } from "../rating/read.ts";
import { compareCost, type PlannedCluster } from "./compare-cost.ts";
import type { CostEffect } from "./schema.ts";

/** What a change of one cluster does to its price in a full month, at the prices that hold at `now`. */
export async function assessCost(
  db: Queryable,
  now: Date,
  before: PlannedCluster,
  after: PlannedCluster,
): Promise<CostEffect> {
  const month = monthOf(now);
  return compareCost(month, await readPriceHistory(db, month.end), before, after);
}
