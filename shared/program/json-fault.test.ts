import { expect, test } from "vitest";
import { describeJsonFault } from "./json-fault.ts";

const KEY = "a field name in double quotes";

test.each([
  ["", 1, 1, "a value"],
  [" \r\n\t", 2, 2, "a value"],
  ["\uFEFF{}", 1, 1, "a value"],
  ["{a:1}", 1, 2, `${KEY} or }`],
  ["{'a':1}", 1, 2, `${KEY} or }`],
  ['{"a":1,}', 1, 8, KEY],
  ['{"a" 1}', 1, 6, "a colon"],
  ['{"a":}', 1, 6, "a value"],
  ['{"a":1', 1, 7, "a comma or }"],
  ['{\n  "a": 1\n  "b": 2\n}', 3, 3, "a comma or }"],
  ['{\r\n  "a": [1, 2\r\n}', 3, 1, "a comma or ]"],
  ["[", 1, 2, "a value or ]"],
  ["[1,]", 1, 4, "a value"],
  ["[NaN]", 1, 2, "a value or ]"],
  ["[01]", 1, 3, "a comma or ]"],
  ["[1.]", 1, 3, "a comma or ]"],
  ["[+1]", 1, 2, "a value or ]"],
  ["[True]", 1, 2, "a value or ]"],
  ["{} {}", 1, 4, "nothing more"],
  ["[]]", 1, 3, "nothing more"],
  ["// a comment\n{}", 1, 1, "a value"],
  ['["🚢", "é", x]', 1, 12, "a value"],
  ['{"a": "never closed}', 1, 21, "a closing quote"],
  ['["C:\\temp\\x"]', 1, 10, "a valid escape"],
  ['["one\ntwo"]', 1, 6, "a closing quote, or an escape for the control character"],
])("%j is refused by JSON.parse, and the fault is in line %i, column %i", (text, line, column, wanted) => {
  expect(() => JSON.parse(text)).toThrow(SyntaxError);
  expect(describeJsonFault(text)).toBe(
    `not valid JSON: line ${line}, column ${column} should have ${wanted}`,
  );
});

test.each([
  ["an escape in each character", `["${"\\n".repeat(120_000)}`, 240_003],
  ["a long text", `["${"x".repeat(250_000)}`, 250_003],
  ["deep lists", "[".repeat(250_000), 250_001],
  ["many values", `[${"1,".repeat(120_000)}`, 240_002],
])("the fault of a body of the greatest size is found: %s", (_, text, column) => {
  expect(describeJsonFault(text)).toContain(`line 1, column ${column} `);
});
