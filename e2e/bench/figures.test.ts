import { expect, test } from "vitest";
import type { Stack } from "../platform/stack/stack.ts";
import { boundByKept, type Figure, isNearlyWithin, isWithin, measureUntilWithin } from "./figures.ts";
import { startSideBySide } from "./side-by-side.ts";

const figure = (value: number, bounds: Pick<Figure, "limit" | "atLeast">): Figure => ({
  name: "API to floor",
  unit: "x",
  value,
  ...bounds,
});

test.each([
  ["below a limit", 2.9, { limit: 3 }, true, true],
  ["at a limit", 3, { limit: 3 }, true, true],
  ["a third above it", 4, { limit: 3 }, false, true],
  ["more than a third above it", 4.01, { limit: 3 }, false, false],
  ["above a lower bound", 3.1, { atLeast: 3 }, true, true],
  ["a third more would reach it", 2.25, { atLeast: 3 }, false, true],
  ["a third more would not", 2.24, { atLeast: 3 }, false, false],
  ["without a limit", 1000, {}, true, true],
  ["a figure that was not measured", Number.NaN, { limit: 3 }, false, false],
])("%s", (_case, value, bounds, within, nearly) => {
  expect(isWithin(figure(value, bounds))).toBe(within);
  expect(isNearlyWithin(figure(value, bounds))).toBe(nearly);
});

test.each([
  ["a limit that was kept stays", { limit: 3 }, 2.5, { limit: 3 }],
  ["one that was missed gives way to what was reached", { limit: 3 }, 3.5, { limit: 3.5 }],
  ["a lower bound that was kept stays", { atLeast: 3 }, 3.5, { atLeast: 3 }],
  ["one that was missed gives way too", { atLeast: 3 }, 2, { atLeast: 2 }],
  ["nothing was kept", { limit: 3 }, undefined, { limit: 3 }],
  ["there is no limit", {}, 7, {}],
])("%s", (_case, bounds, kept, expected) => {
  expect(boundByKept(figure(1, bounds), kept)).toEqual(figure(1, expected));
});

test.each([
  ["within is not measured again", [3, 9], 3, 1],
  ["missed is measured again", [9, 3, 9], 3, 2],
  ["missed three times is reported as missed", [9, 8, 7, 3], 7, 3],
])("what is %s", async (_case, values, expected, times) => {
  const left = [...values];
  const measure = async () => [figure(left.shift() ?? Number.NaN, { limit: 3 })];
  expect(await measureUntilWithin({}, measure)).toEqual([figure(expected, { limit: 3 })]);
  expect(values.length - left.length).toBe(times);
});

test("a program of the bench that ends before it reports its port fails the bench", async () => {
  const info = { databaseUrl: "", apiUrl: "http://127.0.0.1" };
  const stack = { info, infoFile: "/absent/stack.json", part: () => process } as unknown as Stack;
  await expect(startSideBySide(stack)).rejects.toThrow("ended before it reported its port");
});
