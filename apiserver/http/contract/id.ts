import { randomUUIDv7 } from "node:crypto";

/** Before every id. */
export const NIL_ID = "00000000-0000-0000-0000-000000000000";

let last = "";

/**
 * A new identifier: UUIDv7, so that the order of ids is the order of creation; within this process strictly, also in
 * the same millisecond (RFC 9562, section 6.2: the 12 bits after the time count on), and with 62 random bits always.
 */
export function createId(): string {
  const fresh = randomUUIDv7();
  last = fresh > last ? fresh : successorOf(last, fresh);
  return last;
}

/** The place of `id`, one further, with the random bits of `fresh`. */
function successorOf(id: string, fresh: string): string {
  const time = BigInt(`0x${id.slice(0, 8)}${id.slice(9, 13)}`);
  const next = ((time << 12n) | BigInt(`0x${id.slice(15, 18)}`)) + 1n;
  const digits = (next >> 12n).toString(16).padStart(12, "0");
  const count = (next & 0xfffn).toString(16).padStart(3, "0");
  return `${digits.slice(0, 8)}-${digits.slice(8)}-7${count}${fresh.slice(18)}`;
}
