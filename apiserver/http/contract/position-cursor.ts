const ID_HEX_DIGITS = 16;

/** The cursors that such a list returns: no position is above 2^53. */
export const CURSOR_PATTERN =
  /^(00[01][0-9a-fA-F]{5})-([0-9a-fA-F]{4})-8([0-9a-fA-F]{3})-8([0-9a-fA-F])00-0{12}$/;

/**
 * Packs a position of a list into a UUIDv8, since every cursor of the API is a UUID: 48, 12 and 4 bits of the number around the
 * version and variant, all other bits zero.
 */
export function positionToCursor(position: number): string {
  const hex = position.toString(16).padStart(ID_HEX_DIGITS, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(12, 15)}-8${hex.slice(15)}00-000000000000`;
}

/** The position in a cursor; undefined for any other UUID. */
export function cursorToPosition(cursor: string): number | undefined {
  const parts = CURSOR_PATTERN.exec(cursor);
  if (parts === null) return undefined;
  return Number.parseInt(parts.slice(1).join(""), 16);
}
