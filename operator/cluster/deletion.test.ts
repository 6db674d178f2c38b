import { expect, test } from "vitest";
import { makeCondition, makePool, START } from "../testing.ts";
import { aCluster } from "../testing-cluster.ts";
import { conditionOf, stepsOf } from "./testing-plan.ts";

test("a deletion deletes the pools and Cluster API's Cluster, and keeps the finalizer until both are gone", () => {
  const fixture = aCluster().withPools(makePool("web")).ready().deleting();
  const plan = fixture.plan();
  expect(stepsOf(plan)).toEqual(["delete nodepools", "delete clusters"]);
  expect(plan.status?.phase).toBe("Deleting");
  expect(plan.releaseFinalizer).toBe(false);
  const poolsLeft = fixture.with({ engine: undefined }).plan();
  expect(poolsLeft.releaseFinalizer).toBe(false);
});

test("a pool without the operator's finalizer does not keep its deleted cluster, whatever other finalizer it has", () => {
  const pool = makePool("web");
  const metadata = {
    ...pool.metadata,
    deletionTimestamp: START.toISOString(),
    finalizers: ["example.com/keep"],
  };
  const fixture = aCluster()
    .withPools({ ...pool, metadata })
    .ready()
    .deleting();
  const plan = fixture.with({ engine: undefined }).plan();
  expect(stepsOf(plan)).toEqual(["delete configmaps"]);
  expect(plan.releaseFinalizer).toBe(true);
});

test("a deletion leaves a foreign Cluster API Cluster of the same name alone", () => {
  const fixture = aCluster().ready().deleting();
  const engine = fixture.engineObject();
  const foreign = { ...engine, metadata: { ...engine.metadata, ownerReferences: [], labels: {} } };
  const plan = fixture.withEngine(foreign).plan();
  expect(stepsOf(plan)).toEqual(["delete configmaps"]);
  expect(plan.releaseFinalizer).toBe(true);
});

test("a deletion reports its progress", () => {
  const deleting = aCluster().withPools(makePool("web")).ready().deleting();
  const idle = deleting
    .withEngineConditions([makeCondition("Deleting", "False", { reason: "NotDeleting" })])
    .plan();
  expect(conditionOf(idle, "Ready")).toMatchObject({
    message: "The deletion is being passed on to Cluster API.",
  });
  const engine = deleting.engineObject();
  const metadata = { ...engine.metadata, deletionTimestamp: START.toISOString() };
  const started = deleting.withEngine({ ...engine, metadata }).plan();
  expect(conditionOf(started, "Ready")).toMatchObject({ message: "Cluster API is deleting the cluster." });
  expect(conditionOf(idle, "NetworkPolicyApplied")).toMatchObject({ status: "True" });
  const reason = "WaitingForWorkersDeletion";
  const busy = deleting.withEngineConditions([makeCondition("Deleting", "True", { reason })]).plan();
  expect(conditionOf(busy, "Ready")).toMatchObject({
    message: expect.stringMatching(/^Cluster API is deleting the cluster: /),
  });
  const gone = deleting.with({ engine: undefined }).plan();
  expect(conditionOf(gone, "ControlPlaneReady")).toMatchObject({ message: "The control plane is deleted." });
  expect(conditionOf(gone, "NetworkPolicyApplied")).toMatchObject({ status: "False" });
});

test("when nothing is left the subnet and the finalizer are released", () => {
  const plan = aCluster().ready().deleting().with({ engine: undefined }).plan();
  expect(stepsOf(plan)).toEqual(["delete configmaps"]);
  expect(plan.releaseFinalizer).toBe(true);
  expect(plan.status).toBeUndefined();
});

test("a cluster without our finalizer is deleted without a step", () => {
  const plan = aCluster().deleting().plan();
  expect(stepsOf(plan)).toEqual([]);
  expect(plan.releaseFinalizer).toBe(false);
});

test("a cluster with an older duplicate does not release the subnet of the original", () => {
  const duplicate = aCluster().ready().deleting().with({ engine: undefined, olderDuplicate: "other/demo" });
  expect(stepsOf(duplicate.plan())).toEqual([]);
  expect(duplicate.plan().releaseFinalizer).toBe(true);
});
