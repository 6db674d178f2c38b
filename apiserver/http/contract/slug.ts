import transliterate from "@sindresorhus/transliterate";

/**
 * The slug of a name: lower-case letters and digits, accents dropped, other letters of alphabets in those of ASCII, everything
 * else one hyphen, at most `maxLength` characters. Empty for a name without any such letter (`日本`).
 */
export function slugOf(name: string, maxLength: number): string {
  return transliterate(name.normalize("NFKD").replaceAll(/\p{Mark}/gu, ""))
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replace(/^-/, "")
    .slice(0, maxLength)
    .replace(/-$/, "");
}
