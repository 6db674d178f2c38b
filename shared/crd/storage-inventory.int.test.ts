import { describe, expect, test } from "vitest";
import { setUp } from "../../e2e/testing/set-up.ts";
import { storageInventoryDefinition } from "./definitions.ts";
import { bothReturn, openTestApi, type SpecCase, tryCreate, validateSpec } from "./testing.ts";

const api = setUp(openTestApi);

const storageInventoryCases: SpecCase[] = [
  { title: "the platform's default", spec: {} },
  { title: "a limit of one byte", spec: { quotaBytes: 1 } },
  {
    title: "a limit of 0",
    spec: { quotaBytes: 0 },
    rejected: "spec.quotaBytes: Invalid value: must be at least 1; omit it for the platform's default",
  },
  { title: "a limit below 0", spec: { quotaBytes: -1 }, rejected: "spec.quotaBytes" },
];

describe("a StorageInventory with", () => {
  test.each(storageInventoryCases)("$title", async ({ spec, rejected }) => {
    expect(await validateSpec(api, storageInventoryDefinition, spec, "shared-storage")).toEqual(
      bothReturn(rejected),
    );
  });
});

test("the StorageInventory of an organization is called shared-storage", async () => {
  expect(await tryCreate(api, storageInventoryDefinition, {}, "other")).toContain(
    "metadata.name: Invalid value: must be shared-storage; there is one per organization",
  );
});
