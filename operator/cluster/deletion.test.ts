import { expect, test } from "vitest";
import { makeCondition, makePool, START } from "../testing.ts";
import { aCluster } from "../testing-cluster.ts";
import { conditionOf, stepsOf } from "./testing-plan.ts";

const ADMIN_KUBECONFIG = ["delete rolebindings", "delete roles", "delete secrets"];

test("a deletion deletes the pools and Cluster API's Cluster, and keeps the finalizer until both are gone", () => {
  const fixture = aCluster().withPools(makePool("web")).ready().deleting();
  const plan = fixture.plan();
  expect(stepsOf(plan)).toEqual(["delete nodepools", "delete clusters"]);
  expect(plan.status?.phase).toBe("Deleting");
  expect(plan.releaseFinalizer).toBe(false);
  const poolsLeft = fixture.with({ capi: undefined }).plan();
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
  const plan = fixture.with({ capi: undefined }).plan();
  expect(stepsOf(plan)).toEqual([...ADMIN_KUBECONFIG, "delete configmaps"]);
  expect(plan.releaseFinalizer).toBe(true);
});

test("a deletion leaves a foreign Cluster API Cluster of the same name alone", () => {
  const fixture = aCluster().ready().deleting();
  const capiCluster = fixture.capiObject();
  const foreign = { ...capiCluster, metadata: { ...capiCluster.metadata, ownerReferences: [], labels: {} } };
  const plan = fixture.withCapi(foreign).plan();
  expect(stepsOf(plan)).toEqual([...ADMIN_KUBECONFIG, "delete configmaps"]);
  expect(plan.releaseFinalizer).toBe(true);
});

test("a deletion reports its progress", () => {
  const deleting = aCluster().withPools(makePool("web")).ready().deleting();
  const idle = deleting
    .withCapiConditions([makeCondition("Deleting", "False", { reason: "NotDeleting" })])
    .plan();
  expect(conditionOf(idle, "Ready")).toMatchObject({
    message: "The deletion is being passed on to Cluster API.",
  });
  const capiCluster = deleting.capiObject();
  const metadata = { ...capiCluster.metadata, deletionTimestamp: START.toISOString() };
  const started = deleting.withCapi({ ...capiCluster, metadata }).plan();
  expect(conditionOf(started, "Ready")).toMatchObject({ message: "Cluster API is deleting the cluster." });
  expect(conditionOf(idle, "NetworkPolicyApplied")).toMatchObject({ status: "True" });
  const reason = "WaitingForWorkersDeletion";
  const busy = deleting.withCapiConditions([makeCondition("Deleting", "True", { reason })]).plan();
  expect(conditionOf(busy, "Ready")).toMatchObject({
    message: expect.stringMatching(/^Cluster API is deleting the cluster: /),
  });
  const gone = deleting.with({ capi: undefined }).plan();
  expect(conditionOf(gone, "ControlPlaneReady")).toMatchObject({ message: "The control plane is deleted." });
  expect(conditionOf(gone, "NetworkPolicyApplied")).toMatchObject({ status: "Unknown", reason: "Deleting" });
});

test("a deletion that Cluster API rejects says so with its cause, is Stalled with a Warning, and is retried once a minute", () => {
  const ready = aCluster({ network: { authorizedCIDRs: ["203.0.113.0/24"] } }).ready();
  const deleting = ready.deleting();
  const message = 'admission webhook "x" denied the request: denied by policy';
  const plan = deleting.with({ applyFailure: { kind: "rejected", message } }).plan();
  const text =
    "Deletion waits. Cluster API rejects it: denied by policy. Ask the platform's operator to look at the cluster.";
  expect(plan).toMatchObject({
    write: [],
    remove: [],
    requeueAfterMs: 60_000,
    status: { phase: "Deleting", message: text },
  });
  expect(conditionOf(plan, "Stalled")).toMatchObject({ status: "True", reason: "RejectedByClusterAPI" });
  expect(conditionOf(plan, "Ready")).toMatchObject({ reason: "Deleting", message: text });
  expect(plan.events).toMatchObject([
    { type: "Warning", reason: "RejectedByClusterAPI", action: "Delete", note: text },
    { type: "Normal", reason: "Deleting" },
  ]);
  // It says nothing of what is in force.
  expect(conditionOf(plan, "NetworkPolicyApplied")).toEqual(
    conditionOf(deleting.plan(), "NetworkPolicyApplied"),
  );
});

test("a deletion waits for a Cluster API that does not respond, and nothing is Stalled", () => {
  const applyFailure = { kind: "unavailable" as const, message: "failed calling webhook" };
  const plan = aCluster().ready().deleting().with({ applyFailure }).plan();
  expect(stepsOf(plan)).toEqual([]);
  expect(conditionOf(plan, "Stalled")).toBeUndefined();
  expect(conditionOf(plan, "Ready")?.message).toMatch(/^Deletion waits\. Cluster API does not respond/);
});

test("when nothing is left the admin kubeconfig is deleted, the subnet and the finalizer are released", () => {
  const plan = aCluster().ready().deleting().with({ capi: undefined }).plan();
  expect(stepsOf(plan)).toEqual([...ADMIN_KUBECONFIG, "delete configmaps"]);
  expect(plan.releaseFinalizer).toBe(true);
  expect(plan.status).toBeUndefined();
});

test("a cluster without our finalizer is deleted without a step", () => {
  const plan = aCluster().deleting().plan();
  expect(stepsOf(plan)).toEqual([]);
  expect(plan.releaseFinalizer).toBe(false);
});

test("a cluster with an older duplicate does not release the subnet of the original", () => {
  const duplicate = aCluster().ready().deleting().with({ capi: undefined, olderDuplicate: "other/demo" });
  expect(stepsOf(duplicate.plan())).toEqual(ADMIN_KUBECONFIG);
  expect(duplicate.plan().releaseFinalizer).toBe(true);
});
