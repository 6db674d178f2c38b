import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { storageInventoryDefinition } from "./definitions.ts";
import { answersTo, bothAnswer, openTestApi, type SpecCase, type TestApi, tryCreate } from "./testing.ts";

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

const storageInventoryCases: SpecCase[] = [
  { title: "no limit", spec: {} },
  { title: "a limit of one byte", spec: { quotaBytes: 1 } },
  {
    title: "a limit of 0",
    spec: { quotaBytes: 0 },
    refused: "spec.quotaBytes: Invalid value: must be at least 1; leave it out for no limit",
  },
  { title: "a limit below 0", spec: { quotaBytes: -1 }, refused: "spec.quotaBytes" },
];

describe("a StorageInventory with", () => {
  test.each(storageInventoryCases)("$title", async ({ spec, refused }) => {
    expect(await answersTo(api, storageInventoryDefinition, spec, "shared-storage")).toEqual(
      bothAnswer(refused),
    );
  });
});

test("the StorageInventory of an organization is called shared-storage", async () => {
  expect(await tryCreate(api, storageInventoryDefinition, {}, "other")).toContain(
    "metadata.name: Invalid value: must be shared-storage; an organization has one",
  );
});
