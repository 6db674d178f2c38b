import "@hono/zod-openapi";
import { readableNameRule, text } from "../../../shared/crd/fields.ts";
import { withRules } from "../../../shared/crd/rule.ts";

const HIDDEN = "\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029";

/** One line of text with a visible character, for clients: every name that it refuses is refused here too. */
export const NAME_PATTERN = `^[^${HIDDEN}]*[^\\s${HIDDEN}][^${HIDDEN}]*$`;

/** A name for people in a body: 1 to `maxLength` characters (code points), on one line and not blank. */
export function nameField(maxLength: number, description: string, example?: string) {
  return withRules(text(1, maxLength, description), [readableNameRule]).openapi({
    pattern: NAME_PATTERN,
    ...(example === undefined ? {} : { example }),
  });
}
