import { z } from "@hono/zod-openapi";
import { isPastEnd } from "../../shared/crd/expiry.ts";
import { timeSchema, timestampField } from "../http/contract/fields.ts";
import type { ErrorDetail } from "../http/errors.ts";

const END =
  "When it is deleted by itself; null: never. A deletion_protection that is true then holds it back. Events of the cluster announce it 7 days, 24 hours and 1 hour before.";

/** Of clusters and node pools: what holds a deletion back, and when it happens by itself. */
export const deletionFields = {
  deletion_protection: z.boolean().openapi({
    description: "Whether a deletion is refused, by REST and by every other way. Set it to false first.",
    example: false,
  }),
  deletion_protection_state: z.enum(["off", "pending", "on"]).openapi({
    description:
      "Whether deletion_protection holds in every way: pending until the place where the platform keeps it is protected too, which takes moments; for good where that place is being deleted already.",
    example: "off",
  }),
  expires_at: timestampField(END).nullable(),
};

/** The same in a body. */
export const deletionSettings = {
  deletion_protection: deletionFields.deletion_protection.optional(),
  expires_at: timeSchema
    .nullish()
    .openapi({ type: ["string", "null"], format: "date-time", description: END, example: null }),
};

/** Refuses an end date that would delete at once: that is what DELETE is for. */
export function refusePastEnd(
  expiresAt: string | null | undefined,
  now: Date,
  field = "expires_at",
): ErrorDetail[] {
  if (!isPastEnd({ expiresAt: expiresAt ?? undefined }, now)) return [];
  return [{ field, code: "out_of_range", message: "must be in the future" }];
}
