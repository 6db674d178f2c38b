import {
  addAmounts,
  findShortfalls,
  growthOf,
  isGrowth,
  NO_AMOUNTS,
  type QuotaAmounts,
  type Shortfall,
} from "../../shared/crd/quota.ts";

/** What one object has of the quotas, by what the engine was given for it, and what it wants. */
export interface QuotaWish {
  key: string;
  /** Sorts by age. */
  age: string;
  had: QuotaAmounts;
  wanted: QuotaAmounts;
  /** The cluster of a pool: without it the pool has nothing to grow in. */
  within?: string;
}

/**
 * Which objects of an organization want more than its limits allow, and by how much: what the engine has counts first
 * and is never taken away; then growth is allowed in the order of age, each object wholly or not at all.
 */
export function judgeWishes(
  limits: QuotaAmounts,
  clusters: readonly QuotaWish[],
  pools: readonly QuotaWish[],
): ReadonlyMap<string, Shortfall[]> {
  let used = [...clusters, ...pools].reduce((sum, { had }) => addAmounts(sum, had), NO_AMOUNTS);
  const refused = new Map<string, Shortfall[]>();
  const known = new Set(clusters.map(({ key }) => key));
  for (const wish of [...byAge(clusters), ...byAge(pools)]) {
    if (wish.within !== undefined && (!known.has(wish.within) || refused.has(wish.within))) continue;
    const growth = growthOf(wish.had, wish.wanted);
    if (!isGrowth(growth)) continue;
    const shortfalls = findShortfalls(limits, used, growth);
    if (shortfalls.length > 0) refused.set(wish.key, shortfalls);
    else used = addAmounts(used, growth);
  }
  return refused;
}

function byAge(wishes: readonly QuotaWish[]): QuotaWish[] {
  return wishes.toSorted((left, right) => (left.age < right.age ? -1 : 1));
}
