import { expect, test } from "vitest";
import { count } from "./plural.ts";

test.each([
  [0, "0 nodes"],
  [1, "1 node"],
  [2, "2 nodes"],
])("%i is said as %s", (amount, text) => {
  expect(count(amount, "node")).toBe(text);
});

test("a noun with a plural of its own is given it", () => {
  expect(count(2, "entry", "entries")).toBe("2 entries");
});
