import { describe, expect, test } from "vitest";
import { toDistinctSlug, toSlug } from "./changes.ts";

const id = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11";
const pattern = /^[a-z0-9](-?[a-z0-9])*$/;

describe("a slug from a name", () => {
  test.each([
    ["Example Ltd", "example-ltd"],
    ["Äcmé  & Söhne", "acme-sohne"],
    ["Straße & Größe", "strasse-grosse"],
    ["Øresund Łódź", "oresund-lodz"],
    ["Æther Œuvre Đorđe", "aether-oeuvre-dorde"],
    ["Þórsmörk", "thorsmork"],
    ["ısı", "isi"],
    ["Москва", "moskva"],
    ["--a b c--", "a-b-c"],
    ["日本", "org-5f1f0c9d2e11"],
    ["ab", "org-5f1f0c9d2e11"],
    ["x".repeat(100), "x".repeat(40)],
    [`${"x".repeat(39)} y`, "x".repeat(39)],
  ])("%s gives %s", (name, slug) => {
    expect(toSlug(name, id)).toBe(slug);
    expect(slug).toMatch(pattern);
  });

  test("a distinct slug ends with the id and stays within bounds", () => {
    const slug = toDistinctSlug("x".repeat(100), id);
    expect(slug).toHaveLength(40);
    expect(slug).toMatch(pattern);
    expect(slug.endsWith("-9d2e11")).toBe(true);
  });
});
