import { describe, expect, test } from "vitest";
import type { VersionCatalogue } from "../../shared/crd/kubernetes-version.ts";
import { chooseVersion, resolveTarget } from "./version.ts";

const catalogue: VersionCatalogue = [
  { version: "1.33.6", status: "supported" },
  { version: "1.34.1", status: "deprecated" },
  { version: "1.34.2", status: "supported" },
  { version: "1.35.1", status: "supported" },
  { version: "1.36.0", status: "supported" },
];

describe("the full version that is requested", () => {
  test.each([
    ["a minor resolves to its newest supported patch", "1.34", undefined, "1.34.2"],
    ["a resolved minor stays when the catalogue changes", "1.34", "1.34.1", "1.34.1"],
    ["a full version that was accepted stays valid without the catalogue", "1.32.9", "1.32.9", "1.32.9"],
    ["a v prefix is ignored", "v1.35.1", "1.34.2", "1.35.1"],
    ["another minor is resolved again", "1.35", "1.34.2", "1.35.1"],
    ["a version missing from the catalogue resolves to nothing", "1.35.9", "1.34.2", undefined],
  ])("%s", (_name, requested, known, expected) => {
    expect(resolveTarget(requested, known, catalogue)).toBe(expected);
  });
});

describe("the version to apply now", () => {
  const live = (version: string, converged = true) => ({ version, converged });
  test.each([
    ["a new cluster gets the requested version", "1.36", undefined, [], "1.36.0"],
    ["no change: the live version", "1.34", live("1.34.2"), [], "1.34.2"],
    ["the next minor at once", "1.35", live("1.34.2"), [], "1.35.1"],
    ["the next patch at once", "1.34.2", live("1.34.1"), [], "1.34.2"],
    ["two minors in steps", "1.36", live("1.34.2"), [], "1.35.1"],
    ["two minors at once where the class chains them", "1.36", live("1.34.2"), ["v1.36.0"], "1.36.0"],
    ["no step before the last one has converged", "1.36", live("1.35.1", false), [], "1.35.1"],
  ])("%s", (_name, requested, topology, chained, expected) => {
    const choice = chooseVersion({ requested, lastTarget: undefined, topology, catalogue, chained });
    expect(choice).toMatchObject({ version: expected, problem: undefined });
  });

  const choose = (requested: string, version?: string, known = catalogue) => {
    const facts = { lastTarget: undefined, topology: version === undefined ? undefined : live(version) };
    return chooseVersion({ ...facts, requested, catalogue: known, chained: [] });
  };
  const withGap = catalogue.filter((entry) => entry.version !== "1.34.2");

  test.each([
    ["an unknown version", "1.34.9", "1.34.2", "UnknownVersion", /no Kubernetes version 1\.34\.9/],
    ["an older version", "1.33", "1.34.2", "DowngradeRefused", /cannot be downgraded to 1\.33\.6/],
    ["an upgrade path with a gap", "1.36", "1.33.6", "UnknownVersion", /no supported one after 1\.33\.6/],
  ])("%s keeps the live version and reports why", (_name, requested, version, reason, message) => {
    const choice = choose(requested, version, requested === "1.36" ? withGap : catalogue);
    expect(choice).toMatchObject({ version, problem: { reason, message: expect.stringMatching(message) } });
  });

  test("the advice names only versions that are accepted when it is followed", () => {
    const { problem } = choose("1.34.9", "1.33.6");
    const advised = problem?.message.split("set spec.version to")[1]?.match(/\d+\.\d+\.\d+/g) ?? [];
    expect(advised.length).toBeGreaterThan(1);
    for (const requested of advised) expect(choose(requested, "1.33.6").problem).toBeUndefined();
    expect(advised).not.toContain("1.35.1");
  });

  test("an unknown version of a new cluster applies nothing", () => {
    expect(choose("1.99")).toMatchObject({ version: undefined, problem: { reason: "UnknownVersion" } });
  });

  test("after a lost status a minor resolves to the live version, not to a newer patch", () => {
    expect(choose("1.34", "1.34.1")).toMatchObject({ target: "1.34.1", version: "1.34.1" });
  });
});
