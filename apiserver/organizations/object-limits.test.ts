import { expect, test } from "vitest";
import { readAccessLimit } from "./namespace.ts";

const RESOURCE = "count/clusteraccesses.cloud.marina.dev";

test.each([
  ["0", 0],
  ["2001", 2001],
  ["2k", 2000],
  ["1M", 1_000_000],
  ["3G", 3_000_000_000],
  ["many", undefined],
  [undefined, undefined],
])("a quota of %s allows %s accesses", (text, limit) => {
  const hard = text === undefined ? {} : { [RESOURCE]: text };
  expect(readAccessLimit({ spec: { hard } })).toBe(limit);
});
