import { z } from "@hono/zod-openapi";
import { type Page, type PageRequest, pageQuery } from "./page.ts";
import { CURSOR_PATTERN, cursorToPosition, positionToCursor } from "./position-cursor.ts";

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
  const shown = rest.slice(0, limit);
  const last = shown.at(-1);
  return {
    items: shown,
    next_cursor: rest.length > limit && last !== undefined ? positionToCursor(positionOf(last)) : null,
  };
}
