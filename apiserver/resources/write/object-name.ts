import { randomInt } from "node:crypto";
import { slugOf } from "../../http/contract/slug.ts";

/** 34 characters of slug, a hyphen and 5 random characters make the 40 that a metadata.name may have. */
const MAX_SLUG_LENGTH = 34;
const RANDOM_LENGTH = 5;
const RANDOM_ALPHABET = "bcdfghjklmnpqrstvwxz2456789";

/**
 * A new metadata.name for an object with a display name: its slug (`fallback` when the name has no Latin letter or digit)
 * and five random characters, without vowels.
 */
export function createObjectName(displayName: string, fallback: string): string {
  const random = Array.from({ length: RANDOM_LENGTH }, () =>
    RANDOM_ALPHABET.charAt(randomInt(RANDOM_ALPHABET.length)),
  );
  return `${slugOf(displayName, MAX_SLUG_LENGTH) || fallback}-${random.join("")}`;
}
