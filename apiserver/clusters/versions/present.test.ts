import { describe, expect, test } from "vitest";
import type { VersionCatalogue } from "../../../shared/crd/kubernetes-version.ts";
import { findUpgradeStep } from "../kubernetes-version.ts";
import { presentCatalogue, presentUpgrades } from "./present.ts";

const CATALOGUE: VersionCatalogue = [
  { version: "1.33.6", status: "endOfLife", endOfLifeAt: "2026-06-01T02:00:00+02:00" },
  { version: "1.34.2", status: "deprecated", deprecatedAt: "2026-09-01T00:00:00Z" },
  { version: "1.34.10", status: "supported" },
  { version: "1.35.1", status: "supported" },
  { version: "1.36.0", status: "supported" },
];

test("the catalogue is shown whole, the newest first, its dates in UTC", () => {
  const records = presentCatalogue(CATALOGUE);
  expect(records.map(({ version }) => version)).toEqual(["1.36.0", "1.35.1", "1.34.10", "1.34.2", "1.33.6"]);
  expect(records.at(-1)).toEqual({
    version: "1.33.6",
    status: "end_of_life",
    deprecated_at: null,
    end_of_life_at: "2026-06-01T00:00:00.000Z",
  });
  expect(records.at(-2)).toMatchObject({ status: "deprecated", deprecated_at: "2026-09-01T00:00:00.000Z" });
});

describe("the upgrades of a cluster", () => {
  test.each<[string, string | undefined, string[]]>([
    ["patches of its minor and the next minor", "1.34.2", ["1.35.1", "1.34.10"]],
    ["a deprecated version too", "1.33.6", ["1.34.10", "1.34.2"]],
    ["never one back", "1.34.10", ["1.35.1"]],
    ["nothing above the newest", "1.36.0", []],
    ["nothing while no version runs", undefined, []],
  ])("are %s", (_, current, versions) => {
    expect(presentUpgrades(CATALOGUE, current, undefined).map(({ version }) => version)).toEqual(versions);
  });

  test.each([
    ["1.34.10", ["1.35.1"]],
    ["1.35.1", []],
  ])("while %s is being installed are newer than that: %j", (installing, versions) => {
    const shown = presentUpgrades(CATALOGUE, "1.34.2", installing);
    expect(shown.map(({ version }) => version)).toEqual(versions);
  });

  test("are just what the upgrade takes", () => {
    for (const { version: current } of CATALOGUE) {
      const taken = CATALOGUE.filter(({ version }) => findUpgradeStep(current, version, CATALOGUE).ok);
      const shown = presentUpgrades(CATALOGUE, current, undefined).map(({ version }) => version);
      expect(shown.toSorted()).toEqual(taken.map(({ version }) => version).toSorted());
    }
  });
});
