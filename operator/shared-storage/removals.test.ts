import { expect, test } from "vitest";
import { decideRemovals, type OrphanTimes } from "./round.ts";

const NOW = new Date("2026-03-08T12:00:00Z");
const WEEK_AGO = "2026-03-01T12:00:00Z";
const LESS = "2026-03-01T12:00:01Z";
const ahead = "2026-04-01T00:00:00Z";

test.each<[string, string[], string[], OrphanTimes, string[], OrphanTimes]>([
  ["nothing of pools with an inventory", ["a"], ["a"], {}, [], {}],
  ["nothing the first time, which is kept", ["a", "b"], ["b"], {}, [], { a: "2026-03-08T12:00:00Z" }],
  ["nothing before 7 days", ["a", "b"], ["b"], { a: LESS }, [], { a: LESS }],
  ["a pool after 7 days", ["a", "b"], ["b"], { a: WEEK_AGO }, ["a"], { a: WEEK_AGO }],
  ["nothing when the inventory came again, and the time is dropped", ["a"], ["a"], { a: WEEK_AGO }, [], {}],
  ["the time of a pool that is gone", ["b"], ["b"], { a: WEEK_AGO }, [], {}],
  ["nothing without any inventory", ["a"], [], { a: WEEK_AGO }, [], { a: WEEK_AGO }],
  ["nothing by a time that cannot be read", ["a"], ["b"], { a: "x" }, [], { a: "2026-03-08T12:00:00Z" }],
  ["nothing by a time that lies ahead", ["a"], ["b"], { a: ahead }, [], { a: "2026-03-08T12:00:00Z" }],
])("of the pools is removed: %s", (_name, pools, organizations, known, remove, times) => {
  const before = structuredClone(known);
  const decided = decideRemovals(pools, new Set(organizations), known, NOW);
  expect(decided).toEqual({ remove, times });
  expect(known).toEqual(before);
});

test("times that did not change are the same object, so that nothing is written", () => {
  const known = { a: LESS };
  expect(decideRemovals(["a"], new Set(["b"]), known, NOW).times).toBe(known);
});
