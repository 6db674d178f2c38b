import { z } from "@hono/zod-openapi";
import { isLabelKey, MAX_LABEL_VALUE_LENGTH } from "../../../shared/crd/labels.ts";
import { idField, textField, timestampField } from "../../http/contract/fields.ts";
import { pageQuery, pageSchema } from "../../http/contract/page.ts";
import {
  centsField,
  currencyField,
  decimalField,
  eurosField,
  meteredTypeField,
  monthField,
  monthSchema,
} from "../fields-schema.ts";

const MAX_DAYS = 31;
const MAX_RESOURCES = 100_000;
const MAX_TYPES = 1000;
const EXAMPLE_MONTH = "2026-11";

const GROUP_BY = "label:";
/** With the longest key: a domain, "/" and a name. */
const MAX_GROUP_BY_LENGTH = GROUP_BY.length + 253 + 1 + 63;

/** The key of the label that is named. */
const groupByQuery = z
  .string()
  .max(MAX_GROUP_BY_LENGTH, { abort: true })
  .refine((text) => text.startsWith(GROUP_BY) && isLabelKey(text.slice(GROUP_BY.length)), {
    error: 'must be "label:" and the key of a label, as label:team',
    params: { code: "invalid_format" },
  })
  .transform((text) => text.slice(GROUP_BY.length))
  .openapi({
    type: "string",
    maxLength: MAX_GROUP_BY_LENGTH,
    description:
      "`label:` and the key of a label: what is used is also summed up by its values, as the labels are now. The value is that of the node pool, else of its cluster, else of the organization.",
    example: "label:team",
  });

export const forecastQuery = z.strictObject({ group_by: groupByQuery.optional() });

export const usageQuery = pageQuery.extend({
  group_by: groupByQuery.optional(),
  month: monthSchema
    .optional()
    .openapi({ description: "A calendar month in UTC; the current one by default." }),
});

const USED =
  "Quantity times seconds of what was used; GiB, bytes for storage_rwx and registry, else a count.";
const BILLED = "Of it, what is billed: without the contents of the cluster's package.";

const EXAMPLE_DAY = {
  date: "2026-11-21",
  used_unit_seconds: "345600",
  unit_seconds: "345600",
  amount_eur: "0.666666666667",
};

const usageOfDay = z
  .object({
    date: z.iso.date().max(10).openapi({ description: "The day, in UTC.", example: EXAMPLE_DAY.date }),
    used_unit_seconds: decimalField(USED, EXAMPLE_DAY.used_unit_seconds),
    unit_seconds: decimalField(BILLED, EXAMPLE_DAY.unit_seconds),
    amount_eur: decimalField(
      "unit price x unit_seconds / seconds of the month, net, to 12 decimals.",
      EXAMPLE_DAY.amount_eur,
    ),
  })
  .openapi("UsageOfDay", { example: EXAMPLE_DAY });

const EXAMPLE_RESOURCE = {
  node_pool_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e13",
  resource_type: "vcpu",
  unit_price_eur: "5.000000",
  used_unit_seconds: "345600",
  unit_seconds: "345600",
  amount_eur: "0.666666666667",
  days: [EXAMPLE_DAY],
};

const usageOfResource = z
  .object({
    node_pool_id: idField("The node pool; null: it belongs to none.").nullable(),
    resource_type: meteredTypeField,
    unit_price_eur: decimalField("For one unit and the whole month, net.", EXAMPLE_RESOURCE.unit_price_eur),
    used_unit_seconds: decimalField(USED, EXAMPLE_RESOURCE.used_unit_seconds),
    unit_seconds: decimalField(BILLED, EXAMPLE_RESOURCE.unit_seconds),
    amount_eur: decimalField(
      "unit price x unit_seconds / seconds of the month, net, to 12 decimals.",
      EXAMPLE_RESOURCE.amount_eur,
    ),
    days: z.array(usageOfDay).max(MAX_DAYS).openapi({ description: "The days with usage, in order." }),
  })
  .openapi("UsageOfResource", { example: EXAMPLE_RESOURCE });

const EXAMPLE_CLUSTER = {
  cluster_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e12",
  cluster_name: "production",
  amount_cents: 67,
  resources: [EXAMPLE_RESOURCE],
};

const usageOfCluster = z
  .object({
    cluster_id: idField("The cluster; null: storage of the organization.").nullable(),
    cluster_name: textField(256, "The name of the cluster.").nullable(),
    amount_cents: centsField("The sum of the cluster's rounded lines, net.", EXAMPLE_CLUSTER.amount_cents),
    resources: z
      .array(usageOfResource)
      .max(MAX_RESOURCES)
      .openapi({ description: "By node pool, resource type and unit price." }),
  })
  .openapi("UsageOfCluster", { example: EXAMPLE_CLUSTER });

const usageOfType = z
  .object({
    resource_type: meteredTypeField,
    amount_cents: centsField("The sum of rounded lines, net.", 67),
  })
  .openapi("UsageOfType", { example: { resource_type: "vcpu", amount_cents: 67 } });

/** More are summed up. */
export const MAX_GROUPS = 1_000;

const labelValueField = textField(
  MAX_LABEL_VALUE_LENGTH,
  "The value of the label; null: what has no such label.",
  "web",
).nullable();

const otherValuesField = z
  .int()
  .min(1)
  .max(MAX_RESOURCES)
  .optional()
  .openapi({
    description: `Of the last group where there are more than ${MAX_GROUPS}: for how many values it stands, those that cost least. Its value is null.`,
    example: 12,
  });

const usageOfLabel = z
  .object({
    value: labelValueField,
    amount_cents: centsField("To date, net.", 67),
    other_values: otherValuesField,
  })
  .openapi("UsageOfLabel", { example: { value: "web", amount_cents: 67 } });

const EXAMPLE_TOTALS = {
  org_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11",
  month: EXAMPLE_MONTH,
  period_start: "2026-11-01T00:00:00.000Z",
  period_end: "2026-12-01T00:00:00.000Z",
  rated_until: "2026-11-21T09:00:00.000Z",
  currency: "EUR" as const,
};

const totals = {
  org_id: idField("The organization."),
  month: monthField("The month."),
  period_start: timestampField("The first instant of the month."),
  period_end: timestampField("The first instant after the month."),
  rated_until: timestampField("Usage before this instant is counted."),
  currency: currencyField,
};

const { items, next_cursor: nextCursor } = pageSchema(usageOfCluster, "UsageOfClusterPage").shape;

export const spendRecord = z
  .object({
    ...totals,
    amount_cents: centsField("What the month amounts to so far, net: the sum of its rounded lines.", 67),
    amount_eur: eurosField("The same in EUR.", 0.67),
    resource_types: z
      .array(usageOfType)
      .max(MAX_TYPES)
      .openapi({ description: "The whole month by resource type." }),
    groups: z.array(usageOfLabel).max(MAX_GROUPS).optional().openapi({
      description:
        "With group_by: the whole month by the values of the label, in their order. They add up to amount_cents. Of more than 1000 groups those that cost least are the last one, with other_values.",
    }),
    items: items.openapi({ description: "A page of the month by cluster, in the order of their ids." }),
    next_cursor: nextCursor,
  })
  .openapi("Usage", {
    example: {
      ...EXAMPLE_TOTALS,
      amount_cents: 67,
      amount_eur: 0.67,
      resource_types: [{ resource_type: "vcpu", amount_cents: 67 }],
      items: [EXAMPLE_CLUSTER],
      next_cursor: null,
    },
  });

const EXAMPLE_FORECAST = {
  resource_type: "vcpu",
  amount_cents: 67,
  forecast_cents: 1205,
};

const forecastOfType = z
  .object({
    resource_type: meteredTypeField,
    amount_cents: centsField("To date, net.", EXAMPLE_FORECAST.amount_cents),
    forecast_cents: centsField("At the end of the month, net.", EXAMPLE_FORECAST.forecast_cents),
  })
  .openapi("ForecastOfType", { example: EXAMPLE_FORECAST });

const EXAMPLE_GROUP = { value: "web", amount_cents: 67, forecast_cents: 1205 };

const forecastOfLabel = z
  .object({
    value: labelValueField,
    amount_cents: centsField("To date, net.", EXAMPLE_GROUP.amount_cents),
    forecast_cents: centsField("At the end of the month, net.", EXAMPLE_GROUP.forecast_cents),
    other_values: otherValuesField,
  })
  .openapi("ForecastOfLabel", { example: EXAMPLE_GROUP });

export const ASSUMPTION =
  "What runs at rated_until runs on unchanged until the end of the month, at the prices known by then.";

export const forecastRecord = z
  .object({
    ...totals,
    amount_cents: centsField("What the month amounts to so far, net.", EXAMPLE_FORECAST.amount_cents),
    amount_eur: eurosField("The same in EUR.", 0.67),
    forecast_cents: centsField("What the whole month will amount to, net.", EXAMPLE_FORECAST.forecast_cents),
    forecast_eur: eurosField("The same in EUR.", 12.05),
    assumption: textField(256, "What the forecast takes for granted.", ASSUMPTION),
    resource_types: z
      .array(forecastOfType)
      .max(MAX_TYPES)
      .openapi({ description: "The same by resource type." }),
    groups: z.array(forecastOfLabel).max(MAX_GROUPS).optional().openapi({
      description:
        "With group_by: the same by the values of the label, in their order. Of more than 1000 groups those that will cost least are the last one, with other_values.",
    }),
  })
  .openapi("Forecast", {
    example: {
      ...EXAMPLE_TOTALS,
      amount_cents: 67,
      amount_eur: 0.67,
      forecast_cents: 1205,
      forecast_eur: 12.05,
      assumption: ASSUMPTION,
      resource_types: [EXAMPLE_FORECAST],
    },
  });
