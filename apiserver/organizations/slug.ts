import { MAX_SLUG_LENGTH, MIN_SLUG_LENGTH } from "./schema.ts";

/**
 * Derives a slug from a name: letters without accents, everything else one hyphen, 3 to 40 characters.
 * A name without any such letter (`日本`) gives `org-` and the end of the id.
 */
export function toSlug(name: string, id: string): string {
  const letters = name
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, MAX_SLUG_LENGTH)
    .replaceAll(/^-+|-+$/g, "");
  return letters.length >= MIN_SLUG_LENGTH ? letters : `org-${id.slice(-12)}`;
}

/** The slug to use when `toSlug` is taken: with the end of the id, within 40 characters. */
export function toDistinctSlug(name: string, id: string): string {
  return `${toSlug(name, id)
    .slice(0, MAX_SLUG_LENGTH - 7)
    .replace(/-$/, "")}-${id.slice(-6)}`;
}
