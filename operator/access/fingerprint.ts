import { createHash } from "node:crypto";

/** A short hash that tells whether a text is still the same. */
export function fingerprint(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
