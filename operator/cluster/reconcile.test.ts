import { expect, test } from "vitest";
import { ANNOTATION_IDENTITY, FINALIZER, LABEL_ID, LABEL_ORG_ID } from "../../shared/crd/names.ts";
import { CLUSTER_ID, makeClass, makeCondition, makePool, ORG } from "../testing.ts";
import { aCluster } from "../testing-cluster.ts";
import { conditionOf, stepsOf, topologyOf } from "./testing-plan.ts";

test("a new cluster gets id, organization and finalizer, then its subnet, then Cluster API's Cluster", () => {
  const plan = aCluster().plan();
  expect(plan.metadata).toEqual({
    labels: { [LABEL_ID]: CLUSTER_ID, [LABEL_ORG_ID]: ORG },
    annotations: { [ANNOTATION_IDENTITY]: "new uid-demo" },
    finalizer: FINALIZER,
  });
  expect(plan.status?.id).toBe(CLUSTER_ID);
  expect(stepsOf(plan)).toEqual(["create configmaps", "apply clusters"]);
  expect(topologyOf(plan)).toMatchObject({
    version: "v1.34.2",
    classRef: { name: "standard-v1", namespace: "marina-system" },
    controlPlane: { replicas: 1 },
  });
});

test("a cluster waits until the CA of an earlier one of its name is collected, with nothing of Cluster API", () => {
  const plan = aCluster().with({ hasFormerCa: true }).plan();
  expect(stepsOf(plan)).toEqual(["create configmaps"]);
  expect(conditionOf(plan, "Reconciling")).toMatchObject({ status: "True" });
  expect(plan.requeueAfterMs).toBe(1_000);
});

test("the very first status carries observedGeneration and Ready", () => {
  const plan = aCluster().plan();
  expect(plan.status).toMatchObject({
    observedGeneration: 1,
    phase: "Provisioning",
    targetVersion: "1.34.2",
  });
  expect(conditionOf(plan, "Ready")).toMatchObject({ status: "False", observedGeneration: 1 });
});

test.each([
  { what: "just accepted", fixture: aCluster().reconciled() },
  { what: "with pools", fixture: aCluster().withPools(makePool("web"), makePool("db")).reconciled() },
  { what: "ready", fixture: aCluster().withPools(makePool("web")).ready() },
  { what: "ready for hours", fixture: aCluster().withPools(makePool("web")).ready().after(7200) },
  { what: "rejected", fixture: aCluster({ plan: "gold" }).reconciled() },
  {
    what: "being deleted",
    fixture: aCluster()
      .withPools(makePool("web"))
      .ready()
      .deleting()
      .withCapiConditions([makeCondition("Deleting", "True")])
      .reconciled(),
  },
])("a cluster that is $what and was reconciled needs nothing more", ({ fixture }) => {
  const plan = fixture.reconciled().plan();
  expect(plan.metadata).toBeUndefined();
  expect(plan.status).toBeUndefined();
  expect(plan.events).toEqual([]);
  expect(plan.write).toEqual([]);
  expect(plan.remove).toEqual([]);
});

test("a deletion is sent again until the caches show it", () => {
  const deleting = aCluster().withPools(makePool("web")).ready().deleting();
  const sent = ["delete nodepools", "delete clusters"];
  expect([stepsOf(deleting.plan()), stepsOf(deleting.interrupted(1).plan())]).toEqual([sent, sent.slice(1)]);
  expect(stepsOf(deleting.interrupted(2).plan())).toEqual([]);
});

test("a cluster that has converged and whose endpoint is reachable is ready, and firstReadyAt never changes", () => {
  const fixture = aCluster().withPools(makePool("web")).ready();
  expect(fixture.observed.cluster.status).toMatchObject({
    phase: "Ready",
    version: "1.34.2",
    apiServerURL: "https://api.demo.test:6443",
    publicAddress: "api.demo.test",
    nodes: { total: 2, ready: 2 },
    transitions: [{ sequence: 1, type: "Ready", version: "1.34.2" }],
  });
  const firstReadyAt = fixture.observed.cluster.status?.firstReadyAt;
  const later = fixture
    .after(3600)
    .with({ probe: { ok: false, message: "down" } })
    .reconciled();
  expect(later.observed.cluster.status?.firstReadyAt).toBe(firstReadyAt);
});

test.each([
  { what: "the endpoint is not reachable", probe: { ok: false, message: "ECONNREFUSED" } },
  { what: "the endpoint was not probed yet", probe: undefined },
])("a cluster is not ready while $what", ({ probe }) => {
  const plan = aCluster().reconciled().capiConverged().with({ probe }).plan();
  expect(conditionOf(plan, "Ready")).toMatchObject({ status: "False", reason: "WaitingForEndpoint" });
});

test("a private cluster is ready without a probe of its endpoint", () => {
  const fixture = aCluster({ publicEndpoint: false }).reconciled().capiConverged().with({ probe: undefined });
  const plan = fixture.plan();
  expect(plan.status?.phase).toBe("Ready");
  expect(plan.status).not.toHaveProperty("publicAddress");
  expect(conditionOf(plan, "EndpointReachable")).toMatchObject({
    status: "Unknown",
    reason: "PrivateEndpoint",
  });
});

test("a manual change of Cluster API's Cluster is reverted", () => {
  const fixture = aCluster().withPools(makePool("web")).ready();
  const object = structuredClone(fixture.capiObject());
  const pool = object.spec?.topology?.workers?.machineDeployments?.[0];
  if (pool !== undefined) pool.replicas = 9;
  expect(stepsOf(fixture.withCapi(object).plan())).toEqual(["apply clusters"]);
});

test("a wait has no message for a minute, then its cause", () => {
  const fixture = aCluster().reconciled();
  expect(fixture.after(30).plan().requeueAfterMs).toBe(25_000);
  expect(fixture.after(30).reconciled().observed.cluster.status?.message).toBeUndefined();
  expect(fixture.after(61).plan().status?.message).toMatch(
    /^The control plane of demo is being provisioned\./,
  );
});

test("an upgrade goes one minor at a time and records its end", () => {
  const upgrading = aCluster().withPools(makePool("web")).ready().withSpec({ version: "1.35" });
  expect(topologyOf(upgrading.plan())?.version).toBe("v1.35.1");
  expect(upgrading.plan().status).toMatchObject({
    phase: "Upgrading",
    targetVersion: "1.35.1",
    version: "1.34.2",
  });
  const done = upgrading.reconciled().capiConverged().reconciled();
  expect(done.observed.cluster.status).toMatchObject({ phase: "Ready", version: "1.35.1" });
  expect(done.observed.cluster.status?.transitions?.at(-1)).toMatchObject({
    type: "Upgraded",
    version: "1.35.1",
    previousVersion: "1.34.2",
  });
});

test("a new class of a plan is applied with the next upgrade, not before", () => {
  const ready = aCluster().ready();
  const classes = new Map([...ready.observed.classes, ["marina-system/standard-v2", makeClass()]]);
  const v2 = { class: "standard-v2", namespace: "marina-system", controlPlaneReplicas: 1 };
  const settings = { ...ready.observed.settings, servicePlans: { default: v2 } };
  const mapped = ready.with({ classes, settings });
  expect(stepsOf(mapped.plan())).toEqual([]);
  expect(topologyOf(mapped.withSpec({ version: "1.35" }).plan())?.classRef.name).toBe("standard-v2");
});
