import { expect, test } from "vitest";
import type { VersionCatalogue } from "../../shared/crd/kubernetes-version.ts";
import { findUpgradeStep } from "./kubernetes-version.ts";

const CATALOGUE: VersionCatalogue = [
  { version: "1.33.6", status: "supported" },
  { version: "1.34.2", status: "supported" },
  { version: "1.34.5", status: "supported" },
  { version: "1.35.1", status: "supported" },
  { version: "1.36.0", status: "supported" },
];

test.each<[string, string]>([
  ["1.34.5", "1.34.5"],
  ["1.34", "1.34.5"],
  ["1.35", "1.35.1"],
])("from 1.34.2 to %s goes to %s", (target, version) => {
  expect(findUpgradeStep("1.34.2", target, CATALOGUE)).toEqual({ ok: true, version });
});

test.each<[string, string]>([
  ["1.34.2", "not_incremental"],
  ["1.34.1", "not_incremental"],
  ["1.33", "not_incremental"],
  ["1.36", "not_incremental"],
  ["2.0.0", "not_incremental"],
  ["1.35.9", "invalid_enum"],
  ["1.34.9", "invalid_enum"],
])("from 1.34.2 to %s is refused: %s", (target, code) => {
  expect(findUpgradeStep("1.34.2", target, CATALOGUE)).toMatchObject({ ok: false, code });
});

test("the next minor without a patch in the catalogue is unknown, not a wrong step", () => {
  expect(findUpgradeStep("1.36.0", "1.37", CATALOGUE)).toMatchObject({ ok: false, code: "invalid_enum" });
});

test.each<[string, string, VersionCatalogue, string]>([
  [
    "what runs",
    "1.34.2",
    CATALOGUE,
    "the cluster already runs 1.34.2; must be one of 1.35.1, 1.34.5: a higher patch of the same minor, or the next minor, of 1.34.2",
  ],
  [
    "two minors on",
    "1.36",
    CATALOGUE,
    "must be one of 1.35.1, 1.34.5: a higher patch of the same minor, or the next minor, of 1.34.2",
  ],
  [
    "an unknown patch of one offer",
    "1.35.9",
    CATALOGUE.slice(3),
    "must be 1.35.1: a higher patch of the same minor, or the next minor, of 1.34.2",
  ],
  [
    "anything when nothing is on offer",
    "1.35",
    [],
    "must be a higher patch of the same minor, or the next minor, of 1.34.2, and the platform has none right now",
  ],
])("the refusal of %s names the versions on offer", (_, target, catalogue, message) => {
  const step = findUpgradeStep("1.34.2", target, catalogue);
  expect(step).toMatchObject({ ok: false, message });
  for (const version of message.match(/(?<=must be (?:one of )?)[\d., ]+(?=:)/)?.[0].split(", ") ?? [])
    expect(findUpgradeStep("1.34.2", version, catalogue).ok).toBe(true);
});
