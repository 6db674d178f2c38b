import { z } from "@hono/zod-openapi";
import { wholeNumber } from "../../../shared/crd/fields.ts";
import { idSchema } from "./validate.ts";

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 100;
/** Of the records of one page in JSON: a page of large ones is shorter than its limit. */
export const MAX_PAGE_BYTES = 1_048_576;
const LIMIT_MESSAGE = `must be a whole number from 1 to ${MAX_LIMIT}`;

/**
 * The query parameters of every list: `cursor` (the last id of the previous page) and `limit`. Unknown parameters are
 * rejected; a list with filters extends it by `.extend({...})`. `limit` must be digits, because a coercion to a number
 * would accept "" as 0 and "1e1" as 10.
 */
export const pageQuery = z.strictObject({
  cursor: idSchema.optional().openapi({
    description: "The next_cursor of the previous page.",
    example: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11",
  }),
  limit: z
    .string()
    .regex(/^\d{1,3}$/, { error: LIMIT_MESSAGE })
    .transform(Number)
    .pipe(wholeNumber(1, MAX_LIMIT))
    .default(DEFAULT_LIMIT)
    .openapi({
      type: "integer",
      minimum: 1,
      maximum: MAX_LIMIT,
      default: DEFAULT_LIMIT,
      description:
        "Items per page; a page of large ones has fewer, so follow next_cursor rather than count the items.",
    }),
});

export interface PageRequest {
  cursor?: string | undefined;
  limit: number;
}

export interface Page<T> {
  items: T[];
  next_cursor: string | null;
}

/** The schema of a page of `item`; `name` is its component name in the OpenAPI document. */
export function pageSchema<T extends z.ZodType>(item: T, name: string) {
  return z
    .object({
      items: z.array(item).max(MAX_LIMIT).openapi({ description: "The records of this page." }),
      next_cursor: z.guid().nullable().openapi({ description: "Pass it as cursor; null at the end." }),
    })
    .openapi(name);
}

/**
 * Presents the first `limit` of `rows`, which were read with `limit + 1` and ordered by id, or as many as MAX_PAGE_BYTES
 * have room for, at least one. The cursor is the id of the last row, so that concurrent inserts and deletes neither
 * repeat nor skip a row.
 */
export function toPage<Row extends { id: string }, Item>(
  rows: readonly Row[],
  limit: number,
  present: (row: Row) => Item,
): Page<Item> {
  const items = takePage(rows.slice(0, limit), present);
  const last = rows[items.length - 1];
  return { items, next_cursor: rows.length > items.length && last !== undefined ? last.id : null };
}

/** Presents as many of the first rows as MAX_PAGE_BYTES have room for, at least one. */
export function takePage<Row, Item>(rows: readonly Row[], present: (row: Row) => Item): Item[] {
  const taken: Item[] = [];
  let bytes = 0;
  for (const row of rows) {
    const item = present(row);
    bytes += Buffer.byteLength(JSON.stringify(item));
    if (bytes > MAX_PAGE_BYTES && taken.length > 0) break;
    taken.push(item);
  }
  return taken;
}
