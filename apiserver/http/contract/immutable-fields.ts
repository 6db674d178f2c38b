import { isDeepStrictEqual } from "node:util";
import { z } from "@hono/zod-openapi";
import { type ErrorDetail, validationFailed } from "../errors.ts";
import { lowerCaseIds } from "./validate.ts";

/**
 * A field that a GET returns and no PUT can change: any value is accepted and ignored, so that a client can send back
 * what it read.
 */
export const readOnlyField = z
  .unknown()
  .optional()
  .openapi({ description: "Read-only: accepted and ignored." });

/** A field that a PUT may repeat but not change; the handler checks it by `requireUnchanged` or `findImmutableChanges`. */
export function immutableField<T extends z.ZodType>(schema: T) {
  return schema.optional().openapi({ description: "Immutable: only the current value is accepted." });
}

/** The detail `immutable` for every field of `record` that was sent with another value. */
export function findImmutableChanges<T extends Readonly<Record<string, unknown>>>(
  record: T,
  sent: { readonly [K in keyof T]?: unknown },
): ErrorDetail[] {
  return Object.keys(record).flatMap((field): ErrorDetail[] => {
    const value = typeof sent[field] === "string" ? lowerCaseIds(sent[field]) : sent[field];
    if (value === undefined || isDeepStrictEqual(value, record[field])) return [];
    return [{ field, code: "immutable", message: "cannot be changed" }];
  });
}

/** Throws 422 with the details of `findImmutableChanges`, if there are any. */
export function requireUnchanged<T extends Readonly<Record<string, unknown>>>(
  record: T,
  sent: { readonly [K in keyof T]?: unknown },
): void {
  const [first, ...others] = findImmutableChanges(record, sent);
  if (first !== undefined) throw validationFailed([first, ...others]);
}
