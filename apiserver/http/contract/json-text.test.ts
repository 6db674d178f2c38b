import { expect, test, vi } from "vitest";
import { ApiError } from "../errors.ts";
import { parseJson } from "./json-text.ts";

test.each([
  ["an empty object", "{}"],
  ["the same key in different objects", '{"a":{"b":1},"c":{"b":2},"d":[{"b":3},{"b":4}]}'],
  ["a value that equals a key", '{"a":"a","b":"a"}'],
  ["braces and colons inside of strings", '{"a":"{[:\\"","b{":"}]"}'],
  ["nested 32 deep", `${"[".repeat(32)}${"]".repeat(32)}`],
  ["a scalar", "17"],
  ["a text that ends in a backslash", '{"a":"\\\\","b":"\\\\"}'],
])("%s is taken as JSON.parse takes it", (_, text) => {
  expect(parseJson(text)).toEqual(JSON.parse(text));
});

test.each([
  ["no JSON", "{a:1}"],
  ["a comma too many", "[1,]"],
  ["NaN", "[NaN]"],
  ["a key twice", '{"a":1,"a":2}'],
  ["a key twice, once with an escape", '{"a":1,"\\u0061":2}'],
  ["a key twice, apart", '{"a":{"x":1},"b":2,"a" :3}'],
  ["a key twice deep down", '[{"x":[{"y":1,"y":1}]}]'],
  ["__proto__ twice", '{"__proto__":1,"__proto__":2}'],
  ["nested 33 deep", `${"[".repeat(33)}${"]".repeat(33)}`],
  ["nested half a million deep", `${"[".repeat(500_000)}${"]".repeat(500_000)}`],
  ["objects nested deep", `${'{"a":'.repeat(100)}1${"}".repeat(100)}`],
])("%s is refused with 400", (_, text) => {
  expect(() => parseJson(text)).toThrow(ApiError);
  expect(() => parseJson(text)).toThrow(
    /^The body (is not valid JSON: line \d+, column \d+|has the key|must not be nested)/,
  );
});

test("a text that is no JSON is refused with the line and column of the fault", () => {
  expect(() => parseJson('{\n  "a": 1,\n  "\\x": 2\n}')).toThrow(
    "The body is not valid JSON: line 3, column 4 should have a valid escape.",
  );
});

const labels = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, ""]));

test.each([
  ["12,000 values", `[${Array(11_999).fill(1).join()}]`],
  ["128 fields in each object", JSON.stringify([labels(128), labels(128)])],
])("%s are taken", (_, text) => {
  expect(parseJson(text)).toEqual(JSON.parse(text));
});

test.each([
  ["more than 12,000 values", `[${Array(12_001).fill(1).join()}]`],
  ["more than 12,000 empty lists", `[${Array(12_001).fill("[]").join()}]`],
  ["more than 128 fields in one object", JSON.stringify({ a: labels(129) })],
  ["more than 128 fields of no JSON", `${JSON.stringify(labels(129))}}`],
])("%s are refused with 422 before they are parsed", (_, text) => {
  const parse = vi.spyOn(JSON, "parse");
  try {
    expect(() => parseJson(text)).toThrow(/^body\/too_many: must have at most (12000 values|128 fields)/);
    expect(parse).not.toHaveBeenCalled();
  } finally {
    parse.mockRestore();
  }
});
