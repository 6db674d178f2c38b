/**
 * The slug of a name: lower-case letters and digits, accents dropped, everything else one hyphen, at most `maxLength`
 * characters. Empty for a name without any such letter (`日本`).
 */
export function slugOf(name: string, maxLength: number): string {
  return name
    .normalize("NFKD")
    .replaceAll(/\p{Mark}/gu, "")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replace(/^-/, "")
    .slice(0, maxLength)
    .replace(/-$/, "");
}
