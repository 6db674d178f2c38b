import { z } from "@hono/zod-openapi";
import { wholeNumber } from "../../../shared/crd/fields.ts";
import { idSchema } from "./validate.ts";

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 100;
/** The size of the records of one page in JSON: a page of large ones is shorter than its limit. */
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
 * Presents the first `limit` of `rows`, which were read with `limit + 1` and ordered by id, or as many as
 * MAX_PAGE_BYTES have room for, at least one. Rows that were cut by measureRows say whether others follow. The cursor is
 * the id of the last row, so that concurrent inserts and deletes neither repeat nor skip a row.
 */
export function toPage<Row extends { id: string; isFollowed?: boolean }, Item>(
  rows: readonly Row[],
  limit: number,
  present: (row: Row) => Item,
): Page<Item> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const isFollowed = rows.length > limit || last?.isFollowed === true;
  return cutPage(shown, { present, cursorOf: ({ id }) => id, next: isFollowed ? (last?.id ?? null) : null });
}

/** How the rows of a page become its items and its cursor. */
interface PageOptions<Row, Item> {
  present: (row: Row) => Item;
  /** The cursor of the page after the one whose last row this is. */
  cursorOf: (row: Row) => string;
  /** The cursor of the page after all rows; null: they are the last ones. */
  next: string | null;
}

/**
 * Presents `rows`, which are at most a page, or as many of the first ones as MAX_PAGE_BYTES have room for, at least one:
 * then the next page begins after the last one that is shown.
 */
export function cutPage<Row, Item>(
  rows: readonly Row[],
  { present, cursorOf, next }: PageOptions<Row, Item>,
): Page<Item> {
  const items: Item[] = [];
  let bytes = 0;
  let last: Row | undefined;
  for (const row of rows) {
    const item = present(row);
    bytes += Buffer.byteLength(JSON.stringify(item));
    if (bytes > MAX_PAGE_BYTES && last !== undefined) return { items, next_cursor: cursorOf(last) };
    items.push(item);
    last = row;
  }
  return { items, next_cursor: next };
}

const ID_HEX_DIGITS = 16;

/** The cursors of a list whose items have a position instead of an id: none is above 2^53. */
const CURSOR_PATTERN = /^(00[01][0-9a-fA-F]{5})-([0-9a-fA-F]{4})-8([0-9a-fA-F]{3})-8([0-9a-fA-F])00-0{12}$/;

const CURSOR_MESSAGE = "must be a next_cursor of this list";

/** The query of a list whose items have a position instead of an id. */
export const positionPageQuery = pageQuery.extend({
  cursor: z
    .guid({ error: CURSOR_MESSAGE })
    .max(36)
    .regex(CURSOR_PATTERN, { error: CURSOR_MESSAGE })
    .optional()
    .openapi({
      description: "The next_cursor of the previous page; any other UUID is refused.",
    }),
});

/**
 * One page of a whole list, in the order of rising positions. The cursor is the position of the last item, so that an
 * item that is added or removed between two pages neither repeats nor skips another.
 */
export function toPositionPage<T>(
  items: readonly T[],
  { cursor, limit }: PageRequest,
  positionOf: (item: T) => number,
): Page<T> {
  const after = cursor === undefined ? -1 : (cursorToPosition(cursor) ?? -1);
  const rest = items
    .filter((item) => positionOf(item) > after)
    .toSorted((left, right) => positionOf(left) - positionOf(right));
  const cursorOf = (item: T) => positionToCursor(positionOf(item));
  const shown = rest.slice(0, limit);
  const last = shown.at(-1);
  const next = rest.length > limit && last !== undefined ? cursorOf(last) : null;
  return cutPage(shown, { present: (item) => item, cursorOf, next });
}

/**
 * Packs a position of a list into a UUIDv8, since every cursor of the API is a UUID: 48, 12 and 4 bits of the number
 * around the version and variant, all other bits zero.
 */
export function positionToCursor(position: number): string {
  const hex = position.toString(16).padStart(ID_HEX_DIGITS, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(12, 15)}-8${hex.slice(15)}00-000000000000`;
}

/** The position in a cursor; undefined for any other UUID. */
export function cursorToPosition(cursor: string): number | undefined {
  const parts = CURSOR_PATTERN.exec(cursor);
  if (parts === null) return undefined;
  return Number.parseInt(parts.slice(1).join(""), 16);
}
