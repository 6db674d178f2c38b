import { expect, test } from "vitest";
import { makeClass, makePool } from "../testing.ts";
import { aCluster, type ClusterFixture } from "../testing-cluster.ts";
import { createTaintRefusals } from "./taint-refusals.ts";

const taint = { key: "gpu", effect: "NoSchedule" } as const;
const refused = aCluster().withPools(makePool("web"), makePool("gpu", { nodeTaints: [taint] }));

test.each<[string, ClusterFixture, number, number | undefined]>([
  ["the same cluster, soon", refused, 1_000, 599_000],
  ["another version", refused.withSpec({ version: "1.35" }), 1_000, 599_000],
  [
    "another size of another pool",
    refused.withPools(makePool("web", { desiredNodes: 5 }), makePool("gpu", { nodeTaints: [taint] })),
    1_000,
    599_000,
  ],
  ["the same cluster, after ten minutes", refused, 600_000, undefined],
  ["one pool with taints less", refused.withPools(makePool("web")), 1_000, undefined],
  [
    "a class that takes taints by a variable",
    refused.with({ classes: new Map([["marina-system/standard-v1", makeClass(["nodeTaints"])]]) }),
    1_000,
    undefined,
  ],
])("taints that Cluster API refused are tried again: %s", (_, { observed }, elapsedMs, retryMs) => {
  let nowMs = 0;
  const refusals = createTaintRefusals(() => nowMs);
  refusals.record("org/demo", refused.observed);
  nowMs = elapsedMs;
  expect(refusals.findRetryMs("org/demo", observed)).toBe(retryMs);
  expect(refusals.findRetryMs("org/other", observed)).toBeUndefined();
});
