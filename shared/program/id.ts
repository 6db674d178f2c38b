import { uuidv7 } from "uuidv7";
import { z } from "zod";

/** Sorts before every other id. */
export const NIL_ID = "00000000-0000-0000-0000-000000000000";

/**
 * A new identifier: UUIDv7 (RFC 9562), so that ids sort by creation. Strictly increasing within this process, also
 * within one millisecond, unless the clock is set back by more than 10 seconds.
 */
export function createId(): string {
  return uuidv7();
}

/** Whether Postgres takes the text as an id: labels of custom resources can hold any text. */
export function isId(text: string | undefined): text is string {
  return z.guid().safeParse(text).success;
}
