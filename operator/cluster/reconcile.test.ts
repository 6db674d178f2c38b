import { expect, test } from "vitest";
import type { Plan } from "../../shared/controller/plan.ts";
import { FINALIZER, LABEL_ID, LABEL_ORG_ID } from "../../shared/crd/names.ts";
import { type EngineCluster, engineClusterKind } from "../engine/kinds.ts";
import { CLUSTER_ID, enginePoolWith, makeClass, makeCondition, makePool, ORG, START } from "../testing.ts";
import { aCluster } from "../testing-cluster.ts";

const verbs = (plan: Plan<unknown>) =>
  [...plan.apply, ...plan.remove].map((step) => `${step.verb} ${step.kind.plural}`);
const applied = (plan: Plan<unknown>) =>
  plan.apply.find((step) => step.verb === "apply" && step.kind === engineClusterKind) as
    | { object: EngineCluster }
    | undefined;
const topology = (plan: Plan<unknown>) => applied(plan)?.object.spec?.topology;
const condition = (plan: Plan<{ conditions?: { type: string }[] | undefined }>, type: string) =>
  plan.status?.conditions?.find((it) => it.type === type);

test("a new cluster gets id, organization and finalizer, then its subnet, then Cluster API's object", () => {
  const plan = aCluster().plan();
  expect(plan.metadata).toEqual({
    labels: { [LABEL_ID]: CLUSTER_ID, [LABEL_ORG_ID]: ORG },
    finalizer: FINALIZER,
  });
  expect(verbs(plan)).toEqual(["create configmaps", "apply clusters"]);
  expect(topology(plan)).toMatchObject({
    version: "v1.34.2",
    classRef: { name: "standard-v1", namespace: "marina-system" },
    controlPlane: { replicas: 1 },
  });
});

test("the very first status carries observedGeneration and Ready", () => {
  const plan = aCluster().plan();
  expect(plan.status).toMatchObject({
    observedGeneration: 1,
    phase: "Provisioning",
    targetVersion: "1.34.2",
  });
  expect(condition(plan, "Ready")).toMatchObject({ status: "False", observedGeneration: 1 });
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
      .ready()
      .deleting()
      .withEngineConditions([makeCondition("Deleting", "True")])
      .reconciled(),
  },
])("a cluster that is $what and was reconciled needs nothing more", ({ fixture }) => {
  const deleted = fixture.observed.cluster.metadata.deletionTimestamp !== undefined;
  const plan = fixture.plan();
  expect(plan.metadata).toBeUndefined();
  expect(plan.status).toBeUndefined();
  expect(plan.events).toEqual([]);
  expect(plan.apply).toEqual([]);
  expect(plan.remove.map((step) => step.verb)).toEqual(deleted ? ["delete"] : []);
});

test("a cluster whose engine is done and whose endpoint answers is ready, once and for all", () => {
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
  { what: "the endpoint does not answer", probe: { ok: false, message: "ECONNREFUSED" } },
  { what: "the endpoint was not asked yet", probe: undefined },
])("a cluster is not ready while $what", ({ probe }) => {
  const plan = aCluster().reconciled().engineConverged().with({ probe }).plan();
  expect(condition(plan, "Ready")).toMatchObject({ status: "False", reason: "WaitingForEndpoint" });
});

test("a private cluster is ready without a word from its endpoint", () => {
  const fixture = aCluster({ publicEndpoint: false })
    .reconciled()
    .engineConverged()
    .with({ probe: undefined });
  const plan = fixture.plan();
  expect(plan.status?.phase).toBe("Ready");
  expect(plan.status).not.toHaveProperty("publicAddress");
  expect(condition(plan, "EndpointReachable")).toMatchObject({
    status: "Unknown",
    reason: "PrivateEndpoint",
  });
});

test("a new pool of a ready cluster is scaling, and the cluster stays ready", () => {
  const fixture = aCluster().withPools(makePool("web")).ready();
  const { pools } = fixture.observed;
  const added = {
    pool: makePool("db"),
    engine: undefined,
    engineDeleting: false,
    olderDuplicate: undefined,
    blocked: false,
    machines: [],
  };
  const plan = fixture.with({ pools: [...pools, added] }).plan();
  expect(topology(plan)?.workers?.machineDeployments?.map((pool) => pool.name)).toEqual(["web", "db"]);
  expect(plan.status?.phase).toBe("Scaling");
  expect(condition(plan, "Ready")).toMatchObject({ status: "True" });
});

test("a change of the pools alone leaves the network rules in force, one of the rules does not", () => {
  const fixture = aCluster().withPools(makePool("web")).ready();
  const { pools } = fixture.observed;
  const larger = pools.map((entry) => ({ ...entry, pool: makePool("web", { desiredNodes: 7 }) }));
  const scaled = fixture.with({ pools: larger });
  expect(topology(scaled.plan())?.workers?.machineDeployments).toMatchObject([{ replicas: 7 }]);
  expect(condition(scaled.plan(), "NetworkPolicyApplied")).toMatchObject({ status: "True" });
  const gone = scaled.with({ engine: undefined });
  expect(condition(gone.plan(), "NetworkPolicyApplied")).toMatchObject({ status: "False" });
  const narrowed = fixture.withSpec({ network: { authorizedCIDRs: ["198.51.100.0/24"] } });
  expect(condition(narrowed.plan(), "NetworkPolicyApplied")).toMatchObject({ status: "False" });
});

test.each([
  {
    what: "is being deleted",
    pool: makePool("db", {}, { deletionTimestamp: "2026-01-01T00:00:00Z" }),
    engineDeleting: false,
  },
  {
    what: "is not held by our finalizer yet",
    pool: makePool("db", {}, { finalizers: [] }),
    engineDeleting: false,
  },
  { what: "has a predecessor that Cluster API still removes", pool: makePool("db"), engineDeleting: true },
])("a pool that $what has no place in the topology", ({ pool, engineDeleting }) => {
  const fixture = aCluster().withPools(makePool("web"));
  const pools = [
    ...fixture.observed.pools,
    { pool, engine: undefined, engineDeleting, olderDuplicate: undefined, blocked: false, machines: [] },
  ];
  const names = topology(fixture.with({ pools }).plan())?.workers?.machineDeployments?.map((it) => it.name);
  expect(names).toEqual(["web"]);
});

test("a pool of somebody else in the topology is removed, and the owner is told", () => {
  const fixture = aCluster().withPools(makePool("web")).ready();
  const object = structuredClone(fixture.engineObject());
  object.spec?.topology?.workers?.machineDeployments?.push({ class: "default", name: "alien" });
  const plan = fixture.withEngine(object).plan();
  expect(plan.remove).toMatchObject([
    {
      verb: "patch",
      operations: [
        { op: "test", path: "/spec/topology/workers/machineDeployments/1/name", value: "alien" },
        { op: "remove", path: "/spec/topology/workers/machineDeployments/1" },
      ],
    },
  ]);
  expect(plan.events).toMatchObject([{ reason: "ForeignNodePoolRemoved", type: "Warning" }]);
});

test("what a person changed in Cluster API's object is set right", () => {
  const fixture = aCluster().withPools(makePool("web")).ready();
  const object = structuredClone(fixture.engineObject());
  const pool = object.spec?.topology?.workers?.machineDeployments?.[0];
  if (pool !== undefined) pool.replicas = 9;
  expect(verbs(fixture.withEngine(object).plan())).toEqual(["apply clusters"]);
});

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
])("in $what nothing is made, and the owner is told: $reason", ({ change, reason }) => {
  const plan = aCluster().with(change).plan();
  expect(verbs(plan)).toEqual([]);
  expect(plan.status).toMatchObject({ phase: "Failed" });
  expect(plan.status?.message).toBeTruthy();
  expect(condition(plan, "Stalled")).toMatchObject({ status: "True", reason });
  expect(condition(plan, "Reconciling")).toMatchObject({ status: "False" });
  expect(plan.events).toMatchObject([{ reason, type: "Warning" }]);
  expect(plan.status?.transitions).toMatchObject([{ type: "Failed", reason }]);
});

test.each([
  { what: "an unknown plan", reason: "UnknownPlan", spec: { plan: "gold" } },
  { what: "a version out of the catalogue", reason: "UnknownVersion", spec: { version: "1.20" } },
])("$what is the owner's to change: $reason", ({ spec, reason }) => {
  const plan = aCluster(spec).plan();
  expect(verbs(plan)).toEqual([]);
  expect(condition(plan, "Stalled")).toMatchObject({ status: "True", reason });
});

test.each([
  { what: "a private endpoint", spec: { publicEndpoint: false } },
  { what: "authorized CIDRs", spec: { network: { authorizedCIDRs: ["198.51.100.0/24"] } } },
  {
    what: "a rate limit",
    spec: { network: { apiServerRateLimit: { maxConnectionsPerSecond: 1, burst: 1 } } },
  },
])("a class that cannot carry $what gets nothing more open instead", ({ spec }) => {
  const classes = new Map([["marina-system/standard-v1", makeClass(["workerSubnet"])]]);
  const plan = aCluster(spec).with({ classes }).plan();
  expect(verbs(plan)).toEqual([]);
  expect(condition(plan, "Stalled")).toMatchObject({ reason: "UnsupportedByClass" });
});

test("a running cluster whose change is refused goes on serving, and says what was refused", () => {
  const fixture = aCluster()
    .ready()
    .withSpec({ network: { authorizedCIDRs: ["198.51.100.0/24"] } });
  const refused = fixture.with({
    applyFailure: { kind: "rejected", message: "spec: Invalid value" },
  });
  const plan = refused.plan();
  expect(plan.apply).toEqual([]);
  expect(plan.status).toMatchObject({
    phase: "Ready",
    message: expect.stringContaining("spec: Invalid value"),
  });
  expect(condition(plan, "Stalled")).toMatchObject({ status: "True", reason: "RejectedByClusterAPI" });
  expect(condition(plan, "NetworkPolicyApplied")).toMatchObject({ status: "False" });
  expect(plan.requeueAfterMs).toBe(60_000);
});

test("an engine that does not answer is waited for, nobody is asked to act", () => {
  const plan = aCluster()
    .with({ applyFailure: { kind: "unavailable", message: "failed calling webhook" } })
    .plan();
  expect(plan.status?.phase).toBe("Provisioning");
  expect(condition(plan, "Ready")).toMatchObject({ status: "False", reason: "ClusterAPIUnavailable" });
  expect(condition(plan, "Stalled")).toMatchObject({ status: "False" });
});

test("a late refusal counts only when it stands", () => {
  const failed = makeCondition("TopologyReconciled", "False", {
    reason: "ReconcileFailed",
    message: "no such thing",
  });
  const fixture = aCluster().ready().withEngineConditions([failed]);
  expect(fixture.after(5).plan().status).toBeUndefined();
  expect(fixture.after(5).plan().requeueAfterMs).toBe(10_000);
  const stalled = condition(fixture.after(20).plan(), "Stalled");
  expect(stalled).toMatchObject({
    status: "True",
    reason: "RejectedByClusterAPI",
    message: expect.stringContaining("no such thing"),
  });
});

test("a wait has no words for a minute, then the cause", () => {
  const fixture = aCluster().reconciled();
  expect(fixture.after(30).plan().requeueAfterMs).toBe(25_000);
  expect(fixture.after(30).reconciled().observed.cluster.status?.message).toBeUndefined();
  expect(fixture.after(61).plan().status?.message).toMatch(
    /^The control plane of demo is being provisioned\./,
  );
});

test("an upgrade goes one version at a time and says when it is through", () => {
  const asked = aCluster().withPools(makePool("web")).ready().withSpec({ version: "1.35" });
  expect(topology(asked.plan())?.version).toBe("v1.35.1");
  expect(asked.plan().status).toMatchObject({
    phase: "Upgrading",
    targetVersion: "1.35.1",
    version: "1.34.2",
  });
  const done = asked.reconciled().engineConverged().reconciled();
  expect(done.observed.cluster.status).toMatchObject({ phase: "Ready", version: "1.35.1" });
  expect(done.observed.cluster.status?.transitions?.at(-1)).toMatchObject({
    type: "Upgraded",
    version: "1.35.1",
    previousVersion: "1.34.2",
  });
});

test("a pool can change while an upgrade is under way", () => {
  const asked = aCluster().withPools(makePool("web")).ready().withSpec({ version: "1.35" }).reconciled();
  const rolling = asked.withEngineConditions([makeCondition("RollingOut", "True")]);
  const plan = rolling.withPools(makePool("web", { desiredNodes: 5 })).plan();
  expect(topology(plan)).toMatchObject({ version: "v1.35.1" });
  expect(topology(plan)?.workers?.machineDeployments?.[0]?.replicas).toBe(5);
});

test("another class for a plan is taken along with an upgrade, not before", () => {
  const ready = aCluster().ready();
  const classes = new Map([...ready.observed.classes, ["marina-system/standard-v2", makeClass()]]);
  const plans = { default: { class: "standard-v2", namespace: "marina-system", controlPlaneReplicas: 1 } };
  const mapped = ready.with({ classes, settings: { ...ready.observed.settings, plans } });
  expect(verbs(mapped.plan())).toEqual([]);
  expect(topology(mapped.withSpec({ version: "1.35" }).plan())?.classRef.name).toBe("standard-v2");
});

test("an engine cluster of the same name that is not ours is left alone", () => {
  const fixture = aCluster();
  const stranger = {
    apiVersion: "cluster.x-k8s.io/v1beta2",
    kind: "Cluster",
    metadata: { name: "demo", uid: "x" },
  };
  const plan = fixture.withEngine(stranger).plan();
  expect(verbs(plan)).toEqual([]);
  expect(condition(plan, "Stalled")).toMatchObject({ reason: "NameTaken" });
});

test("deleting removes the pools and Cluster API's cluster, and holds on until both are gone", () => {
  const fixture = aCluster().withPools(makePool("web")).ready().deleting();
  const plan = fixture.plan();
  expect(verbs(plan)).toEqual(["delete nodepools", "delete clusters"]);
  expect(plan.status?.phase).toBe("Deleting");
  expect(plan.releaseFinalizer).toBe(false);
  const poolsLeft = fixture.with({ engine: undefined }).plan();
  expect(poolsLeft.releaseFinalizer).toBe(false);
});

test("deleting leaves a Cluster API cluster of that name alone that is somebody else's", () => {
  const fixture = aCluster().ready().deleting();
  const engine = fixture.engineObject();
  const stranger = { ...engine, metadata: { ...engine.metadata, ownerReferences: [], labels: {} } };
  const plan = fixture.withEngine(stranger).plan();
  expect(verbs(plan)).toEqual(["delete configmaps"]);
  expect(plan.releaseFinalizer).toBe(true);
});

test("a pool that is being deleted is nothing that the cluster waits for", () => {
  const pool = makePool("web", {}, { deletionTimestamp: START.toISOString() });
  const engine = enginePoolWith({ desired: 2, nodes: 1 });
  const leftovers = { engineDeleting: false, olderDuplicate: undefined, blocked: false, machines: [] };
  const plan = aCluster()
    .ready()
    .with({ pools: [{ pool, engine, ...leftovers }] })
    .plan();
  expect(plan.status).toMatchObject({ phase: "Ready", nodes: { total: 1 } });
  expect(condition(plan, "WorkersReady")).toMatchObject({ status: "True" });
});

test("a deletion reports its progress", () => {
  const deleting = aCluster().withPools(makePool("web")).ready().deleting();
  const idle = deleting
    .withEngineConditions([makeCondition("Deleting", "False", { reason: "NotDeleting" })])
    .plan();
  expect(condition(idle, "Ready")).toMatchObject({
    message: "The deletion is being passed on to Cluster API.",
  });
  const engine = deleting.engineObject();
  const metadata = { ...engine.metadata, deletionTimestamp: START.toISOString() };
  const started = deleting.withEngine({ ...engine, metadata }).plan();
  expect(condition(started, "Ready")).toMatchObject({ message: "Cluster API is deleting the cluster." });
  expect(condition(idle, "NetworkPolicyApplied")).toMatchObject({ status: "True" });
  const reason = "WaitingForWorkersDeletion";
  const busy = deleting.withEngineConditions([makeCondition("Deleting", "True", { reason })]).plan();
  expect(condition(busy, "Ready")).toMatchObject({
    message: expect.stringMatching(/^Cluster API is deleting the cluster: /),
  });
  const gone = deleting.with({ engine: undefined }).plan();
  expect(condition(gone, "ControlPlaneReady")).toMatchObject({ message: "The control plane is deleted." });
  expect(condition(gone, "NetworkPolicyApplied")).toMatchObject({ status: "False" });
});

test("when nothing is left the subnet is given back and the cluster let go", () => {
  const plan = aCluster().ready().deleting().with({ engine: undefined }).plan();
  expect(verbs(plan)).toEqual(["delete configmaps"]);
  expect(plan.releaseFinalizer).toBe(true);
  expect(plan.status).toBeUndefined();
});

test("a cluster that never got a finalizer is not held up", () => {
  const plan = aCluster().deleting().plan();
  expect(verbs(plan)).toEqual([]);
  expect(plan.releaseFinalizer).toBe(false);
});

test("a cluster with an older duplicate leaves the twin its subnet", () => {
  const twin = aCluster().ready().deleting().with({ engine: undefined, olderDuplicate: "other/demo" });
  expect(verbs(twin.plan())).toEqual([]);
  expect(twin.plan().releaseFinalizer).toBe(true);
});
