import { toCsv } from "../csv.ts";
import { formatMicroEuros, formatPrice } from "../money.ts";
import { dateOf } from "../month.ts";
import { findCharges } from "../rating/charges.ts";
import { toUse, unitSizeOf } from "../rating/lines.ts";
import { ratedUntil, type Spend } from "./present.ts";

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
 * invoice is unit_price_eur x sum of unit_seconds / unit_size / month_seconds, rounded half up to cents.
 */
export function toUsageCsv({ source, now }: Spend): string {
  const { month } = source;
  const charges = findCharges({ ...source, until: ratedUntil(month, now) }, { byDay: true });
  const rows = charges.flatMap((charge) =>
    charge.days.map((day) => ({
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
    })),
  );
  return toCsv(
    COLUMNS,
    rows.toSorted((a, b) => (a.date < b.date ? -1 : 1)),
  );
}
