import { z } from "@hono/zod-openapi";
import { pageQuery } from "../http/contract/page.ts";

const MAX_CURSOR_LENGTH = 400;
const CURSOR_PATTERN = /^[A-Za-z0-9_-]+$/;
/** What names of repositories and tags consist of. */
const NAME_START = /^[A-Za-z0-9._/-]*/;

/** The query of a list whose items have a name instead of an id: the cursor is the last name, in base64url. */
export const namePageQuery = pageQuery.extend({
  cursor: z
    .string()
    .regex(CURSOR_PATTERN, { error: "must be a next_cursor of this list" })
    .max(MAX_CURSOR_LENGTH)
    .optional()
    .openapi({ description: "The next_cursor of the previous page." }),
});

/** The schema of a page of such items; `name` is its component name in the OpenAPI document. */
export function namePageSchema<T extends z.ZodType>(item: T, name: string) {
  return z
    .object({
      items: z.array(item).max(100).openapi({ description: "The records of this page." }),
      next_cursor: z
        .string()
        .max(MAX_CURSOR_LENGTH)
        .nullable()
        .openapi({ description: "Pass it as cursor; null at the end." }),
    })
    .openapi(name);
}

/** The name that a cursor stands for. Of a cursor that no page gave, what could be one. */
export function cursorToName(cursor: string | undefined): string | undefined {
  if (cursor === undefined) return undefined;
  return NAME_START.exec(Buffer.from(cursor, "base64url").toString("utf8"))?.[0];
}

/** The cursor of the page after `name`. */
export function nameToCursor(name: string): string {
  return Buffer.from(name).toString("base64url");
}
