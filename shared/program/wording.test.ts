import { expect, test } from "vitest";
import { count, findNearest, listNames, suggestNearest, truncateText } from "./wording.ts";

const FIELDS = ["name", "k8s_version", "node_pools", "vcpus", "memory_gb", "min_nodes", "max_nodes", "plan"];

test.each<[string, string[]]>([
  ["node_pool", ["node_pools"]],
  ["nodePools", ["node_pools"]],
  ["NAME", ["name"]],
  ["nmae", ["name"]],
  ["k8sVersion", ["k8s_version"]],
  ["version", ["k8s_version"]],
  ["cpu", ["vcpus"]],
  ["memory", ["memory_gb"]],
  ["nodes", ["min_nodes", "max_nodes"]],
  ["min-node", ["min_nodes", "max_nodes"]],
  ["region", []],
  ["x", []],
  ["", []],
  ["__", []],
  ["ünïcödé", []],
  ["n".repeat(65), []],
])("of %j the nearest names are %j", (word, nearest) => {
  expect(findNearest(word, FIELDS)).toEqual(nearest);
});

test("three names are the most, the nearest first", () => {
  expect(findNearest("pool", ["pools_a", "pool_b", "pools", "poolside"])).toEqual([
    "pool_b",
    "pools",
    "pools_a",
  ]);
});

test("a sentence ends with the nearest names, or with nothing", () => {
  expect(suggestNearest("nodes", FIELDS)).toBe("; did you mean `min_nodes` or `max_nodes`?");
  expect(suggestNearest("region", FIELDS)).toBe("");
  expect(suggestNearest("x", [""])).toBe("");
});

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

test.each([
  [[], ""],
  [["a"], "a"],
  [["a", "b", "c", "d", "e", "f"], "a, b, c, d, e, f"],
  [["a", "b", "c", "d", "e", "f", "g", "h"], "a, b, c, d, e, f, and 2 more"],
])("of the names %j a sentence has %j", (names, expected) => {
  expect(listNames(names)).toBe(expected);
});

test("of long names a sentence has fewer than six", () => {
  const [one, other, third] = ["a", "b", "c"].map((letter) => letter.repeat(317));
  expect(listNames([one, other, third].map(String))).toBe(`${one}, ${other}, and 1 more`);
});

test.each([
  ["abc", 5, "abc"],
  ["abc", 2, "ab"],
  ["a\u{1F600}b", 2, "a"],
  ["a\u{1F600}b", 3, "a\u{1F600}"],
  ["a\uD83D", 5, "a"],
  ["\uDE00a", 5, "\uFFFDa"],
])("of %j at most %d units are %j, well formed", (text, length, expected) => {
  expect(truncateText(text, length)).toBe(expected);
});
