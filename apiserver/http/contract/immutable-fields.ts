import { z } from "@hono/zod-openapi";
import { type ErrorDetail, validationFailed } from "../errors.ts";

/**
 * A field that a GET returns and no PUT can change, so that what was read can be sent back: accepted with any value
 * and ignored.
 */
export const observedField = z
  .unknown()
  .optional()
  .openapi({ description: "Observed by the server: accepted and ignored." });

/** A field that a PUT may repeat but not change; the handler compares it by `requireUnchanged`. */
export function immutableField<T extends z.ZodType>(schema: T) {
  return schema.optional().openapi({ description: "Immutable: only the current value is accepted." });
}

/** Refuses with 422 `<field>/immutable` every fixed field that was sent with another value than the record has. */
export function requireUnchanged<T extends Readonly<Record<string, unknown>>>(
  record: T,
  sent: { readonly [K in keyof T]?: unknown },
): void {
  const details = Object.keys(record).flatMap((field): ErrorDetail[] => {
    const value = sent[field];
    if (value === undefined || value === record[field]) return [];
    return [{ field, code: "immutable", message: "cannot be changed" }];
  });
  const [first, ...others] = details;
  if (first !== undefined) throw validationFailed([first, ...others]);
}
