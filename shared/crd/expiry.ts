import { z } from "zod";
import { findRestoredAt, type Identified } from "./identity.ts";

/** RFC 3339 as every reader of it understands it: the format alone lets offsets pass that are no time. */
const TIME = /^\d{4}-\d{2}-\d{2}T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

/** When an object is deleted by itself. */
export function expiresAt(noun: string) {
  return z
    .string()
    .max(64)
    .regex(TIME, "must be a time as 2030-01-31T18:00:00Z")
    .optional()
    .meta({
      description: `When the ${noun} is deleted by itself, unless spec.deletionProtection is true then. Nothing is made of a ${noun} that is created later. Absent means never.`,
      format: "date-time",
    });
}

/** Whether the end date has passed. Without one, and with one that is no time, it never has. */
export function isPastEnd({ expiresAt: end }: { expiresAt?: string | undefined }, now: Date): boolean {
  return end !== undefined && Date.parse(end) <= now.getTime();
}

/** Whether an object came back from a backup after its end date. That may have been moved since the backup, so it is not deleted for it. */
export function isRestoredAfterEnd(
  object: Identified & { spec: { expiresAt?: string | undefined } },
): boolean {
  const restoredAt = findRestoredAt(object);
  return restoredAt !== undefined && isPastEnd(object.spec, restoredAt);
}

/** Whether both are the same moment, however it is written, or neither is there. */
export function isSameEnd(one: string | undefined, other: string | undefined): boolean {
  return one === other || Date.parse(one ?? "") === Date.parse(other ?? "");
}
