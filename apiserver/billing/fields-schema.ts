import { z } from "@hono/zod-openapi";
import { textField } from "../http/contract/fields.ts";
import { parseMonth } from "./month.ts";

const EXAMPLE_MONTH = "2026-11";
const MAX_RESOURCE_TYPE_LENGTH = 64;
/** The largest price times any quantity, with its decimals. */
const MAX_DECIMAL_LENGTH = 400;

/** A month in a query. */
export const monthSchema = z
  .string()
  .max(7)
  .regex(/^20\d{2}-(0[1-9]|1[0-2])$/, { error: "must be a month, as 2026-11" })
  .transform((name) => parseMonth(name))
  .openapi({
    type: "string",
    maxLength: 7,
    pattern: "^20[0-9]{2}-(0[1-9]|1[0-2])$",
    description: "A calendar month in UTC.",
    example: EXAMPLE_MONTH,
  });

/** The name of a month in a response. */
export const monthField = (description: string) =>
  z
    .string()
    .max(7)
    .regex(/^\d{4}-\d{2}$/)
    .openapi({ description, example: EXAMPLE_MONTH });

/** An amount of cents in a response, as `toJsonCents` bounds it; negative where something is taken back. */
export const centsField = (description: string, example: number) =>
  z
    .int()
    .min(-Number.MAX_SAFE_INTEGER)
    .max(Number.MAX_SAFE_INTEGER)
    .openapi({ format: "int64", description, example });

/** An amount in EUR, as a number: made from the exact cents. */
export const eurosField = (description: string, example: number) =>
  z.number().min(-1e14).max(1e14).openapi({ format: "double", description, example });

/** The largest price and limit: any double is one. */
export const MAX_EUROS = Number.MAX_VALUE;
export const KEPT_DECIMALS = "Rounded to 6 decimals.";

/** A number that is exact, as text. */
export const decimalField = (description: string, example: string) =>
  z
    .string()
    .max(MAX_DECIMAL_LENGTH)
    .regex(/^-?\d+(\.\d+)?$/)
    .openapi({ description, example });

export const currencyField = z.literal("EUR").openapi({ description: "The currency of every amount." });

/** A resource type, or the package of a cluster. */
export const meteredTypeField = textField(
  MAX_RESOURCE_TYPE_LENGTH,
  "A resource type of the rate card, or `plan:` and the slug of a package.",
  "vcpu",
);
