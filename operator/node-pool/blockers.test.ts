import { describe, expect, test } from "vitest";
import type { MachineState } from "../capi/pool-state.ts";
import { aPool, makeMachine, type PoolFixture } from "./testing.ts";

const quota = {
  reason: "QuotaExceeded",
  message: "A quota of the platform stands in the way. Ask for more.",
};

test("a new pool whose cluster Cluster API rejects is Failed, with the reason", () => {
  const plan = aPool().withCluster({ problem: quota }).plan();
  expect(plan.status).toMatchObject({
    phase: "Failed",
    transitions: [{ type: "Failed", reason: "QuotaExceeded" }],
  });
  expect(plan.status?.message).toBe(`The node pool web cannot be changed: ${quota.message}`);
  const pool = aPool().withCluster({ problem: quota });
  for (const type of ["Ready", "Stalled"]) {
    expect(pool.condition(type)).toMatchObject({ reason: "QuotaExceeded", message: plan.status?.message });
  }
  expect(pool.condition("Reconciling")).toMatchObject({ status: "False" });
  expect(plan.events).toMatchObject([{ type: "Warning", note: expect.stringContaining(quota.message) }]);
});

test("a running pool whose change is rejected is Stalled with a Warning and stays Ready", () => {
  const pool = aPool()
    .withNodes(2)
    .reconciled()
    .withSpec({ desiredNodes: 4 })
    .withCluster({ problem: quota });
  expect(pool.condition("Ready")).toMatchObject({ status: "True" });
  expect(pool.condition("Scaling")).toMatchObject({ status: "True", reason: "QuotaExceeded" });
  expect(pool.condition("Stalled")).toMatchObject({ status: "True", reason: "QuotaExceeded" });
  expect(pool.plan().status).toMatchObject({
    phase: "Scaling",
    message: expect.stringContaining("Ask for more"),
  });
  expect(pool.plan().events).toMatchObject([
    { type: "Normal" },
    { type: "Warning", reason: "QuotaExceeded" },
  ]);
  const over = pool.reconciled().withCluster({ problem: undefined });
  expect(over.condition("Stalled")).toBeUndefined();
  expect(over.condition("Reconciling")).toMatchObject({ status: "True", reason: "Scaling" });
});

describe("what a quota or another blocker holds back is not up to date", () => {
  const blocker = { reason: "QuotaExceeded", message: "Too many. Ask for more." };
  const size = { vcpus: 2, memoryGB: 4, diskGB: 20 };
  const machines = [makeMachine("a"), makeMachine("b")].map((machine) => ({ ...machine, size }));
  const running = aPool().withNodes(2).with({ machines }).reconciled();
  const { machineDeployment } = running.observed;
  const larger = running.withSpec({ vcpus: 8 }).with({ blocker, machineDeployment });

  test.each<[string, PoolFixture, number]>([
    ["another size of its nodes", larger, 0],
    ["more nodes", running.withSpec({ desiredNodes: 9 }).with({ blocker }), 2],
    ["wider bounds of its autoscaler", running.withSpec({ maxVCPUs: 64 }).with({ blocker }), 2],
  ])("%s: the pool runs on, is Ready, and nothing of it changes", (_what, pool, upToDateNodes) => {
    expect(pool.condition("UpToDate")).toMatchObject({ status: "False", ...blocker });
    expect(pool.condition("Ready")).toMatchObject({ status: "True" });
    expect(pool.condition("Reconciling")).toMatchObject({ status: "False", ...blocker });
    expect(pool.plan().status).toMatchObject({ phase: "Ready", upToDateNodes, nodes: 2 });
  });

  test("once it may be made, it is not up to date before the nodes have it", () => {
    const admitted = larger.reconciled().with({ blocker: undefined });
    expect(admitted.condition("UpToDate")).toMatchObject({ status: "False", reason: "Updating" });
    expect(admitted.plan().status?.phase).toBe("Scaling");
  });

  test("of a pool without nodes nothing is known", () => {
    const [held, fresh] = [aPool().with({ blocker }), aPool()];
    expect(held.condition("UpToDate")).toMatchObject({ status: "Unknown", ...blocker });
    expect(held.condition("Scaling")).toMatchObject({ status: "Unknown", reason: blocker.reason });
    expect(fresh.condition("Scaling")).toMatchObject({ status: "Unknown", reason: "WaitingForNodes" });
  });

  test("the autoscaler keeps the pool within the bounds that it has, not within those that are held back", () => {
    const autoscaler = { configured: true, deployment: { available: { status: "True" } } };
    const scale = { kind: "autoscaled" as const, minNodes: 1, maxNodes: 6 };
    const topologyPool = { scale, machineSize: undefined, appliedHash: undefined };
    const wider = running.withSpec({ maxVCPUs: 64 }).with({ blocker, autoscaler });
    const message = (pool: PoolFixture) => pool.condition("Autoscaling")?.message;
    expect(message(wider.with({ topologyPool }))).toContain("between 1 and 6 nodes");
    expect(message(wider)).toContain("between 1 and 32 nodes");
  });

  test("of one that is deleted it does not matter any more", () => {
    expect(larger.deleting().condition("UpToDate")).toMatchObject({ status: "True" });
  });
});

test.each([
  {
    what: "a pool in its desired state",
    pool: aPool().withNodes(2).reconciled().withCluster({ problem: quota }),
  },
  {
    what: "a pool of a cluster with a problem of its own",
    pool: aPool().withCluster({ problem: { reason: "UnknownPlan", message: "no such plan" } }),
  },
  { what: "a pool that is deleted", pool: aPool().withCluster({ problem: quota, deleting: true }) },
])("$what is not Stalled by it", ({ pool }) => {
  expect(pool.condition("Stalled")).toBeUndefined();
});

const stall = (reason: string) => ({
  problem: { reason, message: "It has to be changed." },
  controlPlaneInitialized: true,
});
const live = {
  topologyPool: { scale: { kind: "fixed", nodes: 2 }, machineSize: undefined, appliedHash: undefined },
} as const;

test.each<[string, PoolFixture, string]>([
  ["whose upgrade is blocked is made", aPool().withCluster(stall("UpgradeBlocked")), "WaitingForNodes"],
  ["with an unknown version is made", aPool().withCluster(stall("UnknownVersion")), "WaitingForNodes"],
  [
    "that is not made for its version waits",
    aPool().withCluster({ ...stall("UnknownVersion"), topologyVersion: undefined }),
    "WaitingForCluster",
  ],
  [
    "about which nothing can be decided waits",
    aPool().withCluster(stall("ClassNotFound")),
    "WaitingForCluster",
  ],
  [
    "whose topology has it already is made",
    aPool().withCluster(stall("ClassNotFound")).with(live),
    "WaitingForNodes",
  ],
  [
    "that Cluster API took beside a rejected upgrade is made",
    aPool().withCluster(stall("RejectedByClusterAPI")).with(live),
    "WaitingForNodes",
  ],
  [
    "that is rejected itself waits",
    aPool().with({ unapplied: { reason: "RejectedByClusterAPI", message: "No such size. Change it." } }),
    "RejectedByClusterAPI",
  ],
])("a new pool of a stalled cluster %s, and says so", (_what, pool, reason) => {
  const ready = pool.condition("Ready");
  expect(ready).toMatchObject({ status: "False", reason });
  expect(ready?.message.includes("is stalled")).toBe(reason === "WaitingForCluster");
});

test("labels that Cluster API does not sync are reported once the nodes exist, and the pool stays ready; it is not up to date while it scales", () => {
  const nodeLabels = { tier: "gold", "example.com/rack": "7", "node-role.kubernetes.io/worker": "" };
  const syncedNodeLabels = /^example\.com\//;
  const pool = aPool({ nodeLabels }).with({ syncedNodeLabels });
  expect(pool.condition("Stalled")).toBeUndefined();
  const there = pool.withNodes(2);
  expect(there.condition("Ready")).toMatchObject({ status: "True" });
  expect(there.condition("Stalled")).toMatchObject({ status: "True", reason: "LabelsNotPropagated" });
  expect(there.condition("UpToDate")).toMatchObject({ status: "False", reason: "LabelsNotPropagated" });
  expect(there.plan().status?.message).toMatch(
    /of the node pool web to its nodes: tier\. Leave them out, or ask/,
  );
  expect(there.with({ syncedNodeLabels: /.*/ }).condition("Stalled")).toBeUndefined();
  const scaling = there.reconciled().withSpec({ desiredNodes: 3 });
  expect(scaling.condition("UpToDate")).toMatchObject({ status: "False", reason: "LabelsNotPropagated" });
});

test.each([
  {
    stage: "drain",
    reason: "DrainingNode",
    // It has words of ours, which decide nothing.
    cause: "It is drained, and the infrastructure deletes its machine: 1 Pod left",
    next: /^.*Node node-held is being drained: It is .*: 1 Pod left\. Let these Pods be evicted, .*; after 45 s its machine is deleted all the same/,
  },
  {
    stage: "volumes",
    reason: "WaitingForVolumeDetach",
    cause: "PersistentVolumeClaim data",
    next: /Node node-held is drained and waits for its volumes: PersistentVolumeClaim data\. Delete .*; after 60 s its machine is deleted all the same/,
  },
  {
    stage: "infrastructure",
    reason: undefined,
    cause: "Waiting for VSphereMachine to be deleted",
    next: /Node node-held is drained, and the infrastructure deletes its machine: .*\. If this lasts, ask/,
  },
  {
    stage: "other",
    reason: "MachineNotReleased",
    cause: "hooks",
    next: /Node node-held is being deleted: hooks\. If this lasts, ask/,
  },
] as const)(
  "a node that does not leave, for its $stage: the pool names it, the cause and the next step within a minute, when it is deleted, scaled or rolled",
  ({ stage, reason, cause, next }) => {
    const held = { node: "node-held", deletion: { stage, cause } };
    const running = aPool({ drainTimeoutSeconds: 45 }).withNodes(2).reconciled();
    const changes = [
      running.deleting(),
      running.withSpec({ desiredNodes: 1 }).withCapi({ desired: 1, nodes: 2, ready: 2 }),
      running.withCapi({ desired: 2, nodes: 3, ready: 2, rollingOut: true }),
    ];
    const reported = changes.map((change) => change.withMachine(held).reconciled().after(56));
    for (const pool of reported) expect(pool.plan().status?.message).toMatch(next);
    const [deleted = running, scaled = running] = reported;
    expect(deleted.plan().events).toMatchObject(reason === undefined ? [] : [{ type: "Warning", reason }]);
    expect(scaled.plan().events).toMatchObject([{ type: reason ? "Warning" : "Normal" }]);
    const later = deleted.reconciled().after(60);
    const eventsWith = (deletion: MachineState["deletion"]) =>
      later.withMachine({ ...held, deletion }).plan().events;
    expect([cause, "another one"].flatMap((changed) => eventsWith({ stage, cause: changed }))).toEqual([]);
    const other = stage === "drain" ? "volumes" : "drain";
    expect(eventsWith({ stage: other, cause })).toMatchObject([{ type: "Warning" }]);
  },
);

test("of several nodes that leave, one is named that waits for its tenant", () => {
  const stages = ["infrastructure", "other", "volumes", "drain"] as const;
  const machines = stages.map((stage) => ({ ...makeMachine(stage), deletion: { stage, cause: stage } }));
  for (const [index, stage] of stages.entries()) {
    const pool = aPool().with({ machines: machines.slice(0, index + 1) });
    const ready = pool.deleting().condition("Ready");
    expect(ready?.message).toMatch(new RegExp(`Node node-${stage} .*: ${stage}\\. `));
  }
});

test("messages call a pool and its cluster what their owner calls them", () => {
  const problem = { reason: "RejectedByClusterAPI", message: "It is rejected. Change it." };
  const named = aPool({ displayName: "Web" }).withCluster({ name: "Shop", problem });
  expect(named.condition("Stalled")?.message).toMatch(/^The node pool Web cannot be changed: /);
  const lost = named.withCluster({ problem: { reason: "InfrastructureLost", message: "It is gone." } });
  expect(lost.condition("Stalled")?.message).toMatch(/^The cluster Shop is lost: /);
});
