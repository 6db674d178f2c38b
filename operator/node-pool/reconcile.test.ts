import { describe, expect, test } from "vitest";
import { FINALIZER, LABEL_ID } from "../../shared/crd/names.ts";
import { makeCondition } from "../testing.ts";
import { aPool, capiPoolWith, hashOfPool, makeMachine, ORG, POOL_ID, UPGRADING } from "./testing.ts";

const ready = { status: "True", reason: "Available" };

test("a new pool gets id, organization and finalizer, but no owner, and no step of its own", () => {
  const plan = aPool().fresh().plan();
  expect(plan.metadata).toMatchObject({
    labels: { [LABEL_ID]: POOL_ID, "cloud.marina.dev/org-id": ORG },
    finalizer: FINALIZER,
  });
  expect(plan.metadata).not.toHaveProperty("owner");
  expect([...plan.write, ...plan.remove]).toEqual([]);
  expect(plan.status).toMatchObject({ observedGeneration: 1, phase: "Provisioning" });
});

test.each([
  { what: "waiting for its cluster", pool: aPool().withoutCluster() },
  { what: "waiting for nodes", pool: aPool() },
  { what: "ready", pool: aPool().withNodes(2) },
  { what: "scaling", pool: aPool().withNodes(2).withSpec({ desiredNodes: 4 }) },
  { what: "ready for hours", pool: aPool().withNodes(2).reconciled().after(7200) },
])("a pool that is $what and was reconciled needs nothing more", ({ pool }) => {
  const plan = pool.reconciled().reconciled().plan();
  expect(plan).toMatchObject({ metadata: undefined, status: undefined, events: [] });
});

test.each([
  { what: "there is no cluster", pool: aPool().withoutCluster(), reason: "WaitingForCluster" },
  {
    what: "the control plane is not up",
    pool: aPool().with({ machineDeployment: undefined }),
    reason: "WaitingForControlPlane",
  },
  {
    what: "the cluster is being upgraded",
    pool: aPool().withCluster({ ...UPGRADING, controlPlaneInitialized: true }),
    reason: "UpgradeInProgress",
  },
  {
    what: "nodes are missing",
    pool: aPool().withCapi({ desired: 2, nodes: 2, ready: 1 }),
    reason: "WaitingForNodes",
  },
  {
    what: "it is to have no nodes, and is not created in Cluster API",
    pool: aPool({ desiredNodes: 0 }).withCluster({ controlPlaneInitialized: true }),
    reason: "Provisioning",
  },
])("a pool is not ready while $what", ({ pool, reason }) => {
  expect(pool.condition("Ready")).toMatchObject({ status: "False", reason });
  expect(pool.plan().status?.phase).toBe("Provisioning");
});

test("a pool becomes ready with all its nodes and stays ready", () => {
  const pool = aPool().withNodes(2).reconciled();
  expect(pool.status()).toMatchObject({
    phase: "Ready",
    nodes: 2,
    readyNodes: 2,
    version: "1.34.2",
    transitions: [{ sequence: 1, type: "Ready" }],
  });
  const scaling = pool.withSpec({ desiredNodes: 5 });
  expect(scaling.condition("Ready")).toMatchObject(ready);
  expect(scaling.plan().status?.firstReadyAt).toBe(pool.status()?.firstReadyAt);
});

test("a pool of no nodes is ready when Cluster API has created it", () => {
  const pool = aPool({ desiredNodes: 0 }).withNodes(0);
  expect(pool.plan().status?.phase).toBe("Ready");
});

test.each([
  { what: "more nodes are requested", pool: aPool().withNodes(2).withSpec({ desiredNodes: 4 }) },
  { what: "fewer nodes are requested", pool: aPool().withNodes(2).withSpec({ desiredNodes: 1 }) },
  { what: "nodes exist that are not ready", pool: aPool().withCapi({ desired: 2, nodes: 2, ready: 1 }) },
])("it scales while $what", ({ pool }) => {
  expect(pool.condition("Scaling")).toMatchObject({ status: "True", reason: "Scaling" });
});

test("counters that are missing for a moment keep their last value", () => {
  const pool = aPool().withNodes(2).reconciled();
  const { machineDeployment: live } = pool.observed;
  const blank = live && { ...live, nodes: undefined, readyNodes: undefined, upToDateNodes: undefined };
  expect(pool.with({ machineDeployment: blank }).plan().status).toBeUndefined();
});

test("a rollout is reported as such, not as scaling", () => {
  const pool = aPool()
    .withNodes(2)
    .reconciled()
    .withCapi({ desired: 2, nodes: 3, ready: 3, rollingOut: true });
  expect(pool.condition("Scaling")).toMatchObject({ status: "False" });
  expect(pool.condition("UpToDate")).toMatchObject({ status: "False", reason: "RollingOut" });
  expect(pool.plan().status?.phase).toBe("Scaling");
});

describe("new settings", () => {
  const ready = aPool()
    .withNodes(2)
    .with({ machines: [makeMachine("a"), makeMachine("b")] })
    .reconciled();
  const changed = ready.withSpec({ nodeLabels: { tier: "web" } });
  const applied = hashOfPool({ nodeLabels: { tier: "web" } });
  const given = changed.withCapi({ desired: 2, applied });
  const machine = (name: string) => makeMachine(name, {}, { applied });

  test.each([
    { what: "Cluster API was not given them", pool: changed },
    { what: "no node has them", pool: given },
    {
      what: "a node will be replaced for them",
      pool: given.with({
        machines: [
          machine("a"),
          makeMachine("b", { conditions: [makeCondition("UpToDate", "False")] }, { applied }),
        ],
      }),
    },
    {
      what: "a node was made from another template",
      pool: given.with({
        machines: [machine("a"), makeMachine("b", {}, { applied, isOfOtherTemplate: true })],
      }),
    },
    { what: "a node lacks them", pool: given.with({ machines: [machine("a"), makeMachine("b")] }) },
    {
      what: "Cluster API has not acted on them",
      pool: changed
        .withCapi({ desired: 2, applied, isGenerationObserved: false })
        .with({ machines: [machine("a"), machine("b")] }),
    },
  ])("are not called done while $what, nor scaling", ({ pool }) => {
    expect(pool.condition("UpToDate")).toMatchObject({ status: "False", reason: "Updating" });
    expect(pool.condition("Reconciling")).toMatchObject({ status: "True", reason: "Updating" });
    expect(pool.condition("Scaling")).toMatchObject({ status: "False" });
    expect(pool.plan()).toMatchObject({
      status: { phase: "Scaling" },
      events: [{ reason: "Updating", action: "Update" }],
    });
  });

  test("are done when every node has them, and a default of the platform that changes later undoes nothing", () => {
    const done = given.with({ machines: [machine("a"), machine("b")] }).reconciled();
    expect(done.status()).toMatchObject({ phase: "Ready", observedGeneration: 2 });
    const poolDefaults = { ...done.observed.poolDefaults, drainTimeoutSeconds: 1 };
    expect(done.with({ poolDefaults }).plan().status).toBeUndefined();
  });

  test("that Cluster API rejects are Stalled", () => {
    const problem = { reason: "RejectedByClusterAPI", message: "Too large." };
    const stalled = changed.withCluster({ problem });
    expect(stalled.condition("Stalled")).toMatchObject({ status: "True", reason: "RejectedByClusterAPI" });
    expect(stalled.condition("UpToDate")).toMatchObject({ status: "False", reason: "RejectedByClusterAPI" });
  });

  test("that need new nodes do not count the old ones as up to date when the rollout begins", () => {
    const old = { machines: [makeMachine("a"), makeMachine("b")] };
    const rolling = changed.withCapi({ desired: 2, applied, rollingOut: true });
    expect(rolling.with(old).condition("UpToDate")?.message).toContain("0 of 2 are up to date");
    const counted = rolling.with({ machines: [machine("a"), machine("b")] });
    expect(counted.condition("UpToDate")?.message).toBe("Nodes are being replaced one after another.");
  });
});

test("a change of size during an upgrade waits for the pool's turn", () => {
  const pool = aPool().withNodes(2).reconciled().withCluster(UPGRADING).withSpec({ desiredNodes: 4 });
  expect(pool.condition("Scaling")).toMatchObject({ status: "True", reason: "UpgradeInProgress" });
  expect(pool.condition("UpToDate")).toMatchObject({ status: "False", reason: "UpgradeInProgress" });
});

test("a pool without nodes does not wait in an upgrade", () => {
  const empty = aPool().withNodes(2).reconciled().withSpec({ desiredNodes: 0 }).withNodes(0).reconciled();
  const upgraded = empty.withCluster({ topologyVersion: "1.35.1", controlPlaneInitialized: true });
  expect(upgraded.condition("Reconciling")?.status ?? "False").toBe("False");
  expect(upgraded.reconciled().status()).toMatchObject({ phase: "Ready" });
  expect(upgraded.reconciled().status()).not.toHaveProperty("version");
});

test("the size of an autoscaled pool is the autoscaler's", () => {
  const pool = aPool({ minVCPUs: 2, maxVCPUs: 12, desiredNodes: 1 }).withNodes(3);
  expect(pool.plan().status).toMatchObject({ phase: "Ready", nodes: 3 });
  expect(pool.condition("Autoscaling")).toMatchObject({ status: "False", reason: "NotConfigured" });
});

test.each([
  { seconds: 299, status: "True" },
  { seconds: 301, status: "False" },
])("a node that is unhealthy for $seconds s leaves Ready $status", ({ seconds, status }) => {
  const pool = aPool().withNodes(2).reconciled().withUnhealthyNode().after(seconds);
  const condition = pool
    .reconciled()
    .status()
    ?.conditions?.find((it) => it.type === "Ready");
  expect(condition?.status).toBe(status);
});

test("all machines are listed, including unhealthy ones", () => {
  const pool = aPool()
    .withNodes(2)
    .with({ machines: [makeMachine("a")] });
  expect(pool.plan().status?.machines).toEqual([
    {
      name: "a",
      uid: "uid-a",
      node: "node-a",
      phase: "Running",
      ready: false,
      version: "1.34.2",
      createdAt: "2026-01-01T00:00:00.000Z",
      vcpus: 2,
      memoryGB: 4,
      diskGB: 20,
    },
  ]);
});

test("an object in the wrong place is Failed with the next step, and gets no id", () => {
  const plan = aPool()
    .fresh()
    .with({ organization: { kind: "unknown" } })
    .plan();
  expect(plan.metadata).toBeUndefined();
  expect(plan.status).toMatchObject({
    phase: "Failed",
    transitions: [{ type: "Failed", reason: "UnknownOrganization" }],
  });
  expect(plan.status?.message).toMatch(/^The object belongs to no organization\. Put/);
});

test.each([
  { what: "it has a MachineDeployment", change: { machineDeployment: capiPoolWith({ desired: 0 }) } },
  { what: "it has machines", change: { machines: [makeMachine("a")] } },
  { what: "Cluster API's topology still names it", change: { isOutsideTopology: false } },
])("a deleted pool keeps its finalizer while $what", ({ change }) => {
  const left = { machineDeployment: undefined, isOutsideTopology: true, ...change };
  const plan = aPool().withNodes(2).reconciled().deleting().with(left).plan();
  expect(plan).toMatchObject({ releaseFinalizer: false, status: { phase: "Deleting" } });
  expect(JSON.stringify(plan.status?.conditions)).not.toMatch(/no nodes yet|Scaling to/);
});

test("the finalizer of a deleted pool is released when nothing is left of it", () => {
  expect(aPool().deleting().plan()).toMatchObject({ releaseFinalizer: true, status: undefined });
});

test("a deleted pool that a finalizer of another holds shows no nodes", () => {
  const deleting = aPool().deleting();
  const pool = { ...deleting.observed.pool, status: { nodes: 2, machines: [] } };
  expect(deleting.with({ pool }).plan()).toMatchObject({ releaseFinalizer: true, status: { nodes: 0 } });
});

describe("a MachineDeployment that outlived Cluster API's cluster", () => {
  const left = capiPoolWith({ desired: 0 });
  const change = { machineDeployment: left, lacksCapiCluster: true };
  const pool = aPool().deleting().with(change);

  test("is deleted, and its pool waits for that", () => {
    const { remove, releaseFinalizer } = pool.plan();
    expect(remove).toMatchObject([{ verb: "delete", name: left.name, uid: left.uid }]);
    expect(releaseFinalizer).toBe(false);
  });

  test("blocks its pool for at most 30 s when its own finalizers block it, without an Event to tenants", () => {
    const held = pool.with({ machineDeployment: { ...left, deletedAt: pool.now.toISOString() } });
    expect(held.after(29).plan()).toMatchObject({
      remove: [],
      releaseFinalizer: false,
      requeueAfterMs: 1000,
    });
    expect(held.after(30).plan()).toMatchObject({ remove: [], releaseFinalizer: true, events: [] });
  });

  test.each([
    { what: "the pool is not being deleted", fixture: aPool().with(change) },
    { what: "Cluster API has its cluster", fixture: pool.with({ lacksCapiCluster: false }) },
    { what: "it has machines", fixture: pool.with({ machines: [makeMachine("a")] }) },
  ])("is left alone while $what", ({ fixture }) => {
    expect(fixture.plan()).toMatchObject({ remove: [], releaseFinalizer: false });
  });
});

test("a pool that a quota blocks is Stalled; its nodes keep running and are not waited for", () => {
  const blocker = { reason: "QuotaExceeded", message: "Too many." };
  const fresh = aPool().fresh().with({ blocker }).plan();
  expect(fresh.metadata).toMatchObject({ finalizer: FINALIZER });
  expect(fresh.status).toMatchObject({ phase: "Failed", message: "Too many." });

  const grown = aPool().withNodes(2).reconciled().withSpec({ desiredNodes: 9 }).with({ blocker });
  expect(grown.plan().status).toMatchObject({ phase: "Ready", message: "Too many.", nodes: 2 });
  expect(grown.condition("Ready")).toMatchObject(ready);
  expect(grown.condition("Scaling")).toMatchObject({ status: "False" });
  expect(grown.condition("Stalled")).toMatchObject({ status: "True", reason: "QuotaExceeded" });
  expect(grown.reconciled().with({ blocker: undefined }).condition("Stalled")).toBeUndefined();
});
