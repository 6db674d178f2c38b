import { createHash } from "node:crypto";

/** A short hash by which a change of a text is recognized. */
export function fingerprint(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
