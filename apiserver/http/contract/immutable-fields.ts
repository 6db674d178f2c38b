import { isDeepStrictEqual } from "node:util";
import { z } from "@hono/zod-openapi";
import { type ErrorDetail, validationFailed } from "../errors.ts";

/**
 * A field that a GET returns and no PUT can change, so that what was read can be sent back: accepted with any value
 * and ignored.
 */
export const readOnlyField = z
  .unknown()
  .optional()
  .openapi({ description: "Observed by the server: accepted and ignored." });

/** A field that a PUT may repeat but not change; the handler compares it by `requireUnchanged` or `findImmutableChanges`. */
export function immutableField<T extends z.ZodType>(schema: T) {
  return schema.optional().openapi({ description: "Immutable: only the current value is accepted." });
}

/** `<field>/immutable` for every fixed field that was sent with another value than the record has. */
export function findImmutableChanges<T extends Readonly<Record<string, unknown>>>(
  record: T,
  sent: { readonly [K in keyof T]?: unknown },
): ErrorDetail[] {
  return Object.keys(record).flatMap((field): ErrorDetail[] => {
    const value = sent[field];
    if (value === undefined || isDeepStrictEqual(value, record[field])) return [];
    return [{ field, code: "immutable", message: "cannot be changed" }];
  });
}

/** Throws 422 with the details of `findImmutableChanges`. */
export function requireUnchanged<T extends Readonly<Record<string, unknown>>>(
  record: T,
  sent: { readonly [K in keyof T]?: unknown },
): void {
  const [first, ...others] = findImmutableChanges(record, sent);
  if (first !== undefined) throw validationFailed([first, ...others]);
}
