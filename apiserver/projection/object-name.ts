import { randomInt } from "node:crypto";

/** 34 characters of slug, a hyphen and 5 random characters make the 40 that a metadata.name may have. */
const MAX_SLUG_LENGTH = 34;
const RANDOM_LENGTH = 5;
const RANDOM_ALPHABET = "bcdfghjklmnpqrstvwxz2456789";

/**
 * The slug of a name for people: lower-case letters, digits and single hyphens, accents dropped, at most 34
 * characters, never empty (`fallback` when nothing is left, as for a name in another script).
 */
export function slugOf(name: string, fallback: string): string {
  const slug = name
    .normalize("NFKD")
    .replaceAll(/\p{Mark}/gu, "")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, MAX_SLUG_LENGTH + 1)
    .replaceAll(/^-+/g, "")
    .slice(0, MAX_SLUG_LENGTH)
    .replaceAll(/-+$/g, "");
  return slug === "" ? fallback : slug;
}

/** A new metadata.name for an object that people call `name`: its slug and five random characters, without vowels. */
export function createObjectName(name: string, fallback: string): string {
  const random = Array.from({ length: RANDOM_LENGTH }, () =>
    RANDOM_ALPHABET.charAt(randomInt(RANDOM_ALPHABET.length)),
  );
  return `${slugOf(name, fallback)}-${random.join("")}`;
}
