import { slugOf } from "../http/contract/fields.ts";
import { MAX_SLUG_LENGTH, MIN_SLUG_LENGTH } from "./schema.ts";

/**
 * Derives a slug from a name, 3 to 40 characters. A name without Latin letters or digits (`日本`) gives `org-` and the
 * end of the id.
 */
export function toSlug(name: string, id: string): string {
  const slug = slugOf(name, MAX_SLUG_LENGTH);
  return slug.length >= MIN_SLUG_LENGTH ? slug : `org-${id.slice(-12)}`;
}

/** The slug to use when `toSlug` is taken: with the end of the id, within 40 characters. */
export function toDistinctSlug(name: string, id: string): string {
  return `${toSlug(name, id)
    .slice(0, MAX_SLUG_LENGTH - 7)
    .replace(/-$/, "")}-${id.slice(-6)}`;
}
