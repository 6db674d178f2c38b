import { describe, expect, test } from "vitest";
import { createObjectName } from "./collection.ts";

describe("object names", () => {
  test.each<[string, string]>([
    ["Production", "production"],
    ["Prod Eü 1", "prod-eu-1"],
    ["--a__b--", "a-b"],
    ["日本", "cluster"],
    ["x".repeat(63), "x".repeat(34)],
    [`${"x".repeat(33)} yz`, "x".repeat(33)],
  ])("the slug of %s is %s", (name, slug) => {
    expect(createObjectName(name, "cluster").slice(0, -6)).toBe(slug);
  });

  test("a name is a DNS label of at most 40 characters, and another one each time", () => {
    const names = Array.from({ length: 100 }, () => createObjectName("x".repeat(63), "pool"));
    for (const name of names) expect(name).toMatch(/^x{34}-[a-z0-9]{5}$/);
    expect(new Set(names).size).toBe(100);
  });
});
