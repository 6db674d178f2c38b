import { expect, test } from "vitest";
import type { Packages } from "../../shared/crd/published-config.ts";
import { composeUnknownServicePlan, findTermsProblem } from "./service-plan.ts";
import { aCluster, observeBlue } from "./testing.ts";

const CREATED_AT = "2026-11-01T10:00:00Z";
const packages: Packages = {
  dev: { controlPlaneReplicas: 1 },
  old: { controlPlaneReplicas: 3, retiredAt: "2026-11-01T09:00:00.000Z" },
  leaving: { controlPlaneReplicas: 3, retiredAt: "2026-11-01T11:00:00.000Z" },
};

function aNewCluster(spec: Parameters<typeof aCluster>[0], status?: object) {
  const cluster = aCluster(spec);
  return observeBlue({
    cluster: { ...cluster, metadata: { ...cluster.metadata, creationTimestamp: CREATED_AT }, ...status },
    capi: undefined,
    packages,
  });
}

test.each([
  ["without a plan", {}, undefined],
  ["with a plan that is no package", { plan: "custom", controlPlaneReplicas: 5 as const }, undefined],
  ["with a plan named like a property of every object", { plan: "constructor" }, undefined],
  ["with a package on offer", { plan: "dev" }, undefined],
  [
    "with the number of replicas of its package",
    { plan: "dev", controlPlaneReplicas: 1 as const },
    undefined,
  ],
  ["with another number", { plan: "dev", controlPlaneReplicas: 3 as const }, "ReplicasNotInPlan"],
  ["with a package that was retired before", { plan: "old" }, "PlanRetired"],
  ["with a package that was retired after its creation", { plan: "leaving" }, undefined],
])("a new cluster %s: %j has the problem %s", (_what, spec, reason) => {
  expect(findTermsProblem(aNewCluster(spec))?.reason).toBe(reason);
});

test("a cluster that exists keeps a retired package, also while Cluster API has nothing of it", () => {
  expect(
    findTermsProblem(aNewCluster({ plan: "old" }, { status: { clusterClass: "standard-v1" } })),
  ).toBeUndefined();
});

test("a running cluster keeps its replicas when those of its package change, and can have no others but these", () => {
  const cases = ([1, 3, 5] as const).map((controlPlaneReplicas) =>
    findTermsProblem(observeBlue({ cluster: aCluster({ plan: "old", controlPlaneReplicas }), packages })),
  );
  expect(cases.map((problem) => problem?.reason)).toEqual([undefined, undefined, "ReplicasNotInPlan"]);
});

test.each<[string, string[], string]>([
  [
    "the default alone",
    ["default"],
    "create the cluster again without a plan, or ask the platform's operator for it.",
  ],
  [
    "the default and others, one of them retired",
    ["default", "dev", "old", "growth"],
    "create the cluster again with one of dev, growth or without a plan, or ask the platform's operator for it.",
  ],
  [
    "no default",
    ["dev", "constructor"],
    "create the cluster again with one of dev, constructor, or ask the platform's operator for it.",
  ],
  ["a retired one alone", ["old"], "ask the platform's operator for one."],
])("an unknown plan is told what there is to choose instead: %s", (_what, names, advice) => {
  const plan = { class: "standard-v1", namespace: "marina-system", controlPlaneReplicas: 1 };
  const { settings } = observeBlue();
  const servicePlans = Object.fromEntries(names.map((name) => [name, plan]));
  expect(composeUnknownServicePlan({ settings: { ...settings, servicePlans }, packages }, "gold")).toEqual({
    reason: "UnknownPlan",
    message: `There is no plan gold; ${advice}`,
  });
});
