import { describe, expect, test } from "vitest";
import { ANNOTATION_IDENTITY, ANNOTATION_RECREATE } from "../../shared/crd/names.ts";
import { aPool } from "../node-pool/testing.ts";
import { CLUSTER_ID, makeCondition, makePool } from "../testing.ts";
import { aCluster, type ClusterFixture } from "../testing-cluster.ts";
import { conditionOf, stepsOf } from "./testing-plan.ts";

const created = () => aCluster().reconciled();
const remembered = () => created().reconciled();
const ready = () => aCluster().withPools(makePool("web")).ready().reconciled();
const upgrading = () => ready().withSpec({ version: "1.35" }).reconciled();
const withoutCapi = (fixture: ClusterFixture) => fixture.with({ capi: undefined });

function annotated(fixture: ClusterFixture, annotations: Record<string, string>): ClusterFixture {
  const { cluster } = fixture.observed;
  const metadata = { ...cluster.metadata, annotations: { ...cluster.metadata.annotations, ...annotations } };
  return fixture.with({ cluster: { ...cluster, metadata } });
}

const recreated = (fixture: ClusterFixture, id = CLUSTER_ID) =>
  annotated(fixture, { [ANNOTATION_RECREATE]: id });

function deletingInCapi(fixture: ClusterFixture): ClusterFixture {
  const object = fixture.capiObject();
  const metadata = { ...object.metadata, deletionTimestamp: fixture.now.toISOString() };
  return fixture.withCapi({ ...object, metadata });
}

function without(type: string): (fixture: ClusterFixture) => ClusterFixture {
  const deleted = makeCondition(type, "False", { reason: "ObjectDeleted", message: "has been deleted" });
  return (fixture) => fixture.withCapiConditions([deleted]);
}

/** A part of a cluster whose control plane never was initialized was deleted so many seconds ago. */
function withoutNew(type: string, seconds: number): ClusterFixture {
  const since = remembered();
  const { now } = since;
  const conditions = [
    makeCondition(type, "False", { reason: "ObjectDoesNotExist", message: "DevCluster does not exist" }),
    makeCondition("TopologyReconciled", "False", {
      reason: "ReconcileFailed",
      message: 'failed to read DevCluster org/demo: devclusters "demo" not found',
      lastTransitionTime: now.toISOString(),
    }),
  ];
  return since.after(seconds).withCapiConditions(conditions);
}

/** Cluster API has a cluster of this name that Marina did not make. */
function replacedByForeign(fixture: ClusterFixture): ClusterFixture {
  const object = fixture.capiObject();
  return fixture.withCapi({ ...object, metadata: { ...object.metadata, labels: {}, ownerReferences: [] } });
}

/** A restored object has its label. */
function named(fixture: ClusterFixture): ClusterFixture {
  const { cluster } = fixture.observed;
  const metadata = { ...cluster.metadata, labels: { "cloud.marina.dev/id": CLUSTER_ID } };
  return fixture.with({ cluster: { ...cluster, metadata } });
}

/** What the memory of a cluster was before it lost its Cluster API cluster. */
function withoutMemory(fixture: ClusterFixture): ClusterFixture {
  const { own } = fixture.observed.subnets;
  const subnets = { ...fixture.observed.subnets, own: own && { ...own, capiUid: undefined } };
  return fixture.with({ subnets });
}

test("what Cluster API has made is recorded in the allocation of the subnet, after it was made and once", () => {
  expect(stepsOf(aCluster().plan())).toEqual(["create configmaps", "apply clusters"]);
  expect(stepsOf(created().plan())).toEqual(["patch configmaps"]);
  expect(remembered().observed.subnets.own?.capiUid).toBe(created().capiObject().metadata.uid);
  expect(stepsOf(remembered().plan())).toEqual([]);
});

test("what Cluster API has made is remembered before a change that it rejects, and while it is suspended", () => {
  const [first] = stepsOf(created().withSpec({ version: "1.35" }).plan());
  expect(first).toBe("patch configmaps");
  expect(stepsOf(created().withSpec({ suspend: true }).plan())).toEqual([
    "patch configmaps",
    "patch clusters",
  ]);
});

describe("lost", () => {
  test.each<[string, ClusterFixture]>([
    ["the cluster, while it was created", withoutCapi(remembered())],
    ["the cluster, when it was ready", withoutCapi(ready())],
    [
      "the cluster and the allocation, when it was ready",
      withoutCapi(ready()).with({ subnets: { own: undefined, taken: new Set() } }),
    ],
    ["the cluster and what the allocation records, when it was ready", withoutMemory(withoutCapi(ready()))],
    ["the cluster, in an upgrade", withoutCapi(upgrading())],
    ["the cluster, while it is suspended", withoutCapi(ready().withSpec({ suspend: true }).reconciled())],
    [
      "the cluster, after a restore",
      withoutCapi(annotated(aCluster(), { [ANNOTATION_IDENTITY]: "known uid-demo" })),
    ],
    ["the cluster, and a foreign one has its name", replacedByForeign(ready())],
    ["the cluster, which Cluster API is still deleting", deletingInCapi(ready())],
    ["the control plane", without("ControlPlaneAvailable")(ready())],
    ["the infrastructure", without("InfrastructureReady")(ready())],
    ["the control plane, in an upgrade", without("ControlPlaneAvailable")(upgrading())],
    ["the infrastructure, in an upgrade", without("InfrastructureReady")(upgrading())],
    ["the CA, in an upgrade", upgrading().with({ lostParts: ["certificate authority"] })],
    ["the control plane, while it was created", withoutNew("ControlPlaneAvailable", 15)],
    ["the infrastructure, while it was created", withoutNew("InfrastructureReady", 15)],
    ["the cluster, to be created again as another", recreated(withoutCapi(ready()), "another id")],
  ])("%s: degraded and stalled at once, with a transition, and nothing is made or deleted", (_, fixture) => {
    const labelled = fixture.observed.cluster.metadata.labels === undefined ? named(fixture) : fixture;
    const plan = labelled.plan();
    expect(plan.status?.phase).toBe("Degraded");
    expect(conditionOf(plan, "Ready")).toMatchObject({ status: "False", reason: "InfrastructureLost" });
    expect(conditionOf(plan, "Stalled")).toMatchObject({ status: "True", reason: "InfrastructureLost" });
    const reason = "InfrastructureLost";
    expect(plan.status?.transitions?.at(-1)).toMatchObject({ type: "Degraded", reason });
    expect(plan.status?.message).toContain(
      `set the annotation ${ANNOTATION_RECREATE} of the Cluster to its id`,
    );
    expect(plan.events).toContainEqual(expect.objectContaining({ type: "Warning", reason }));
    const notes = plan.events.map(({ note }) => note);
    expect(notes).toEqual([...new Set(notes)]);
    expect([plan.write, plan.remove]).toEqual([[], []]);
    expect(labelled.reconciled().plan().status).toBeUndefined();
  });
});

test.each<[string, ClusterFixture]>([
  [
    "whose subnet was allocated and whose Cluster API cluster was not made yet",
    withoutCapi(withoutMemory(created())),
  ],
  [
    "that its class rejects",
    aCluster()
      .with({ applyFailure: { kind: "rejected", message: "no" } })
      .reconciled()
      .after(1),
  ],
])("a cluster %s is being created, not lost", (_, fixture) => {
  expect(fixture.reconciled().observed.cluster.status?.phase).not.toBe("Degraded");
  expect(stepsOf(withoutCapi(fixture).with({ applyFailure: undefined }).plan())).toContain("apply clusters");
});

test.each([
  ["is not found for less than 15 s, as by a cache that is behind", withoutNew("InfrastructureReady", 14)],
  [
    "was not made yet",
    withoutNew("InfrastructureReady", 15).withCapiConditions([
      makeCondition("InfrastructureReady", "False", {
        reason: "ObjectDoesNotExist",
        message: "Waiting for cluster topology to be reconciled",
      }),
    ]),
  ],
])("a part that %s is not lost", (_, fixture) => {
  expect(conditionOf(fixture.plan(), "Ready")?.reason).not.toBe("InfrastructureLost");
});

test("a cluster that lost a part while it was created is created again by the annotation", () => {
  expect(stepsOf(recreated(withoutNew("ControlPlaneAvailable", 15)).plan())).toEqual(["delete clusters"]);
});

test("a lost cluster is created again by the annotation with its id alone, degraded until it is back", () => {
  const lost = withoutCapi(ready()).reconciled();
  const again = recreated(lost);
  expect(stepsOf(again.plan())).toEqual(["apply clusters"]);
  const plan = again.plan();
  expect(plan.status?.phase).toBe("Degraded");
  expect(conditionOf(plan, "Stalled")).toBeUndefined();
  expect(conditionOf(plan, "Reconciling")).toMatchObject({ status: "True", reason: "InfrastructureLost" });
  const made = again.reconciled();
  const back = made.reconciled().capiConverged().reconciled();
  expect(back.observed.cluster.metadata.annotations ?? {}).not.toHaveProperty([ANNOTATION_RECREATE]);
  expect(back.observed.cluster.status).toMatchObject({ phase: "Ready" });
  expect(back.observed.cluster.status?.transitions?.map(({ type }) => type)).toEqual([
    "Ready",
    "Degraded",
    "Recovered",
  ]);
});

describe("a lost cluster that is back in Cluster API", () => {
  const restored = (fixture: ClusterFixture) => fixture.withCapi(ready().capiObject());
  const lost = () => withoutCapi(ready()).reconciled();
  const failing = (fixture: ClusterFixture) =>
    fixture.withCapiConditions([makeCondition("ControlPlaneAvailable", "False")]);
  const isPrivate = (fixture: ClusterFixture) => {
    const { cluster } = fixture.observed;
    return fixture.with({ cluster: { ...cluster, spec: { ...cluster.spec, publicEndpoint: false } } });
  };

  test.each<[string, ClusterFixture, "Degraded" | "Ready"]>([
    ["whose endpoint was not probed yet", restored(lost()).with({ probe: undefined }), "Degraded"],
    [
      "whose endpoint does not answer",
      restored(lost()).with({ probe: { ok: false, message: "ECONNREFUSED" } }),
      "Degraded",
    ],
    ["whose control plane is unavailable", failing(restored(lost())), "Degraded"],
    ["whose endpoint answers", restored(lost()), "Ready"],
    ["whose endpoint is private", restored(isPrivate(lost())).with({ probe: undefined }), "Ready"],
    [
      "whose endpoint is private and whose control plane is unavailable",
      failing(restored(isPrivate(lost()))),
      "Degraded",
    ],
  ])("%s is not said to have recovered too early", (_, fixture, phase) => {
    const { status } = fixture.reconciled().reconciled().observed.cluster;
    expect(status?.phase).toBe(phase);
    expect(status?.transitions?.at(-1)?.type).toBe(phase === "Ready" ? "Recovered" : "Degraded");
  });

  test("one that was not lost is not degraded by a probe that fails once", () => {
    const { status } = ready()
      .with({ probe: { ok: false, message: "no" } })
      .reconciled().observed.cluster;
    expect(status?.phase).toBe("Ready");
  });
});

test("what is left of a cluster that lost its control plane is deleted first, when it is to be created again", () => {
  const again = recreated(without("ControlPlaneAvailable")(ready()).reconciled());
  expect(stepsOf(again.plan())).toEqual(["delete clusters"]);
  const deleting = deletingInCapi(again);
  expect(stepsOf(deleting.plan())).toEqual([]);
  expect(deleting.plan().metadata?.dropAnnotations ?? []).not.toContain(ANNOTATION_RECREATE);
  expect(stepsOf(withoutCapi(deleting).plan())).toEqual(["apply clusters"]);
});

test("a cluster that comes back is adopted, and its subnet remembers it", () => {
  const object = ready().capiObject();
  const lost = withoutCapi(ready()).reconciled();
  const restored = lost.withCapi({
    ...object,
    metadata: { ...object.metadata, uid: "uid-restored", ownerReferences: [] },
  });
  const back = restored.reconciled();
  expect(back.observed.subnets.own?.capiUid).toBe("uid-restored");
  expect(back.observed.cluster.status).toMatchObject({ phase: "Ready" });
});

test("the annotation that creates a lost cluster again is removed from one that is not lost, so that it does not count later", () => {
  expect(recreated(ready()).plan().metadata?.dropAnnotations).toEqual([ANNOTATION_RECREATE]);
});

test("a lost cluster can be deleted, and its subnet is free", () => {
  const deleted = withoutCapi(ready()).reconciled().deleting().with({ pools: [] });
  expect(stepsOf(deleted.plan())).toContain("delete configmaps");
  expect(deleted.plan().releaseFinalizer).toBe(true);
});

test("the node pools of a lost cluster are lost with it, and count the nodes that are left", () => {
  const problem = { reason: "InfrastructureLost", message: "It is gone. Restore it." };
  const running = aPool().withNodes(2).reconciled();
  const lost = running.withCluster({ problem }).with({ machineDeployment: undefined });
  expect(lost.condition("Ready")).toMatchObject({ status: "False", reason: "InfrastructureLost" });
  expect(lost.condition("Stalled")).toMatchObject({ status: "True", reason: "InfrastructureLost" });
  expect(lost.plan().status).toMatchObject({ phase: "Failed", nodes: 0, readyNodes: 0 });
});

test("a node pool that Cluster API makes again is scaling until its nodes are there", () => {
  const running = aPool().withNodes(2).reconciled();
  const absent = running.with({ machineDeployment: undefined });
  expect(absent.plan().status).toMatchObject({ phase: "Scaling", nodes: 0 });
});
