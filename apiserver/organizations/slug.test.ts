import { describe, expect, test } from "vitest";
import { proposeSlugs, toSlug } from "./changes.ts";

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

  test.each([
    ["Example Ltd", ["example-ltd", "example-ltd-9d2e11", "example-ltd-5f1f0c9d2e11"]],
    ["x".repeat(100), ["x".repeat(40), `${"x".repeat(33)}-9d2e11`, `${"x".repeat(27)}-5f1f0c9d2e11`]],
    [
      `${"x".repeat(26)} ${"y".repeat(5)} z`,
      [`${"x".repeat(26)}-yyyyy-z`, `${"x".repeat(26)}-yyyyy-9d2e11`, `${"x".repeat(26)}-5f1f0c9d2e11`],
    ],
  ])("%s that others have gives one with digits of the id, within bounds", (name, slugs) => {
    expect(proposeSlugs(name, id)).toEqual(slugs);
    for (const slug of slugs) {
      expect(slug).toMatch(pattern);
      expect(slug.length).toBeLessThanOrEqual(40);
    }
  });
});
