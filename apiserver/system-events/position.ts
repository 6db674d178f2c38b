const ID_HEX_DIGITS = 16;

/** A cursor that this list can have made: no number of it is above 2^53. */
export const CURSOR_PATTERN =
  /^(00[01][0-9a-fA-F]{5})-([0-9a-fA-F]{4})-8([0-9a-fA-F]{3})-8([0-9a-fA-F])00-0{12}$/;

/**
 * Packs a position of the event history into a UUIDv8, which is what a page's cursor has to look like: 48 and 12 and
 * 4 bits of the number around the version, all other bits zero.
 */
export function positionToCursor(position: number): string {
  const hex = position.toString(16).padStart(ID_HEX_DIGITS, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(12, 15)}-8${hex.slice(15)}00-000000000000`;
}

/** The position in a cursor; undefined for a UUID that is not one of ours. */
export function cursorToPosition(cursor: string): number | undefined {
  const parts = CURSOR_PATTERN.exec(cursor);
  if (parts === null) return undefined;
  return Number.parseInt(parts.slice(1).join(""), 16);
}
