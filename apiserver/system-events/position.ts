const ID_HEX_DIGITS = 16;

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
  const parts = /^([0-9a-f]{8})-([0-9a-f]{4})-8([0-9a-f]{3})-8([0-9a-f])00-0{12}$/.exec(cursor);
  if (parts === null) return undefined;
  const position = Number.parseInt(parts.slice(1).join(""), 16);
  return Number.isSafeInteger(position) ? position : undefined;
}
