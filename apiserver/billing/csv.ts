/** The media type of CSV. */
export const CSV = "text/csv";

/** What a spreadsheet would calculate, were it the beginning of a cell. */
const FORMULA = /^[=+@\t\r]|^-(?!\d)/;

/**
 * Rows as CSV (RFC 4180): a header, then a row per object, in the order of `columns`. A text that a spreadsheet would take
 * for a formula gets an apostrophe before it.
 */
export function toCsv<Column extends string>(
  columns: readonly Column[],
  rows: readonly Readonly<Record<Column, string | null>>[],
): string {
  const lines = rows.map((row) => columns.map((column) => toCell(row[column] ?? "")).join(","));
  return [columns.join(","), ...lines, ""].join("\r\n");
}

function toCell(text: string): string {
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
