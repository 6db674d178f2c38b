import { expect, test } from "vitest";
import { ANNOTATION_UPGRADE_FORCE } from "./names.ts";
import { composeForce, findForceReason, isEnforced } from "./upgrade-checks.ts";

test.each<[string, string | undefined, string | undefined]>([
  ["with its version and a reason counts", "1.35.1 a test", "a test"],
  ["with its minor version alone does not", "1.35 a test", undefined],
  ["with a prefix counts", "v1.35.1 a test", "a test"],
  ["with lines in its reason counts", "1.35.1 a\ntest", "a\ntest"],
  ["of another version does not", "1.35.2 a test", undefined],
  ["of an earlier minor version does not", "1.34 a test", undefined],
  ["without a reason does not", "1.35.1", undefined],
  ["with a blank reason does not", "1.35.1  ", undefined],
  ["without a version does not", "true", undefined],
  ["with another word than a version does not", "yes please", undefined],
  ["that is empty does not", "", undefined],
  ["that is not there does not", undefined, undefined],
])("an annotation %s", (_name, value, reason) => {
  const annotations = value === undefined ? {} : { [ANNOTATION_UPGRADE_FORCE]: value };
  expect(findForceReason({ annotations }, "1.35.1")).toBe(reason);
});

test("the annotation that REST writes counts for its version", () => {
  expect(findForceReason({ annotations: composeForce("1.35.1", "a test") }, "1.35.1")).toBe("a test");
});

test.each([
  ["Enforce", true],
  ["Warn", false],
  [undefined, false],
] as const)("checks of %s are enforced: %s", (upgradeChecks, expected) => {
  expect(isEnforced({ upgradeChecks })).toBe(expected);
});
