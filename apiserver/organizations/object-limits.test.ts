import { expect, test } from "vitest";
import { NO_AMOUNTS } from "../../shared/crd/quota.ts";
import { hasLimits, objectLimitsOf } from "./namespace.ts";

const RESOURCE = "count/clusteraccesses.cloud.marina.dev";

test.each([
  ["0", 0],
  ["2001", 2001],
  ["2k", 2000],
  ["1M", 1_000_000],
  ["3G", 3_000_000_000],
])("a quota of %s allows %s objects and no other number", (text, limit) => {
  const quota = { spec: { hard: { [RESOURCE]: text } } };
  expect(hasLimits(quota, { [RESOURCE]: limit })).toBe(true);
  expect(hasLimits(quota, { [RESOURCE]: limit + 1 })).toBe(false);
});

test.each([
  ["says no number", { [RESOURCE]: "many" }],
  ["lacks the count", {}],
  ["has another count besides", { [RESOURCE]: "3", "count/pods": "3" }],
  ["says nothing", undefined],
])("a quota that %s is none with this limit", (_, hard) => {
  expect(hasLimits({ spec: hard && { hard } } as never, { [RESOURCE]: 3 })).toBe(false);
});

test("a Namespace holds more clusters and node pools than the quotas allow, also where they allow none", () => {
  const limits = (clusters: number, nodePools: number) =>
    objectLimitsOf({ ...NO_AMOUNTS, clusters, nodePools }, 7);
  expect(limits(0, 0)).toEqual({
    "marina-cluster-accesses": { [RESOURCE]: 7 },
    "marina-clusters": { "count/clusters.cloud.marina.dev": 20, "count/nodepools.cloud.marina.dev": 20 },
  });
  expect(limits(100, 500)["marina-clusters"]).toEqual({
    "count/clusters.cloud.marina.dev": 220,
    "count/nodepools.cloud.marina.dev": 1020,
  });
});
