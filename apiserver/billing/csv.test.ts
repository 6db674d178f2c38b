import { expect, test } from "vitest";
import { toCsv } from "./csv.ts";

test.each([
  ["plain", "plain"],
  [null, ""],
  ["-5.00", "-5.00"],
  ['a "b", c', '"a ""b"", c"'],
  ["two\r\nlines", '"two\r\nlines"'],
  ["=1+1", "'=1+1"],
  ["@SUM(A1)", "'@SUM(A1)"],
  ["-cmd", "'-cmd"],
])("%j is the cell %j", (text, cell) => {
  expect(toCsv(["one", "two"], [{ one: text, two: "2" }])).toBe(`one,two\r\n${cell},2\r\n`);
});
