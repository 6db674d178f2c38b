import { describe, expect, test } from "vitest";
import type { z } from "zod";
import { parseBody } from "../http/contract/body.ts";
import { ApiError } from "../http/errors.ts";
import { setBudgetBody } from "./budgets/schema.ts";
import { createCreditNoteBody } from "./credit-notes/schema.ts";
import { setPlanBody } from "./packages/schema.ts";
import { setBillingProfileBody } from "./profile/schema.ts";
import { setRateCardBody } from "./rate-card/schema.ts";

/**
 * The faults of a body with these values in the place of the sound ones, as `<field>/<code>`; undefined leaves a field
 * out.
 */
function findFaults(schema: z.ZodType, sound: object, change: object): string[] {
  try {
    parseBody(schema, JSON.stringify({ ...sound, ...change }));
  } catch (error) {
    if (error instanceof ApiError && error.code === "validation_failed")
      return (error.details ?? []).map(({ field, code }) => `${field}/${code}`);
    throw error;
  }
  return [];
}

/** What is sent in the place of a field, and its fault. */
type Row = [sent: unknown, ...codes: string[]];

const NO_AMOUNT: Row[] = [
  [undefined, "required"],
  [null, "invalid_type"],
  ["5", "invalid_type"],
  ["NaN", "invalid_type"],
  [true, "invalid_type"],
  [[5], "invalid_type"],
  [{ eur: 5 }, "invalid_type"],
];
const NO_LIST: Row[] = [
  [undefined, "required"],
  [null, "invalid_type"],
  [50, "invalid_type"],
  ["50", "invalid_type"],
  [{ 0: 50 }, "invalid_type"],
  [[], "too_short"],
];
const NO_TEXT: Row[] = [
  [5, "invalid_type"],
  [false, "invalid_type"],
  [["DE"], "invalid_type"],
  [{}, "invalid_type"],
];
const NO_WHOLE_NUMBER: Row[] = [
  [undefined, "required"],
  [null, "invalid_type"],
  ["1", "invalid_type"],
  [true, "invalid_type"],
  [[1], "invalid_type"],
  [1.5, "invalid_type"],
];
/** In a list. */
const NO_ENTRY = NO_WHOLE_NUMBER.filter(([sent]) => sent !== undefined);

interface Field {
  /** As the details of an error name it. */
  field: string;
  change: (sent: unknown) => object;
  rows: readonly Row[];
}

const field = (name: string, rows: readonly Row[]): Field => ({
  field: name,
  change: (sent) => ({ [name]: sent }),
  rows,
});

interface Body {
  name: string;
  schema: z.ZodType;
  sound: object;
  fields: readonly Field[];
}

const BUDGET = { monthly_limit_eur: 500, thresholds_pct: [50, 80, 100] };
const budget: Body = {
  name: "a budget",
  schema: setBudgetBody,
  sound: BUDGET,
  fields: [
    field("monthly_limit_eur", [...NO_AMOUNT, [0, "out_of_range"], [-1, "out_of_range"]]),
    field("thresholds_pct", NO_LIST),
    field("thresholds_pct", [[Array.from({ length: 101 }, () => 100), "too_many"]]),
    {
      field: "thresholds_pct[1]",
      change: (sent) => ({ thresholds_pct: [50, sent] }),
      rows: [
        ...NO_ENTRY,
        [-60, "out_of_range", "not_ascending"],
        [0, "out_of_range", "not_ascending"],
        [101, "out_of_range"],
        [50, "not_ascending"],
        [49, "not_ascending"],
      ],
    },
    field("org_id", [
      [null, "invalid_type"],
      [5, "invalid_type"],
      ["example", "invalid_format"],
    ]),
  ],
};

const RATE = { resource_type: "vcpu", unit_price_eur: 5 };
const rate = (name: string, rows: readonly Row[]): Field => ({
  field: `rates[1].${name}`,
  change: (sent) => ({
    rates: [
      { ...RATE, resource_type: "disk" },
      { ...RATE, [name]: sent },
    ],
  }),
  rows,
});
const rateCard: Body = {
  name: "a rate card",
  schema: setRateCardBody,
  sound: { rates: [RATE] },
  fields: [
    field("rates", NO_LIST),
    field("rates", [[Array.from({ length: 101 }, () => RATE), "too_many"]]),
    {
      field: "rates[0]",
      change: (sent) => ({ rates: [sent] }),
      rows: [
        [null, "invalid_type"],
        [5, "invalid_type"],
        [[RATE], "invalid_type"],
      ],
    },
    rate("resource_type", [
      [undefined, "required"],
      [null, "invalid_enum"],
      [5, "invalid_enum"],
      ["", "invalid_enum"],
      ["VCPU", "invalid_enum"],
      ["gpu", "invalid_enum"],
      ["plan:dev", "invalid_enum"],
      ["disk", "duplicate"],
    ]),
    rate("unit_price_eur", [...NO_AMOUNT, [-0.01, "out_of_range"]]),
    rate("effective_from", [["2026-01-01T00:00:00Z", "unknown_field"]]),
  ],
};

const PLAN = {
  monthly_price_eur: 59,
  control_plane_replicas: 1,
  includes: { control_plane: 1, vcpu: 4, memory: 8, disk: 80 },
  retired: false,
};
const included = (name: string, most: number): Field => ({
  field: `includes.${name}`,
  change: (sent) => ({ includes: { ...PLAN.includes, [name]: sent } }),
  rows: [...NO_WHOLE_NUMBER, [-1, "out_of_range"], [most + 1, "out_of_range"]],
});
const plan: Body = {
  name: "a package",
  schema: setPlanBody,
  sound: PLAN,
  fields: [
    field("monthly_price_eur", [...NO_AMOUNT, [-0.01, "out_of_range"]]),
    field("control_plane_replicas", [...NO_WHOLE_NUMBER, [2, "invalid_enum"], [4, "invalid_enum"]]),
    field("includes", [
      [undefined, "required"],
      [null, "invalid_type"],
      [[4], "invalid_type"],
      ["vcpu", "invalid_type"],
    ]),
    included("control_plane", 1),
    included("vcpu", 100_000),
    included("memory", 1_000_000),
    included("disk", 1_000_000),
    field("retired", [
      [undefined, "required"],
      [null, "invalid_type"],
      ["false", "invalid_type"],
      [0, "invalid_type"],
    ]),
  ],
};

const LINE = { description: "vCPU", amount_cents: 100 };
const line = (name: string, rows: readonly Row[]): Field => ({
  field: `lines[1].${name}`,
  change: (sent) => ({ lines: [LINE, { ...LINE, [name]: sent }] }),
  rows,
});
const NO_REQUIRED_TEXT: Row[] = [[undefined, "required"], [null, "invalid_type"], ...NO_TEXT];
const NOTE = { invoice_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11", reason: "An outage.", lines: [LINE] };
const creditNote: Body = {
  name: "a credit note",
  schema: createCreditNoteBody,
  sound: NOTE,
  fields: [
    field("invoice_id", [...NO_REQUIRED_TEXT, ["MARINA-2026-000001", "invalid_format"]]),
    field("reason", [...NO_REQUIRED_TEXT, ["", "too_short"], ["x".repeat(100_000), "too_long"]]),
    field("lines", NO_LIST),
    field("lines", [[Array.from({ length: 101 }, () => LINE), "too_many"]]),
    line("description", [...NO_REQUIRED_TEXT, ["", "too_short"], ["x".repeat(100_000), "too_long"]]),
    line("amount_cents", [
      ...NO_WHOLE_NUMBER,
      [-1, "out_of_range"],
      [0, "out_of_range"],
      [1e15, "out_of_range"],
    ]),
    line("amount_eur", [[1, "unknown_field"]]),
  ],
};

const PROFILE = { name: "Example Ltd", country: "DE", vat_id: null };
const LONG: Row = ["x".repeat(201), "too_long"];
const profile: Body = {
  name: "a billing profile",
  schema: setBillingProfileBody,
  sound: PROFILE,
  fields: [
    field("name", [...NO_TEXT, LONG]),
    field("street", [...NO_TEXT, LONG]),
    field("postal_code", [...NO_TEXT, LONG]),
    field("city", [...NO_TEXT, LONG]),
    field("country", [
      ...NO_TEXT,
      ["de", "invalid_format"],
      ["D", "invalid_format"],
      ["EL", "invalid_format"],
      ["UK", "invalid_format"],
      ["XX", "invalid_format"],
      ["DEU", "too_long", "invalid_format"],
    ]),
    field("vat_id", [...NO_TEXT, ["DE1", "invalid_format"]]),
    field("billing_email", [...NO_TEXT, ["nobody", "invalid_format"]]),
    field("org_id", [
      [null, "invalid_type"],
      [5, "invalid_type"],
    ]),
  ],
};

describe.each([budget, rateCard, plan, creditNote, profile])("$name", ({ schema, sound, fields }) => {
  test("without a fault is accepted", () => {
    expect(findFaults(schema, sound, {})).toEqual([]);
  });

  test.each(["null", "[]", "5", '"body"'])("that is %s is refused", (text) => {
    expect(() => parseBody(schema, text)).toThrow(expect.objectContaining({ code: "validation_failed" }));
  });

  test("with an unknown field is refused, and the field is named", () => {
    expect(findFaults(schema, sound, { currency: "EUR" })).toEqual(["currency/unknown_field"]);
  });

  const cases = fields.flatMap(({ rows, ...one }) =>
    rows.map(([sent, ...codes]) => ({ ...one, text: JSON.stringify(sent) ?? "nothing", sent, codes })),
  );
  test.each(cases)("with $text as $field is refused, and the field is named", (one) => {
    const faults = one.codes.map((code) => `${one.field}/${code}`);
    expect(findFaults(schema, sound, one.change(one.sent))).toEqual(faults);
  });
});
