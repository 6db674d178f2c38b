import { expect, test } from "vitest";
import { readStack } from "../../platform/stack/testing.ts";
import { requireEveryMachineMetered } from "../../testing/machine-sets.ts";

test("after all stories the machines that run are those that node pools record and that tenants pay for", async () => {
  const { running, recorded, metered } = await requireEveryMachineMetered(readStack());
  expect(recorded).toEqual(running);
  expect(metered).toEqual(running);
});
