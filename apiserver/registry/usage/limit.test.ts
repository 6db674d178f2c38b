import { expect, test } from "vitest";
import { requireSpace } from "./limit.ts";

const GIB = 1024 ** 3;
const usage = (storedBytes: number, pushedBytes = 0, tagCount = 0) => ({
  storedBytes,
  pushedBytes,
  tagCount,
});
const NONE = { sizeGiB: undefined, tags: undefined };

test.each([
  ["without limits", NONE, usage(1e15, 0, 1e6)],
  ["nothing pushed yet", { sizeGiB: 1, tags: 1 }, undefined],
  ["a byte below the limit", { ...NONE, sizeGiB: 1 }, usage(GIB - 2, 1)],
  ["a tag below the limit", { ...NONE, tags: 10 }, usage(0, 0, 9)],
])("there is space: %s", (_what, limits, used) => {
  expect(() => requireSpace(limits, used)).not.toThrow();
});

test.each([
  [
    "stored bytes",
    { ...NONE, sizeGiB: 1 },
    usage(GIB),
    "1.00 GiB of images in the registry, and its limit is 1 GiB",
  ],
  ["bytes pushed since", { ...NONE, sizeGiB: 2 }, usage(GIB, 3 * GIB), "4.00 GiB of images"],
  ["tags", { ...NONE, tags: 10 }, usage(0, 0, 12), "12 tags in the registry, and its limit is 10;"],
])("a limit of %s refuses and says what is used", (_what, limits, used, message) => {
  expect(() => requireSpace(limits, used)).toThrow(
    expect.objectContaining({ code: "quota_exceeded", message: expect.stringContaining(message) }),
  );
});
