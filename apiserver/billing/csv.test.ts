import { text } from "node:stream/consumers";
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { toCsv, toCsvTexts, toCsvWithin } from "./csv.ts";
import { runAtOnce } from "./turns.ts";

test.each([
  ["plain", "plain"],
  [null, ""],
  ["-5.00", "-5.00"],
  ["-5", "-5"],
  ["0.000001", "0.000001"],
  ["2026-02-10", "2026-02-10"],
  ['a "b", c', '"a ""b"", c"'],
  ["two\r\nlines", '"two\r\nlines"'],
  ["a;b", '"a;b"'],
  ["a\tb", '"a\tb"'],
  ["a|b", '"a|b"'],
  ["a-b=c", "a-b=c"],
  ["=1+1", "'=1+1"],
  ["@SUM(A1)", "'@SUM(A1)"],
  ["-cmd", "'-cmd"],
  ["-1+cmd|' /C calc'!A0", "\"'-1+cmd|' /C calc'!A0\""],
  ["-5.00x", "'-5.00x"],
  ["-1-1", "'-1-1"],
  ["+49 30 1", "'+49 30 1"],
  ["+5", "'+5"],
  ["--5", "'--5"],
  [" =1+1", "' =1+1"],
  ["\u00a0=1", "'\u00a0=1"],
  ["＝1＋1", "'＝1＋1"],
  ["＋1", "'＋1"],
  ["－1", "'－1"],
  ["＠SUM(A1)", "'＠SUM(A1)"],
  ["shop;=1+1", '"shop;\'=1+1"'],
  ["shop\t@x", '"shop\t\'@x"'],
  ['shop;"=1+1;x', '"shop;\'""=1+1;x"'],
  ["\tshop", '"\'\tshop"'],
])("%j is the cell %j", (text, cell) => {
  expect(toCsv(["one", "two"], [{ one: text, two: "2" }])).toBe(`one,two\r\n${cell},2\r\n`);
});

const anyText = fc.string({
  unit: fc.constantFrom(...Array.from(`=+-@＝－＠1.a ;,|\t\n"'`)),
  maxLength: 12,
});

test("no cell of any text is a formula, whatever a locale takes for a separator and for the end of a quoted text", () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const row = toCsv(["one"], [{ one: text }]).slice("one\r\n".length, -2);
      const cell = /^".*"$/s.test(row) ? row.slice(1, -1).replaceAll('""', '"') : row;
      const parts = /^-?\d+(\.\d+)?$/.test(text) ? [] : [cell, ...cell.split(/[;|\t\r\n]/)];
      expect(parts.filter((part) => /^[\s"]*[=+\-@＝＋－＠]/.test(part))).toEqual([]);
    }),
  );
});

test("the text of a cell is what was given, but for apostrophes before formulas", () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const row = toCsv(["one"], [{ one: text }]).slice("one\r\n".length, -2);
      const cell = /^".*"$/s.test(row) ? row.slice(1, -1).replaceAll('""', '"') : row;
      expect(cell.replaceAll("'", "")).toBe(text.replaceAll("'", ""));
    }),
  );
});

test("rows within so many bytes are the same file; of more there is none, and the rows after are not read", () => {
  const rows = ["a", "é", "c"].map((name) => ({ name }));
  const whole = toCsv(["name"], rows);
  const bytes = Buffer.byteLength(whole);
  expect(runAtOnce(toCsvWithin(bytes, ["name"], rows))).toBe(whole);
  const read = vi.fn<() => void>();
  function* readRows() {
    for (const row of rows) {
      read();
      yield row;
    }
  }
  expect(runAtOnce(toCsvWithin(bytes - 4, ["name"], readRows()))).toBeUndefined();
  expect(read).toHaveBeenCalledTimes(2);
  expect(runAtOnce(toCsvWithin(8, ["name"], readRows()))).toBeUndefined();
  expect(read).toHaveBeenCalledTimes(3);
});

test("rows that are read page by page are the same file", async () => {
  const rows = [
    { a: "=1", b: null },
    { a: "2", b: 'x"' },
    { a: ";", b: "" },
  ];
  const columns = ["a", "b"] as const;
  const pages = ReadableStream.from([rows.slice(0, 2), [], rows.slice(2)]);
  expect(await text(toCsvTexts(columns, pages))).toBe(toCsv(columns, rows));
});
