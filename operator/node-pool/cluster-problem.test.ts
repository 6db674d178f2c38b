import { describe, expect, test } from "vitest";
import type { ClusterSpec } from "../../shared/crd/cluster.ts";
import { CONDITION_REASONS } from "../../shared/crd/conditions.ts";
import type { NodePoolSpec } from "../../shared/crd/node-pool.ts";
import { PAUSED } from "../capi/tenant-messages.ts";
import { readTopologyPools } from "../capi/worker-pool.ts";
import { conditionOf, topologyOf } from "../cluster/testing-plan.ts";
import { makeCondition, makePool } from "../testing.ts";
import { aCluster, type ClusterFixture } from "../testing-cluster.ts";
import { BLOCKING, clusters } from "../testing-reasons.ts";
import { observeClusterOfPool } from "./observe.ts";
import { aPool, makeMachine, type PoolFixture } from "./testing.ts";

type StalledReason = (typeof CONDITION_REASONS.stalled)[number];

const PLAN = { plan: "production" };
const ready = (spec: Partial<ClusterSpec> = {}) => aCluster(spec).withPools(makePool("web")).ready();
const withSettings = (fixture: ClusterFixture, change: object) =>
  fixture.with({ settings: { ...fixture.observed.settings, ...change } });
const rejected = (message: string) => ready().with({ applyFailure: { kind: "rejected", message } });
const withoutWorkers = () => {
  const fixture = ready();
  const classes = [...fixture.observed.classes].map(([name, one]) => [
    name,
    { ...one, workerClass: undefined },
  ]);
  return fixture.with({ classes: new Map(classes as [string, never][]) });
};
const restored = (fixture: ClusterFixture) => {
  const { cluster } = fixture.observed;
  return fixture.with({ cluster: { ...cluster, metadata: { ...cluster.metadata, uid: "uid-new" } } });
};
const unconfirmed = () => {
  const { status: _, ...cluster } = restored(ready()).observed.cluster;
  const { annotations: __, ...metadata } = cluster.metadata;
  return ready().with({ cluster: { ...cluster, metadata } });
};
/** A webhook rejects the upgrade, and all else, by one text. */
const bothRejected = new Map([
  ["version", "no"],
  ["unknown", "no"],
] as const);
const tainted = makePool("gpu", { nodeTaints: [{ key: "gpu", effect: "NoSchedule" }] });

/** Clusters that Cluster API has, by their problem; none = only one that was never made has it, or only a pool. */
const made: Record<StalledReason, ClusterFixture[]> = {
  DuplicateID: [ready().with({ olderDuplicate: "other/demo" })],
  DuplicateName: [],
  DuplicateOrganization: [ready().with({ organization: { kind: "duplicate", namespace: "old" } })],
  UnknownOrganization: [ready().with({ organization: { kind: "unknown" } })],
  UnknownPlan: [withSettings(ready(PLAN), { servicePlans: {} }).withSpec({ version: "1.35" })],
  PlanRetired: [],
  ReplicasNotInPlan: [
    ready(PLAN)
      .with({ packages: { production: { controlPlaneReplicas: 3 } } })
      .withSpec({ controlPlaneReplicas: 5 }),
  ],
  UnknownVersion: [ready().withSpec({ version: "1.99" })],
  DowngradeRefused: [ready().withSpec({ version: "1.33.6" })],
  UpgradeBlocked: [
    ready()
      .withSpec({ version: "1.35", upgradeChecks: "Enforce" })
      .with({ upgradeChecks: [BLOCKING] }),
  ],
  UnsupportedByClass: [withoutWorkers()],
  RejectedByClusterAPI: [
    rejected("spec.topology: no"),
    ready().with({ rejected: new Map([["unknown", "no"]]) }),
    ready().withSpec({ version: "1.35" }).with({ rejected: bothRejected, upgradeRejection: "no" }),
  ],
  ClassNotFound: [ready().with({ classes: new Map() })],
  NoFreeSubnet: [ready().with({ subnets: { own: undefined, taken: takenBy(ready()) } })],
  NetworksOverlap: [],
  AuthorizedCIDRsUnavailable: [
    withSettings(ready(), { platformCIDRs: [] }).withSpec({
      network: { authorizedCIDRs: ["203.0.113.0/24"] },
    }),
  ],
  NameTaken: [],
  NodePoolsMissing: [
    restored(aCluster().withPools(makePool("web"), makePool("db")).ready()).withPools(makePool("web")),
  ],
  InfrastructureLost: [ready().with({ lostParts: ["control plane"] }), ready().with({ capi: undefined })],
  WaitingForIdentity: [unconfirmed()],
  LabelsNotPropagated: [],
  TaintsUnavailable: [
    ready()
      .withPools(makePool("web"), tainted)
      .with({ rejected: new Map([["taints", "not here"]]) }),
  ],
  QuotaExceeded: [rejected("is forbidden: exceeded quota: small, used: 3, limited: 3")],
  Expired: [],
};

function takenBy({ observed }: ClusterFixture): Set<string> {
  return new Set([observed.cluster.status?.workerSubnet ?? ""]);
}

/** The pool web of the cluster, changed there or deleted. */
function change(fixture: ClusterFixture, spec: Partial<NodePoolSpec> | "deleted"): ClusterFixture {
  const deleted = { ...makePool("web").metadata, deletionTimestamp: fixture.now.toISOString() };
  const pool = spec === "deleted" ? { ...makePool("web"), metadata: deleted } : makePool("web", { ...spec });
  const pools = fixture.observed.pools.map((one) =>
    one.pool.metadata.name === "web" ? { ...one, pool } : one,
  );
  return fixture.with({ pools });
}

/** The pool web, once its cluster was reconciled: it has two nodes, and nothing of it has changed yet. */
function poolOf(fixture: ClusterFixture): PoolFixture {
  const { cluster, capi } = fixture.observed;
  const status = fixture.plan().status ?? cluster.status;
  return aPool()
    .withNodes(2)
    .with({ machines: [makeMachine("a"), makeMachine("b")] })
    .reconciled()
    .with({
      cluster: observeClusterOfPool({ ...cluster, ...(status && { status }) }, capi?.state),
      topologyPool: readTopologyPools(capi?.object).get("web"),
    });
}

function entryOf(fixture: ClusterFixture) {
  const topology = topologyOf(fixture.plan()) ?? fixture.observed.capi?.object.spec?.topology;
  return topology?.workers?.machineDeployments?.find(({ name }) => name === "web");
}

function problemOf(fixture: ClusterFixture) {
  const { conditions } = fixture.plan().status ?? fixture.observed.cluster.status ?? {};
  return conditions?.find(({ type }) => type === "Stalled");
}

const rows = Object.entries(made).flatMap(([reason, fixtures]) =>
  fixtures.map((fixture, index) => [reason, index + 1, fixture] as const),
);

describe.each(rows)("a pool of a cluster that is stalled for %s (%i)", (reason, _index, fixture) => {
  const problem = problemOf(fixture);
  const expectCause = (pool: PoolFixture, isHeld: boolean, type: string) => {
    expect(pool.condition(type)?.reason === reason).toBe(isHeld);
    if (!isHeld) return;
    for (const one of [type, "Reconciling", "Stalled"])
      expect(pool.condition(one)).toMatchObject({
        reason,
        message: expect.stringContaining(problem?.message ?? "-"),
      });
  };

  test("has this problem", () => {
    expect(problem).toMatchObject({ status: "True", reason });
  });

  test.each([
    ["its size", "Scaling", { desiredNodes: 5 }, 5],
    ["its settings", "UpToDate", { drainTimeoutSeconds: 90 }, 90],
  ] as const)("names it for a change of %s exactly where that is not applied", (_, type, spec, wanted) => {
    const changed = change(fixture, spec);
    const entry = entryOf(changed);
    const isApplied = [entry?.replicas, entry?.deletion?.nodeDrainTimeoutSeconds].includes(wanted);
    expectCause(poolOf(changed).withSpec(spec), !isApplied, type);
  });

  test("names it for its deletion exactly where Cluster API keeps it, and not while that may be passed on", () => {
    const deleted = change(fixture, "deleted");
    for (const seconds of [-30, 39])
      expect(poolOf(deleted).deleting().after(seconds).condition("Stalled")).toBeUndefined();
    const pool = poolOf(deleted.reconciled()).deleting().after(40);
    expect(pool.condition("Ready")?.reason).toBe("Deleting");
    expect(pool.plan().status?.phase).toBe("Deleting");
    const isKept = entryOf(deleted) !== undefined;
    const [ready, reconciling] = [pool.condition("Ready"), pool.condition("Reconciling")];
    const named = [
      pool.condition("Stalled")?.reason === reason,
      ready?.message.includes(problem?.message ?? "-") === true,
      reconciling?.status === "False" && reconciling.reason === reason,
    ];
    expect(named).toEqual([isKept, isKept, isKept]);
    // The clock of another operator is behind.
    const { conditions } = pool.reconciled().after(-60).reconciled().status() ?? {};
    expect(conditions?.some((it) => it.type === "Stalled" && it.reason === reason)).toBe(isKept);
  });
});

test.each(Object.entries(made).filter(([, fixtures]) => fixtures.length === 0))(
  "a cluster with the problem %s that was never made makes no pool, which says so; else only a pool has the problem",
  (reason) => {
    const found = clusters.filter(([given]) => given === reason);
    expect(found).toHaveLength(reason === "LabelsNotPropagated" ? 0 : 1);
    for (const [, fixture] of found) {
      const cluster = fixture.withPools(makePool("web"));
      expect(topologyOf(cluster.plan())).toBeUndefined();
      const { cluster: ofPool, topologyPool } = poolOf(cluster).observed;
      const fresh = aPool().with({ cluster: ofPool, topologyPool });
      expect(fresh.condition("Ready")?.message).toContain(problemOf(cluster)?.message);
    }
  },
);

test("a pool of a cluster whose deletion Cluster API rejects waits for that", () => {
  const deleting = change(ready(), "deleted").deleting();
  const failed = deleting.with({ applyFailure: { kind: "rejected", message: "denied by policy" } });
  const { cluster } = failed.observed;
  const metadata = { ...cluster.metadata, generation: 2 };
  const fresh = poolOf(failed.with({ cluster: { ...cluster, metadata } })).deleting();
  expect(fresh.plan().requeueAfterMs).toBe(40_000);
  const pool = fresh.after(40);
  const { machineDeployment: live } = pool.observed;
  const goes = pool.with({ machineDeployment: live && { ...live, deletedAt: pool.now.toISOString() } });
  expect(goes.condition("Stalled")).toBeUndefined();
  const message = expect.stringMatching(
    /^The node pool is deleted with the cluster demo\. .*denied by policy\. Ask/,
  );
  expect(pool.condition("Ready")).toMatchObject({ reason: "Deleting", message });
  expect(pool.condition("Stalled")).toMatchObject({ reason: "RejectedByClusterAPI", message });
});

test("what a cluster was stalled for before its deletion keeps none of its pools", () => {
  const stalled = ready().with({ classes: new Map() }).reconciled();
  const { metadata, status } = stalled.observed.cluster;
  const deleted = { ...metadata, generation: 2, deletionTimestamp: stalled.now.toISOString() };
  const { cluster } = stalled.observed;
  expect(status?.conditions?.some(({ type }) => type === "Stalled")).toBe(true);
  expect(observeClusterOfPool({ ...cluster, metadata: deleted }, undefined)?.problem).toBeUndefined();
});

describe("while Cluster API is paused by hand, nothing is being done about", () => {
  const paused = (fixture: ClusterFixture) => fixture.withCapiConditions([makeCondition("Paused", "True")]);
  const pool = poolOf(paused(ready()));
  const rolling = pool.withCapi({ desired: 2, nodes: 3, ready: 2, rollingOut: true });
  const fresh = aPool().with({ cluster: pool.observed.cluster });

  test.each<[string, PoolFixture, string[]]>([
    ["another size", pool.withSpec({ desiredNodes: 5 }), ["Scaling", "Reconciling"]],
    ["other settings", pool.withSpec({ vcpus: 8 }), ["UpToDate", "Reconciling"]],
    ["a replacement of nodes", rolling, ["UpToDate", "Reconciling"]],
    ["an upgrade", pool.withCluster({ topologyVersion: "1.35.1" }), ["UpToDate", "Reconciling"]],
    ["a deletion", pool.deleting(), ["Reconciling"]],
    ["the creation", fresh, ["Ready", "UpToDate", "Reconciling"]],
  ])("%s of a pool, which says so", (_, changed, types) => {
    for (const type of types)
      expect(changed.condition(type)).toMatchObject({
        reason: "Paused",
        message: expect.stringContaining(PAUSED),
      });
  });

  test("an upgrade of a cluster, which says so", () => {
    const plan = paused(ready().withSpec({ version: "1.35" }).reconciled()).plan();
    const upgrading = { status: "True", reason: "Paused", message: expect.stringContaining(PAUSED) };
    expect(conditionOf(plan, "Upgrading")).toMatchObject(upgrading);
    expect(conditionOf(plan, "Reconciling")).toMatchObject({ status: "True", reason: "Paused" });
  });
});

test("every problem of a cluster has a row", () => {
  expect(Object.keys(made).sort()).toEqual([...CONDITION_REASONS.stalled].sort());
});
