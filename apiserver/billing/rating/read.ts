import type { Database, Queryable } from "../../db/client.ts";
import type { Month } from "../month.ts";
import { type PackageTerms, readPackageHistory } from "../packages/store.ts";
import { readRateHistory } from "../rate-card/store.ts";
import type { ResourceType } from "../resource-types.ts";
import { readUsageIntervals } from "../usage/ledger-store.ts";
import type { Rating } from "./charges.ts";
import type { PackageChange, PriceHistory } from "./histories.ts";

/** Everything that a month of an organization is rated from. */
export type RatingSource = Omit<Rating, "until">;

/** All prices of resources and packages that took effect before `end`. */
export async function readPriceHistory(db: Queryable, end: Date): Promise<PriceHistory> {
  const packages = await readPackageHistory(db, end);
  return { prices: await readRateHistory(db, end), packages: packages.map(toPackageChange) };
}

function toPackageChange(terms: PackageTerms): PackageChange {
  const { slug, priceMicroEuros, effectiveFrom } = terms;
  const included = new Map<ResourceType, bigint>([
    ["control_plane", BigInt(terms.controlPlanes)],
    ["vcpu", BigInt(terms.vcpus)],
    ["memory", BigInt(terms.memoryGB)],
    ["disk", BigInt(terms.diskGB)],
  ]);
  return { slug, priceMicroEuros, included, effectiveFrom };
}

/**
 * Reads what a month of an organization is rated from, in the transaction that uses it: no copy is ever out of date.
 * With a limit, at most so many of its intervals.
 */
export async function readRatingSource(
  tx: Queryable,
  organizationId: string,
  month: Month,
  limit?: number,
): Promise<RatingSource> {
  const time = { from: month.start, to: month.end, limit };
  const intervals = await readUsageIntervals(tx, [organizationId], time);
  return { month, intervals, history: await readPriceHistory(tx, month.end) };
}

/** Like readRatingSource, in one snapshot: concurrent changes of prices and usage are both visible, or neither is. */
export function readRatingSnapshot(
  db: Database,
  organizationId: string,
  month: Month,
  limit?: number,
): Promise<RatingSource> {
  return db.transaction((tx) => readRatingSource(tx, organizationId, month, limit), {
    isolationLevel: "repeatable read",
    accessMode: "read only",
  });
}
