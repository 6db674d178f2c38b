import { expect, test } from "vitest";
import { makeClass, makeCondition, makePool } from "../testing.ts";
import { aCluster, type ClusterFixture } from "../testing-cluster.ts";
import { addRefused, createRefusals } from "./refusals.ts";

const taint = { key: "gpu", effect: "NoSchedule" } as const;
const refused = aCluster().withPools(makePool("web"), makePool("gpu", { nodeTaints: [taint] }));
const largerPool = refused.withPools(
  makePool("web", { desiredNodes: 5 }, { generation: 2 }),
  makePool("gpu", { nodeTaints: [taint] }),
);

test.each<[string, ClusterFixture, number, { taints: number | undefined; machine: number | undefined }]>([
  ["the same cluster, soon", refused, 1_000, { taints: 599_000, machine: 59_000 }],
  ["another version", refused.withSpec({ version: "1.35" }), 1_000, { taints: 599_000, machine: undefined }],
  ["another size of a pool", largerPool, 1_000, { taints: 599_000, machine: undefined }],
  ["the same cluster, after a minute", refused, 60_000, { taints: 540_000, machine: undefined }],
  ["the same cluster, after ten minutes", refused, 600_000, { taints: undefined, machine: undefined }],
  [
    "one pool with taints less",
    refused.withPools(makePool("web")),
    1_000,
    { taints: undefined, machine: undefined },
  ],
  [
    "a class that takes taints by a variable",
    refused.with({ classes: new Map([["marina-system/standard-v1", makeClass(["nodeTaints"])]]) }),
    1_000,
    { taints: undefined, machine: 59_000 },
  ],
])("what Cluster API refused is tried again: %s", (_, { observed }, elapsedMs, retryMs) => {
  for (const part of ["taints", "machine web"] as const) {
    let nowMs = 0;
    const refusals = createRefusals(() => nowMs);
    refusals.record("org/demo", refused.observed, new Map([[part, "no"]]));
    nowMs = elapsedMs;
    const expected = part === "taints" ? retryMs.taints : retryMs.machine;
    expect(refusals.find("org/demo", observed)).toEqual({
      refused: new Map(expected === undefined ? [] : [[part, "no"]]),
      retryMs: expected,
    });
    expect(refusals.find("org/other", observed).retryMs).toBeUndefined();
  }
});

test("a refused upgrade is remembered, and tried again when the rollout of before ends", () => {
  const upgraded = aCluster().ready().withSpec({ version: "1.35" });
  const { observed } = upgraded;
  const failure = { kind: "rejected" as const, message: "no", cause: new Error("no") };
  const kept = addRefused(observed, { sent: upgraded.capiObject(), isUpgrade: true }, failure);
  expect(kept).toEqual({ refused: new Map([["version", "no"]]), upgradeRejection: "no" });
  const refusals = createRefusals(() => 0);
  refusals.record("org/demo", observed, kept?.refused ?? new Map());
  expect(refusals.find("org/demo", observed).refused.get("version")).toBe("no");
  const rolling = upgraded.withCapiConditions([makeCondition("RollingOut", "True")]);
  expect(refusals.find("org/demo", rolling.observed).retryMs).toBeUndefined();
});

test("what is refused again keeps its time, and what is no more refused is forgotten", () => {
  let nowMs = 0;
  const refusals = createRefusals(() => nowMs);
  const record = (...parts: ("machine web" | "taints")[]) =>
    refusals.record("org/demo", refused.observed, new Map(parts.map((part) => [part, "no"])));
  record("machine web");
  nowMs = 50_000;
  record("machine web", "taints");
  expect(refusals.find("org/demo", refused.observed).retryMs).toBe(10_000);
  record("taints");
  expect(refusals.find("org/demo", refused.observed).retryMs).toBe(600_000);
});
