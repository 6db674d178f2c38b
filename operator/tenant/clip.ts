/**
 * The first characters of a text of a tenant, as a string of its own: a part of a string that V8 cuts out would keep the
 * whole of it in memory. Half a surrogate pair at the end becomes U+FFFD.
 */
export function copyClipped(text: string, maxLength: number): string {
  return Buffer.from(text.slice(0, maxLength)).toString();
}
