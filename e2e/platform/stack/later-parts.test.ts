import { expect, test } from "vitest";
import { describeJoined, describeMissing } from "./later-parts.ts";

test.each([
  { pending: [], missing: [] },
  { pending: ["webhooks"], missing: [] },
  { pending: ["local-provider"], missing: ['clusters are accepted and stay "provisioning"'] },
  {
    pending: ["operator", "build kubectl", "registry"],
    missing: [
      'clusters are accepted and stay "provisioning"',
      "there is no kubectl",
      "the container registry answers 503",
    ],
  },
])("while $pending is pending, it is said what does not work: $missing", ({ pending, missing }) => {
  expect(describeMissing(pending)).toEqual(missing);
});

test("a part is announced once the last of its nodes has joined", () => {
  const before = ["operator", "local-provider", "registry"];
  expect(describeJoined(before, ["local-provider", "registry"])).toEqual([]);
  expect(describeJoined(["local-provider", "registry"], ["registry"])).toEqual([
    "tenant clusters are created",
  ]);
  expect(describeJoined(["registry"], [])).toEqual(["the container registry takes images"]);
});
