import { expect, test } from "vitest";
import { chooseSubnet, parseSubnetRange } from "./range.ts";

test.each([
  { text: "10.64.0.0/10", count: 16_384 },
  { text: "10.0.0.0/8", count: 65_536 },
  { text: "192.168.7.0/24", count: 1 },
])("$text holds $count networks", ({ text, count }) => {
  expect(parseSubnetRange(text).count).toBe(count);
});

test.each(["10.64.0.0", "10.64.0.1/10", "10.64.0.0/25", "10.64.0.0/7", "300.0.0.0/10", "fd00::/48", ""])(
  "%j is not a range",
  (text) => {
    expect(() => parseSubnetRange(text)).toThrow(RangeError);
  },
);

const range = parseSubnetRange("10.64.0.0/22");

test("a cluster prefers the same network each time, within the range", () => {
  const subnet = chooseSubnet(range, new Set(), "a");
  expect(subnet).toMatch(/^10\.64\.[0-3]\.0\/24$/);
  expect(chooseSubnet(range, new Set(), "a")).toBe(subnet);
});

test("no network is assigned twice, and none is assigned when all are taken", () => {
  const taken = new Set<string>();
  for (const id of ["a", "b", "c", "d"]) taken.add(chooseSubnet(range, taken, id) ?? "none");
  expect([...taken].sort()).toEqual(["10.64.0.0/24", "10.64.1.0/24", "10.64.2.0/24", "10.64.3.0/24"]);
  expect(chooseSubnet(range, taken, "e")).toBeUndefined();
});
