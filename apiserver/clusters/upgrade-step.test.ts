import { expect, test } from "vitest";
import type { VersionCatalogue } from "../../shared/kubernetes-version.ts";
import { findUpgradeStep } from "./upgrade-step.ts";

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
  ["v1.35.1", "1.35.1"],
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
