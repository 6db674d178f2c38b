/** What RFC 8187 lets stand as it is in an extended value, beyond what encodeURIComponent keeps. */
const MUST_ENCODE = /['()*]/g;

/**
 * The Content-Disposition of a file to be stored (RFC 6266): its name in full, and in ASCII for clients that read no
 * other. Safe for any name, also one with quotes or line breaks.
 */
export function attachment(fileName: string): string {
  const plain = fileName.replaceAll(/[^A-Za-z0-9._-]+/g, "-").replace(/^[-.]+/, "");
  if (plain === fileName) return `attachment; filename="${plain}"`;
  const full = encodeURIComponent(fileName.toWellFormed()).replaceAll(
    MUST_ENCODE,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"; filename*=UTF-8''${full}`;
}
