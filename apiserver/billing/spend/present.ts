import type { z } from "@hono/zod-openapi";
import { NIL_ID } from "../../../shared/program/id.ts";
import { cutPage, type PageRequest } from "../../http/contract/page.ts";
import { toCsvWithin } from "../csv.ts";
import { centsToEuros, formatMicroEuros, formatPrice, toJsonCents } from "../money.ts";
import { dateOf, type Month } from "../month.ts";
import { type Charge, findChargesInSteps, type UsedTime } from "../rating/charges.ts";
import {
  type Grouping,
  type RatedLine,
  sumByLabel,
  sumByType,
  sumCents,
  sumToLines,
  toUse,
  unitSizeOf,
} from "../rating/lines.ts";
import type { RatingSource } from "../rating/read.ts";
import type { Steps } from "../turns.ts";
import { ASSUMPTION, type forecastRecord, MAX_GROUPS, type spendRecord } from "./schema.ts";

type Usage = z.output<typeof spendRecord>;
type UsageOfCluster = Usage["items"][number];
type UsageOfResource = UsageOfCluster["resources"][number];
type Used = Pick<UsageOfResource, "used_unit_seconds" | "unit_seconds" | "amount_eur">;

interface Spend {
  orgId: string;
  source: RatingSource;
  now: Date;
  /** undefined: not grouped. */
  grouping?: Grouping | undefined;
}

/** A month of usage to date, with one page of its clusters by node pool, resource type and day. */
export function* presentSpend(
  { orgId, source, now, grouping }: Spend,
  { cursor = "", limit }: PageRequest,
): Steps<Usage> {
  const until = ratedUntil(source.month, now);
  const clusters = Map.groupBy(source.intervals, keyOf);
  const ids = [...clusters.keys()].filter((id) => id > cursor).toSorted();
  const shown = ids.slice(0, limit);
  const ofShown = shown.flatMap((id) => clusters.get(id) ?? []);
  const charges = yield* findChargesInSteps({ ...source, intervals: ofShown, until }, { byDay: true });
  const chargesOf = Map.groupBy(charges, keyOf);
  const others = [...clusters].flatMap(([id, own]) => (shown.includes(id) ? [] : own));
  // What is shown by day is not rated again: the lines of a cluster are the sums of its days.
  const ofOthers = yield* findChargesInSteps({ ...source, intervals: others, until });
  const rated = [charges, ofOthers].flatMap((some) => sumToLines(some, source.month));
  yield;
  const linesOf = Map.groupBy(rated, keyOf);
  // In the order of clusters, so that every page names the resource types in the same order.
  const lines = [...linesOf.keys()].toSorted().flatMap((id) => linesOf.get(id) ?? []);
  // The sums are those of the whole month, whatever a page has room for.
  const page = cutPage(
    shown.filter((id) => chargesOf.has(id)),
    {
      present: (id) => presentCluster(chargesOf.get(id) ?? [], linesOf.get(id) ?? [], source.month),
      cursorOf: (id) => id,
      next: ids.length > limit ? (shown.at(-1) ?? null) : null,
    },
  );
  return {
    ...presentMonth(orgId, source.month, until),
    ...presentSum(lines),
    resource_types: sumByType(lines).map(([resourceType, cents]) => ({
      resource_type: resourceType,
      amount_cents: toJsonCents(cents),
    })),
    ...presentGroups([...charges, ...ofOthers], source.month, grouping),
    ...page,
  };
}

/** What the month that `now` lies in will amount to. */
export function* presentForecast({
  orgId,
  source,
  now,
  grouping,
}: Spend): Steps<z.output<typeof forecastRecord>> {
  const { month } = source;
  const until = ratedUntil(month, now);
  const used = yield* findChargesInSteps({ ...source, until });
  const expected = yield* findChargesInSteps({ ...source, until: month.end });
  const [toDate, atEnd] = [sumToLines(used, month), sumToLines(expected, month)];
  const amounts = new Map(sumByType(toDate));
  const { amount_cents: forecastCents, amount_eur: forecastEuros } = presentSum(atEnd);
  return {
    ...presentMonth(orgId, month, until),
    ...presentSum(toDate),
    forecast_cents: forecastCents,
    forecast_eur: forecastEuros,
    assumption: ASSUMPTION,
    resource_types: sumByType(atEnd).map(([resourceType, cents]) => ({
      resource_type: resourceType,
      amount_cents: toJsonCents(amounts.get(resourceType) ?? 0n),
      forecast_cents: toJsonCents(cents),
    })),
    ...presentForecastGroups(used, expected, { month, grouping }),
  };
}

function presentGroups(charges: readonly Charge[], month: Month, grouping: Grouping | undefined) {
  if (grouping === undefined) return {};
  const sums = [...sumByLabel(charges, { month, grouping })];
  const groups = limitGroups(sums.map(([value, cents]) => ({ value, cents, centsAtEnd: cents })));
  return {
    groups: groups.map(({ value, cents, other_values }) => ({
      value,
      amount_cents: toJsonCents(cents),
      ...(other_values !== undefined && { other_values }),
    })),
  };
}

/** Everything that was used is used at the end of the month too. */
function presentForecastGroups(
  used: readonly Charge[],
  expected: readonly Charge[],
  { month, grouping }: { month: Month; grouping: Grouping | undefined },
) {
  if (grouping === undefined) return {};
  const toDate = sumByLabel(used, { month, grouping });
  const sums = [...sumByLabel(expected, { month, grouping })];
  const groups = limitGroups(
    sums.map(([value, centsAtEnd]) => ({ value, cents: toDate.get(value) ?? 0n, centsAtEnd })),
  );
  return {
    groups: groups.map(({ cents, centsAtEnd, ...of }) => ({
      ...of,
      amount_cents: toJsonCents(cents),
      forecast_cents: toJsonCents(centsAtEnd),
    })),
  };
}

interface LabelGroup {
  value: string | null;
  cents: bigint;
  centsAtEnd: bigint;
  /** For how many values it stands, where it is of several. */
  other_values?: number;
}

/**
 * At most MAX_GROUPS, in their order: of more, those that cost least at the end are one, the last. What has no such label
 * is never among them. The sums stay the same to the cent.
 */
export function limitGroups(groups: readonly LabelGroup[]): LabelGroup[] {
  if (groups.length <= MAX_GROUPS) return [...groups];
  const labelled = groups.filter(({ value }) => value !== null);
  const ranked = labelled.toSorted((a, b) => Number(b.centsAtEnd - a.centsAtEnd));
  const shown = MAX_GROUPS - 1 - (groups.length - labelled.length);
  const others = new Set(ranked.slice(shown));
  const sum = (centsOf: (group: LabelGroup) => bigint) =>
    [...others].reduce((all, group) => all + centsOf(group), 0n);
  const rest = { cents: sum(({ cents }) => cents), centsAtEnd: sum(({ centsAtEnd }) => centsAtEnd) };
  return [
    ...groups.filter((group) => !others.has(group)),
    { value: null, ...rest, other_values: others.size },
  ];
}

/** The instant up to which a month is rated: usage is counted in whole seconds that have passed. */
function ratedUntil(month: Month, now: Date): Date {
  const second = Math.floor(now.getTime() / 1000) * 1000;
  return new Date(Math.max(month.start.getTime(), Math.min(second, month.end.getTime())));
}

function presentMonth(orgId: string, month: Month, until: Date) {
  return {
    org_id: orgId,
    month: month.name,
    period_start: month.start.toISOString(),
    period_end: month.end.toISOString(),
    rated_until: until.toISOString(),
    currency: "EUR" as const,
  };
}

function presentSum(lines: readonly RatedLine[]) {
  const cents = sumCents(lines);
  return { amount_cents: toJsonCents(cents), amount_eur: centsToEuros(cents) };
}

function presentCluster(
  charges: readonly Charge[],
  lines: readonly RatedLine[],
  month: Month,
): UsageOfCluster {
  const { clusterId = null, clusterName = null } = charges[0] ?? {};
  return {
    cluster_id: clusterId,
    cluster_name: clusterName,
    amount_cents: toJsonCents(sumCents(lines)),
    resources: charges.map((charge) => presentResource(charge, month)),
  };
}

function presentResource(charge: Charge, month: Month): UsageOfResource {
  const used = presentUsed(charge, charge, month);
  return {
    node_pool_id: charge.nodePoolId,
    resource_type: charge.resourceType,
    unit_price_eur: formatMicroEuros(charge.unitPriceMicroEuros),
    ...used,
    days: presentDays(charge, used, month),
  };
}

/** Most days are as the one before, and an exact decimal takes longer than the rest of a day. */
function presentDays(charge: Charge, whole: Used, month: Month): UsageOfResource["days"] {
  let last: UsedTime = charge;
  let used = whole;
  return charge.days.map((day) => {
    if (day.unitSeconds !== last.unitSeconds || day.usedUnitSeconds !== last.usedUnitSeconds)
      used = presentUsed(charge, day, month);
    last = day;
    return { date: dateOf(month, day.dayOfMonth), ...used };
  });
}

function presentUsed(charge: Charge, { usedUnitSeconds, unitSeconds }: UsedTime, month: Month): Used {
  return {
    used_unit_seconds: String(usedUnitSeconds),
    unit_seconds: String(unitSeconds),
    amount_eur: formatPrice({ ...toUse(charge), unitSeconds }, month.seconds),
  };
}

/** The organization's own storage comes before each cluster. */
function keyOf({ clusterId }: { clusterId: string | null }): string {
  return clusterId ?? NIL_ID;
}

const COLUMNS = [
  "date",
  "cluster_id",
  "cluster_name",
  "node_pool_id",
  "resource_type",
  "unit_price_eur",
  "used_unit_seconds",
  "unit_seconds",
  "unit_size",
  "month_seconds",
  "amount_eur",
] as const;

/**
 * A month of usage to date, with one row for each day, cluster, node pool, resource type and unit price. A line of the
 * invoice is unit_price_eur x sum of unit_seconds / unit_size / month_seconds, rounded half up to cents. The label that
 * it is grouped by is the last column. undefined where it would have more than `maxBytes`.
 */
export function* toUsageCsv({ source, now, grouping }: Spend, maxBytes: number): Steps<string | undefined> {
  const { month } = source;
  const charges = yield* findChargesInSteps({ ...source, until: ratedUntil(month, now) }, { byDay: true });
  const ofLabel = grouping === undefined ? [] : [`label:${grouping.key}`];
  return yield* toCsvWithin<string>(maxBytes, [...COLUMNS, ...ofLabel], toRows(charges, month, grouping));
}

/** One at a time: a file that becomes too large is not made to its end. */
function* toRows(charges: readonly Charge[], month: Month, grouping: Grouping | undefined) {
  for (let dayOfMonth = 1; dayOfMonth <= month.days; dayOfMonth++)
    for (const charge of charges) {
      const day = charge.days.find((one) => one.dayOfMonth === dayOfMonth);
      if (day === undefined) continue;
      yield {
        date: dateOf(month, day.dayOfMonth),
        cluster_id: charge.clusterId,
        cluster_name: charge.clusterName,
        node_pool_id: charge.nodePoolId,
        resource_type: charge.resourceType,
        unit_price_eur: formatMicroEuros(charge.unitPriceMicroEuros),
        used_unit_seconds: String(day.usedUnitSeconds),
        unit_seconds: String(day.unitSeconds),
        unit_size: String(unitSizeOf(charge.resourceType)),
        month_seconds: String(month.seconds),
        amount_eur: formatPrice({ ...toUse(charge), unitSeconds: day.unitSeconds }, month.seconds),
        ...(grouping !== undefined && { [`label:${grouping.key}`]: grouping.labelOf(charge) }),
      };
    }
}
