import { z } from "@hono/zod-openapi";
import { type Page, type PageRequest, pageQuery, takePage } from "./page.ts";

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
  const shown = takePage(rest.slice(0, limit), (item) => item);
  const last = shown.at(-1);
  return {
    items: shown,
    next_cursor: rest.length > shown.length && last !== undefined ? positionToCursor(positionOf(last)) : null,
  };
}

/**
 * Packs a position of a list into a UUIDv8, since every cursor of the API is a UUID: 48, 12 and 4 bits of the number around the
 * version and variant, all other bits zero.
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
