import { randomUUIDv7 } from "node:crypto";

/** A new identifier: UUIDv7, so that the order of ids is the order of creation. */
export function createId(): string {
  return randomUUIDv7();
}
