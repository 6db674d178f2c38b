import { describe, expect, test } from "vitest";
import {
  compareKubernetesVersions,
  findUpgrade,
  formatKubernetesVersion,
  isIncrementalStep,
  isWithinOneMinor,
  parseKubernetesVersion,
  resolveVersion,
  type VersionCatalogue,
  versionCatalogueSchema,
} from "./kubernetes-version.ts";

describe("a version", () => {
  test.each([
    ["1.34.2", { major: 1, minor: 34, patch: 2 }, "1.34.2"],
    ["v1.34.2", { major: 1, minor: 34, patch: 2 }, "1.34.2"],
    ["1.34", { major: 1, minor: 34 }, "1.34"],
    ["v1.0", { major: 1, minor: 0 }, "1.0"],
  ])("%s is parsed, and formatted without v", (text, version, written) => {
    expect(parseKubernetesVersion(text)).toEqual(version);
    expect(formatKubernetesVersion(version)).toBe(written);
  });

  test.each([
    "",
    "1",
    "v1",
    "1.34.2.1",
    "1.034",
    "01.34",
    "1.34.2-rc.1",
    "1.34 ",
    "latest",
    "1.34.2\n",
    "1.99999",
  ])('"%s" is not a version', (text) => {
    expect(parseKubernetesVersion(text)).toBeUndefined();
  });
});

describe("comparing", () => {
  test.each([
    ["1.34.2", "1.34.2", 0],
    ["v1.34.2", "1.34.2", 0],
    ["1.34", "1.34.9", 0],
    ["1.9.9", "1.10.0", -1],
    ["1.34.9", "1.34.10", -1],
    ["2.0.0", "1.99.99", 1],
  ])("%s with %s gives %i, and the other way round the opposite", (left, right, sign) => {
    expect(Math.sign(compareKubernetesVersions(left, right))).toBe(sign);
    expect(Math.sign(compareKubernetesVersions(right, left))).toBe(sign === 0 ? 0 : -sign);
  });

  test("text that is not a version throws a RangeError that quotes it", () => {
    expect(() => compareKubernetesVersions("latest", "1.34.2")).toThrow(RangeError);
    expect(() => compareKubernetesVersions("1.34.2", "latest")).toThrow('"latest"');
  });
});

describe("an upgrade step", () => {
  test.each([
    ["1.34.2", "1.34.3", true],
    ["1.34.2", "1.35.0", true],
    ["1.34.2", "v1.35.9", true],
    ["1.34.2", "1.34.2", false],
    ["1.34.2", "1.34.1", false],
    ["1.34.2", "1.36.0", false],
    ["1.34.2", "1.33.9", false],
    ["1.34.2", "2.35.0", false],
    ["1.34.2", "1.35", false],
    ["1.34", "1.35.0", false],
    ["", "1.35.0", false],
  ])("from %s to %s: %s", (current, target, isStep) => {
    expect(isIncrementalStep(current, target)).toBe(isStep);
  });
});

describe("a requested version", () => {
  test.each([
    ["1.34.2", "1.34.2", true],
    ["1.34.2", "1.34", true],
    ["1.34.2", "1.35", true],
    ["1.34.2", "1.35.0", true],
    ["1.34.2", "1.34.1", false],
    ["1.34.2", "1.36", false],
    ["1.34.2", "1.33", false],
    ["1.34.2", "2.34", false],
    ["1.34.2", "next", false],
  ])("is valid for a cluster at %s with %s: %s", (current, wanted, allowed) => {
    expect(isWithinOneMinor(current, wanted)).toBe(allowed);
  });
});

const catalogue: VersionCatalogue = [
  { version: "1.32.9", status: "endOfLife", endOfLifeAt: "2026-02-28T00:00:00Z" },
  { version: "1.33.6", status: "deprecated", deprecatedAt: "2026-06-28T00:00:00Z" },
  { version: "1.34.9", status: "supported" },
  { version: "1.34.10", status: "supported" },
  { version: "1.34.11", status: "deprecated" },
  { version: "1.35.1", status: "supported" },
  { version: "1.36.0", status: "supported" },
];

describe("the catalogue", () => {
  test.each([
    ["1.34", "1.34.10"],
    ["v1.35", "1.35.1"],
    ["1.34.9", "1.34.9"],
    ["v1.34.9", "1.34.9"],
    ["1.33.6", "1.33.6"],
    ["1.33", undefined],
    ["1.32.9", undefined],
    ["1.32", undefined],
    ["1.34.12", undefined],
    ["1.37", undefined],
    ["latest", undefined],
  ])("resolves %s to %s", (wanted, version) => {
    expect(resolveVersion(catalogue, wanted)).toBe(version);
  });

  test.each([
    ["1.33.6", "1.34.10"],
    ["1.34.10", "1.35.1"],
    ["1.35.0", "1.36.0"],
    ["1.36.0", undefined],
  ])("offers %s the upgrade %s", (current, upgrade) => {
    expect(findUpgrade(catalogue, current)).toBe(upgrade);
  });

  test("rejects a partial version, an unknown status and an invalid time", () => {
    expect(versionCatalogueSchema.safeParse(catalogue).success).toBe(true);
    for (const entry of [
      { version: "1.34", status: "supported" },
      { version: "v1.34.2", status: "supported" },
      { version: "1.34.2", status: "fine" },
      { version: "1.34.2", status: "deprecated", deprecatedAt: "soon" },
    ]) {
      expect(versionCatalogueSchema.safeParse([entry]).success).toBe(false);
    }
  });
});
