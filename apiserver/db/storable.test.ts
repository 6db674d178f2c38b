import { expect, test } from "vitest";
import { toStorable } from "./storable.ts";

test("a NUL in any string, also in a name, is replaced", () => {
  expect(toStorable({ a: "x\0y", list: ["\0"], inner: { "k\0": 1 } })).toEqual({
    a: "x\uFFFDy",
    list: ["\uFFFD"],
    inner: { "k\uFFFD": 1 },
  });
});

test("a value without NUL is returned itself, whatever it is made of", () => {
  const value = { text: "\\u0000", none: null, n: 1, when: undefined, list: [true] };
  expect(toStorable(value)).toBe(value);
});
