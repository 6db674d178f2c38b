import type { Steps } from "./turns.ts";

/** The media type of CSV. */
export const CSV = "text/csv";

/** A number by itself: a cell that begins with a minus and is one is no formula. */
const NUMBER = /^-?\d+(\.\d+)?$/;
/**
 * Where a spreadsheet would begin to calculate: before an operator, also in full width, at the beginning of a cell and
 * of what another locale takes for one, blanks and quotes aside (https://owasp.org/www-community/attacks/CSV_Injection).
 */
const FORMULA = /(?<=^|[;|\t\r\n])(?=[\s"]*[=+\-@＝＋－＠])|^(?=[\t\r\n])/gu;
/** What separates cells or rows, in the locale of any spreadsheet. */
const QUOTED = /[",;|\t\r\n]/;

/**
 * Rows as CSV (RFC 4180): a header, then a row per object, in the order of `columns`. In a text that is no number, what
 * a spreadsheet would take for a formula gets an apostrophe before it.
 */
export function toCsv<Column extends string>(
  columns: readonly Column[],
  rows: readonly Readonly<Record<Column, string | null>>[],
): string {
  return [columns.join(","), ...rows.map((row) => toLine(columns, row)), ""].join("\r\n");
}

/** Like toCsv, row by row, of rows that are read page by page. */
export async function* toCsvTexts<Column extends string>(
  columns: readonly Column[],
  pages: AsyncIterable<readonly Readonly<Record<Column, string | null>>[]>,
): AsyncGenerator<string> {
  yield `${columns.join(",")}\r\n`;
  for await (const rows of pages) for (const row of rows) yield `${toLine(columns, row)}\r\n`;
}

/** Like toCsv, in steps; undefined where it would have more than `maxBytes`, and then no more rows are read. */
export function* toCsvWithin<Column extends string>(
  maxBytes: number,
  columns: readonly Column[],
  rows: Iterable<Readonly<Record<Column, string | null>>>,
): Steps<string | undefined> {
  const lines = [columns.join(",")];
  let bytes = Buffer.byteLength(`${lines[0]}\r\n`);
  for (const row of rows) {
    const line = toLine(columns, row);
    bytes += Buffer.byteLength(`${line}\r\n`);
    if (bytes > maxBytes) return undefined;
    lines.push(line);
    yield;
  }
  return [...lines, ""].join("\r\n");
}

function toLine<Column extends string>(
  columns: readonly Column[],
  row: Readonly<Record<Column, string | null>>,
): string {
  return columns.map((column) => toCell(row[column] ?? "")).join(",");
}

function toCell(text: string): string {
  const safe = NUMBER.test(text) ? text : text.replaceAll(FORMULA, "'");
  return QUOTED.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
