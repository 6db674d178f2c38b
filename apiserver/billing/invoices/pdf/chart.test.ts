import { expect, test } from "vitest";
import { layOutBars } from "./chart.ts";

const frame = { x: 50, y: 100, width: 40, height: 60 };

test("the bars of a day stand on one another, and the highest day fills the frame", () => {
  const { bars, topCents } = layOutBars([{ cents: [10, 20] }, { cents: [0, 10] }], frame);
  expect(topCents).toBe(30);
  expect(bars).toEqual([
    { series: 0, x: 50, y: 140, width: 15, height: 20 },
    { series: 0, x: 70, y: 120, width: 15, height: 40 },
    { series: 1, x: 70, y: 100, width: 15, height: 20 },
  ]);
});

test("an amount below 0 has no bar and lowers no other one", () => {
  const { bars, topCents } = layOutBars([{ cents: [-500, 10] }, { cents: [5, -1] }], frame);
  expect(topCents).toBe(10);
  expect(bars.map(({ series, height }) => ({ series, height }))).toEqual([
    { series: 1, height: 30 },
    { series: 0, height: 60 },
  ]);
});

test.each([
  ["no series", []],
  ["no day", [{ cents: [] }]],
  ["no cost", [{ cents: [0, 0] }]],
  ["costs below 0 alone", [{ cents: [-1, -2] }]],
])("%s: no bars", (_what, series) => {
  expect(layOutBars(series, frame)).toEqual({ bars: [], topCents: 0 });
});
