import type { Month } from "../month.ts";
import {
  type MeteredType,
  RESOURCE_TYPES,
  type ResourceType,
  type UsageInterval,
} from "../resource-types.ts";
import { runAtOnce, type Steps } from "../turns.ts";
import { isPackage, type PriceHistory, type PriceTimeline, toTimeline } from "./histories.ts";

/** What was used of a resource in some time. */
export interface UsedTime {
  /** Quantity times seconds of all that was used. */
  usedUnitSeconds: bigint;
  /** Quantity times seconds of what is billed: without the contents of a package. */
  unitSeconds: bigint;
}

/** A use in one month at one unit price. */
export interface Charge extends UsedTime {
  clusterId: string | null;
  clusterName: string | null;
  nodePoolId: string | null;
  resourceType: MeteredType;
  unitPriceMicroEuros: bigint;
  /** What is billed of the quantity that is in use at the end of the time that was looked at. */
  runningQuantity: bigint;
  /** The days on which it was used, in order; none unless charges are split by day. */
  days: ChargeOfDay[];
}

export interface ChargeOfDay extends UsedTime {
  /** From 1 on. */
  dayOfMonth: number;
}

export interface Rating {
  month: Month;
  /** The end of the time that is looked at, excluded. It may lie in the future: what runs is taken to go on. */
  until: Date;
  /** The intervals of one organization; those outside the month are left out. */
  intervals: readonly UsageInterval[];
  history: PriceHistory;
}

const SECONDS_PER_DAY = 86_400;

/** Quantities of one cluster by metered type and node pool, the oldest node pool first. */
type Quantities = Map<MeteredType, Map<string | null, bigint>>;

interface QuantityChange {
  second: number;
  nodePoolId: string | null;
  resourceType: MeteredType;
  quantity: bigint;
}

/**
 * What an organization's intervals amount to, by cluster, node pool, resource type, unit price and, if asked, day. Over
 * the contents of a package max(0, sum - contents) is billed at each instant; the oldest node pools use them up first.
 * An address costs the whole month's price that held when the month first saw it, and belongs to that day. In the order
 * of clusters, of first use in the month, resource types and node pools, whatever the order of the intervals.
 */
export function findCharges(rating: Rating, options?: { byDay: boolean }): Charge[] {
  return runAtOnce(findChargesInSteps(rating, options));
}

/** Like findCharges, in steps. */
export function* findChargesInSteps(
  { month, until, intervals, history }: Rating,
  { byDay = false } = {},
): Steps<Charge[]> {
  const span = { from: toSecond(month.start), to: Math.min(toSecond(until), toSecond(month.end)) };
  if (span.to <= span.from) return [];
  const timeline = toTimeline(history);
  const clusters = Map.groupBy(intervals, ({ clusterId }) => clusterId);
  const found: Charge[][] = [];
  for (const [clusterId, own] of [...clusters].toSorted(byId)) {
    const clusterName = findLastName(own);
    const charges = new ClusterCharges({ clusterId, clusterName, span, byDay, timeline });
    found.push(yield* charges.rate(own, BigInt(month.seconds)));
  }
  return found.flat();
}

/** What the charges of one cluster are made with. */
interface ClusterTerms {
  clusterId: string | null;
  clusterName: string | null;
  span: { from: number; to: number };
  byDay: boolean;
  timeline: PriceTimeline;
}

/** What a segment, during which nothing changes, adds to a charge. */
interface SegmentUse {
  price: bigint;
  second: number;
  used: bigint;
  billed: bigint;
  running: bigint;
}

class ClusterCharges {
  private readonly charges: Charge[] = [];
  private readonly chargesOfPools = new Map<MeteredType, Map<string | null, Charge[]>>();
  private readonly terms: ClusterTerms;

  constructor(terms: ClusterTerms) {
    this.terms = terms;
  }

  *rate(intervals: readonly UsageInterval[], monthSeconds: bigint): Steps<Charge[]> {
    const { to } = this.terms.span;
    const changes = toChanges(intervals, this.terms.span);
    const quantities = toZeroQuantities(changes);
    let next = 0;
    let hasAddress = false;
    const edges = this.findEdges(changes);
    for (const [index, second] of edges.entries()) {
      yield;
      for (; changes[next]?.second === second; next++)
        addQuantity(quantities, changes[next] as QuantityChange);
      const isLast = index === edges.length - 1;
      if (isLast) continue;
      const end = edges[index + 1] ?? to;
      this.chargeSegment(quantities, { second, seconds: BigInt(end - second), isAtEnd: end === to });
      if (!hasAddress && sumOf(quantities.get("public_ip")) > 0n) {
        hasAddress = true;
        this.add("public_ip", null, {
          price: this.terms.timeline.priceAt("public_ip", second),
          second,
          used: monthSeconds,
          billed: monthSeconds,
          running: 0n,
        });
      }
    }
    for (const charge of this.charges) charge.days = charge.days.filter(isUsed);
    return this.charges.filter(isUsed);
  }

  /** Every second at which something that is charged may change, both ends of the span included. */
  private findEdges(changes: readonly QuantityChange[]): number[] {
    const { from, to } = this.terms.span;
    const edges = new Set([from, to, ...changes.map(({ second }) => second)]);
    for (const cut of this.terms.timeline.cuts) if (cut > from && cut < to) edges.add(cut);
    if (this.terms.byDay) for (let day = from; day < to; day += SECONDS_PER_DAY) edges.add(day);
    return [...edges].toSorted((a, b) => a - b);
  }

  private chargeSegment(
    quantities: Quantities,
    { second, seconds, isAtEnd }: { second: number; seconds: bigint; isAtEnd: boolean },
  ): void {
    const included = new Map<ResourceType, bigint>();
    for (const [type, pools] of quantities) {
      if (!isPackage(type)) continue;
      // One of a cluster, which its control plane and each of its machines name.
      const count = sumOf(pools) > 0n ? 1n : 0n;
      const terms = this.terms.timeline.packageAt(type, second);
      if (terms === undefined || count === 0n) continue;
      for (const [resource, quantity] of terms.included)
        included.set(resource, (included.get(resource) ?? 0n) + quantity * count);
      const [used, running] = [count * seconds, isAtEnd ? count : 0n];
      this.add(type, null, { price: terms.priceMicroEuros, second, used, billed: used, running });
    }
    for (const [type, pools] of quantities) {
      if (isPackage(type) || type === "public_ip") continue;
      const contents = included.get(type) ?? 0n;
      let [sum, billedSum] = [0n, 0n];
      for (const [pool, quantity] of pools) {
        // Before it is used, a resource may have no price.
        if (quantity === 0n) continue;
        const price = this.terms.timeline.priceAt(type, second);
        sum += quantity;
        const billed = (sum > contents ? sum - contents : 0n) - billedSum;
        billedSum += billed;
        const running = isAtEnd ? billed : 0n;
        this.add(type, pool, { price, second, used: quantity * seconds, billed: billed * seconds, running });
      }
    }
  }

  private add(
    resourceType: MeteredType,
    nodePoolId: string | null,
    { price, second, used, billed, running }: SegmentUse,
  ): void {
    const charge = this.openCharge(resourceType, nodePoolId, price);
    charge.usedUnitSeconds += used;
    charge.unitSeconds += billed;
    charge.runningQuantity += running;
    if (!this.terms.byDay) return;
    const dayOfMonth = 1 + Math.floor((second - this.terms.span.from) / SECONDS_PER_DAY);
    const day = charge.days.at(-1);
    if (day?.dayOfMonth !== dayOfMonth) {
      charge.days.push({ dayOfMonth, usedUnitSeconds: used, unitSeconds: billed });
      return;
    }
    day.usedUnitSeconds += used;
    day.unitSeconds += billed;
  }

  private openCharge(
    resourceType: MeteredType,
    nodePoolId: string | null,
    unitPriceMicroEuros: bigint,
  ): Charge {
    const pools = this.chargesOfPools.get(resourceType) ?? new Map<string | null, Charge[]>();
    const own = pools.get(nodePoolId) ?? [];
    const open = own.find((charge) => charge.unitPriceMicroEuros === unitPriceMicroEuros);
    if (open !== undefined) return open;
    const { clusterId, clusterName } = this.terms;
    const charge: Charge = {
      clusterId,
      clusterName,
      nodePoolId,
      resourceType,
      unitPriceMicroEuros,
      usedUnitSeconds: 0n,
      unitSeconds: 0n,
      runningQuantity: 0n,
      days: [],
    };
    this.charges.push(charge);
    this.chargesOfPools.set(resourceType, pools.set(nodePoolId, [...own, charge]));
    return charge;
  }
}

/** A correction may take all of a use back, also what was billed on another day. */
function isUsed({ usedUnitSeconds, unitSeconds }: UsedTime): boolean {
  return usedUnitSeconds !== 0n || unitSeconds !== 0n;
}

/** The changes of quantities in a span, in order of time. */
function toChanges(
  intervals: readonly UsageInterval[],
  span: { from: number; to: number },
): QuantityChange[] {
  const changes: QuantityChange[] = [];
  for (const { nodePoolId, resourceType, quantity, startedAt, endedAt } of intervals) {
    const start = Math.max(toSecond(startedAt), span.from);
    const end = Math.min(endedAt === null ? span.to : toSecond(endedAt), span.to);
    if (start >= end) continue;
    changes.push({ second: start, nodePoolId, resourceType, quantity });
    if (end < span.to) changes.push({ second: end, nodePoolId, resourceType, quantity: -quantity });
  }
  return changes.toSorted((a, b) => a.second - b.second);
}

/** Nothing of everything that changes, in the order of resource types and node pools. */
function toZeroQuantities(changes: readonly QuantityChange[]): Quantities {
  const types = Map.groupBy(changes, ({ resourceType }) => resourceType);
  return new Map(
    [...types].toSorted(byType).map(([type, own]) => {
      const pools = new Map(own.map(({ nodePoolId }) => [nodePoolId, 0n]));
      return [type, new Map([...pools].toSorted(byId))];
    }),
  );
}

function addQuantity(quantities: Quantities, { nodePoolId, resourceType, quantity }: QuantityChange): void {
  const pools = quantities.get(resourceType);
  pools?.set(nodePoolId, (pools.get(nodePoolId) ?? 0n) + quantity);
}

function sumOf(pools: ReadonlyMap<string | null, bigint> | undefined): bigint {
  let sum = 0n;
  for (const quantity of pools?.values() ?? []) sum += quantity;
  return sum;
}

/** Packages first, then as the rate card lists them. */
function byType([a]: readonly [MeteredType, unknown], [b]: readonly [MeteredType, unknown]): number {
  const placeOf = (type: MeteredType) => (isPackage(type) ? -1 : RESOURCE_TYPES.indexOf(type));
  return placeOf(a) - placeOf(b) || (a < b ? -1 : 1);
}

/** Ids rise with the time of creation; what belongs to no cluster or node pool comes first. */
function byId([a]: readonly [string | null, unknown], [b]: readonly [string | null, unknown]): number {
  return (a ?? "") < (b ?? "") ? -1 : 1;
}

/** The name that people knew the cluster by when its last use began; of at least one interval. */
function findLastName(intervals: readonly UsageInterval[]): string | null {
  return intervals.reduce((last, one) => (one.startedAt > last.startedAt ? one : last)).clusterName;
}

function toSecond(instant: Date): number {
  return Math.floor(instant.getTime() / 1000);
}
