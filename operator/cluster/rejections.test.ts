import { expect, test } from "vitest";
import { makeClass, makeCondition, makePool } from "../testing.ts";
import { aCluster, type ClusterFixture } from "../testing-cluster.ts";
import { addRejected, createRejections } from "./rejections.ts";

const taint = { key: "gpu", effect: "NoSchedule" } as const;
const rejected = aCluster().withPools(makePool("web"), makePool("gpu", { nodeTaints: [taint] }));
const largerPool = rejected.withPools(
  makePool("web", { desiredNodes: 5 }, { generation: 2 }),
  makePool("gpu", { nodeTaints: [taint] }),
);

test.each<[string, ClusterFixture, number, { taints: number | undefined; machine: number | undefined }]>([
  ["the same cluster, soon", rejected, 1_000, { taints: 599_000, machine: 59_000 }],
  ["another version", rejected.withSpec({ version: "1.35" }), 1_000, { taints: 599_000, machine: undefined }],
  ["another size of a pool", largerPool, 1_000, { taints: 599_000, machine: undefined }],
  ["the same cluster, after a minute", rejected, 60_000, { taints: 540_000, machine: undefined }],
  ["the same cluster, after ten minutes", rejected, 600_000, { taints: undefined, machine: undefined }],
  [
    "one pool with taints less",
    rejected.withPools(makePool("web")),
    1_000,
    { taints: undefined, machine: undefined },
  ],
  [
    "a class that takes taints by a variable",
    rejected.with({ classes: new Map([["marina-system/standard-v1", makeClass(["nodeTaints"])]]) }),
    1_000,
    { taints: undefined, machine: 59_000 },
  ],
])("what Cluster API rejected is tried again: %s", (_, { observed }, elapsedMs, retryMs) => {
  for (const part of ["taints", "machine web"] as const) {
    let nowMs = 0;
    const rejections = createRejections(() => nowMs);
    rejections.record("org/demo", rejected.observed, new Map([[part, "no"]]));
    nowMs = elapsedMs;
    const expected = part === "taints" ? retryMs.taints : retryMs.machine;
    expect(rejections.find("org/demo", observed)).toEqual({
      rejected: new Map(expected === undefined ? [] : [[part, "no"]]),
      retryMs: expected,
    });
    expect(rejections.find("org/other", observed).retryMs).toBeUndefined();
  }
});

test("a rejected upgrade is remembered, and tried again when the rollout of before ends", () => {
  const upgraded = aCluster().ready().withSpec({ version: "1.35" });
  const { observed } = upgraded;
  const failure = { kind: "rejected" as const, message: "no", cause: new Error("no") };
  const kept = addRejected(observed, { sent: upgraded.capiObject(), isUpgrade: true }, failure);
  expect(kept).toEqual({ rejected: new Map([["version", "no"]]), upgradeRejection: "no" });
  const rejections = createRejections(() => 0);
  rejections.record("org/demo", observed, kept?.rejected ?? new Map());
  expect(rejections.find("org/demo", observed).rejected.get("version")).toBe("no");
  const rolling = upgraded.withCapiConditions([makeCondition("RollingOut", "True")]);
  expect(rejections.find("org/demo", rolling.observed).retryMs).toBeUndefined();
});

test("what is rejected again keeps its time, and what is no more rejected is forgotten", () => {
  let nowMs = 0;
  const rejections = createRejections(() => nowMs);
  const record = (...parts: ("machine web" | "taints")[]) =>
    rejections.record("org/demo", rejected.observed, new Map(parts.map((part) => [part, "no"])));
  record("machine web");
  nowMs = 50_000;
  record("machine web", "taints");
  expect(rejections.find("org/demo", rejected.observed).retryMs).toBe(10_000);
  record("taints");
  expect(rejections.find("org/demo", rejected.observed).retryMs).toBe(600_000);
});
