import { expect, test } from "vitest";
import { makeClass, makeCondition } from "../testing.ts";
import { aCluster } from "../testing-cluster.ts";
import { conditionOf, stepsOf } from "./testing-plan.ts";

test.each([
  {
    what: "a namespace of no organization",
    reason: "UnknownOrganization",
    change: { organization: { kind: "unknown" as const } },
  },
  {
    what: "a second namespace of an organization",
    reason: "DuplicateOrganization",
    change: { organization: { kind: "duplicate" as const, namespace: "old" } },
  },
  {
    what: "an id that an older cluster has",
    reason: "DuplicateID",
    change: { olderDuplicate: "other/demo" },
  },
  { what: "no class installed", reason: "ClassNotFound", change: { classes: new Map() } },
])("with $what nothing is created, and the status says why: $reason", ({ change, reason }) => {
  const plan = aCluster().with(change).plan();
  expect(stepsOf(plan)).toEqual([]);
  expect(plan.status).toMatchObject({ phase: "Failed" });
  expect(plan.status?.message).toBeTruthy();
  expect(conditionOf(plan, "Stalled")).toMatchObject({ status: "True", reason });
  expect(conditionOf(plan, "ControlPlaneReady")).toMatchObject({ status: "Unknown", reason });
  expect(conditionOf(plan, "Reconciling")).toMatchObject({ status: "False" });
  expect(plan.events).toMatchObject([{ reason, type: "Warning" }]);
  expect(plan.status?.transitions).toMatchObject([{ type: "Failed", reason }]);
});

test.each([
  { what: "an unknown plan", reason: "UnknownPlan", spec: { plan: "gold" } },
  { what: "a version out of the catalogue", reason: "UnknownVersion", spec: { version: "1.20" } },
])("$what is Stalled until the user changes it: $reason", ({ spec, reason }) => {
  const plan = aCluster(spec).plan();
  expect(stepsOf(plan)).toEqual([]);
  expect(conditionOf(plan, "Stalled")).toMatchObject({ status: "True", reason });
  expect(conditionOf(plan, "ControlPlaneReady")).toMatchObject({ status: "Unknown", reason });
});

test("a class that does not support authorized CIDRs leads to no cluster instead of a more open one", () => {
  const classes = new Map([["marina-system/standard-v1", makeClass(["workerSubnet"])]]);
  const plan = aCluster({ network: { authorizedCIDRs: ["198.51.100.0/24"] } })
    .with({ classes })
    .plan();
  expect(stepsOf(plan)).toEqual([]);
  expect(conditionOf(plan, "Stalled")).toMatchObject({ reason: "UnsupportedByClass" });
});

test("a private endpoint is accepted; where the class has none the cluster waits, and nothing is made", () => {
  const classes = new Map([["marina-system/standard-v1", makeClass(["workerSubnet"])]]);
  const plan = aCluster({ publicEndpoint: false }).with({ classes }).plan();
  expect(stepsOf(plan)).toEqual([]);
  expect(plan.status?.phase).toBe("Provisioning");
  expect(conditionOf(plan, "Stalled")).toBeUndefined();
  for (const [type, status] of [
    ["Ready", "False"],
    ["Reconciling", "True"],
    ["ControlPlaneReady", "Unknown"],
  ] as const) {
    expect(conditionOf(plan, type)).toMatchObject({ status, reason: "UnsupportedByClass" });
  }
});

test("a running cluster whose change is rejected stays Ready and reports the rejection", () => {
  const fixture = aCluster()
    .ready()
    .withSpec({ network: { authorizedCIDRs: ["198.51.100.0/24"] } });
  const rejected = fixture.with({ applyFailure: { kind: "rejected", message: "spec: Invalid value" } });
  const plan = rejected.plan();
  expect(plan.write).toEqual([]);
  expect(plan.status).toMatchObject({
    phase: "Ready",
    message: expect.stringContaining("spec: Invalid value"),
  });
  expect(conditionOf(plan, "Stalled")).toMatchObject({ status: "True", reason: "RejectedByClusterAPI" });
  expect(conditionOf(plan, "NetworkPolicyApplied")).toMatchObject({ status: "False" });
  expect(plan.requeueAfterMs).toBe(60_000);
});

test("a rejection after the apply counts only when it persists", () => {
  const failed = makeCondition("TopologyReconciled", "False", {
    reason: "ReconcileFailed",
    message: "no such thing",
  });
  const fixture = aCluster().ready().withCapiConditions([failed]);
  expect(fixture.after(5).plan().status).toBeUndefined();
  expect(fixture.after(5).plan().requeueAfterMs).toBe(10_000);
  const stalled = conditionOf(fixture.after(20).plan(), "Stalled");
  expect(stalled).toMatchObject({
    status: "True",
    reason: "RejectedByClusterAPI",
    message: expect.stringContaining("no such thing"),
  });
});

test("a foreign Cluster API Cluster of the same name is left alone", () => {
  const fixture = aCluster();
  const foreign = {
    apiVersion: "cluster.x-k8s.io/v1beta2",
    kind: "Cluster",
    metadata: { name: "demo", uid: "x" },
  };
  const plan = fixture.withCapi(foreign).plan();
  expect(stepsOf(plan)).toEqual([]);
  expect(conditionOf(plan, "Stalled")).toMatchObject({ reason: "NameTaken" });
});
