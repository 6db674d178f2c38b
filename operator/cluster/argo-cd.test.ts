import { expect, test } from "vitest";
import { readArgoCDHealth, readIgnoredManagers } from "../../e2e/testing/argo-cd-health.ts";
import { type ConditionLike, findCondition } from "../../shared/controller/conditions.ts";
import { clusterConditionTypes, clusterPhases } from "../../shared/crd/cluster.ts";
import { type ClusterAccess, clusterAccessConditionTypes } from "../../shared/crd/cluster-access.ts";
import { MANAGER_APISERVER, MANAGER_OPERATOR } from "../../shared/crd/names.ts";
import { nodePoolConditionTypes, nodePoolPhases } from "../../shared/crd/node-pool.ts";
import { storageInventoryConditionTypes } from "../../shared/crd/storage-inventory.ts";
import { readTable } from "../../shared/program/testing-tables.ts";
import { type AccessOutcome, composeAccessStatus } from "../cluster-access/status.ts";
import { aPool, type PoolFixture, UPGRADING } from "../node-pool/testing.ts";
import { composeInventoryStatus, type InventoryOutcome } from "../shared-storage/status.ts";
import { anInventory } from "../shared-storage/testing.ts";
import { makeCondition, makeMachine, makePool, NAMESPACE, ORG, START } from "../testing.ts";
import { aCluster, type ClusterFixture } from "../testing-cluster.ts";
import { DEGRADED_REASONS } from "./health.ts";

type Judged = Parameters<typeof readArgoCDHealth>[0][0] & { status?: object | undefined };
type State = [name: string, object: Judged, row: keyof typeof ROWS];

/** The rows of the table in docs/operators/argo-cd.md. */
const ROWS = {
  moving: "is not observed yet, is being made, changed, upgraded, scaled or paused",
  wanted: "is as specified",
  stalled: "has `Stalled=True`: a change was refused, or only a person can help",
  faulty: "was ready and is not: endpoint, control plane, nodes, or the cluster of a pool",
  suspended: "is suspended (`spec.suspend`)",
  deleted: "is being deleted",
};
/** In that table alone: an object that is not there has no health. */
const ABSENT = "is in Git, and not in the management cluster";

const ready = () => aCluster().withPools(makePool("web")).ready().reconciled();
const clusterOf = (fixture: ClusterFixture): Judged => fixture.reconciled().observed.cluster;
const poolOf = (fixture: PoolFixture): Judged => fixture.reconciled().observed.pool;
const unreachable = { probe: { ok: false, message: "connection refused" } };
const PAST = START.toISOString();
const paused = (fixture: ClusterFixture) =>
  fixture.reconciled().withCapiConditions([makeCondition("Paused", "True")]);
const object = { kind: "Cluster", namespace: null, name: "demo" };
const blocked = () =>
  ready()
    .withSpec({ version: "1.35", upgradeChecks: "Enforce" })
    .with({
      upgradeChecks: [
        { check: "unknown", severity: "blocking", object, message: "It blocks.", fix: "Solve it." },
      ],
    });
const upgrading = () => ready().withSpec({ version: "1.35" }).reconciled();
const sick = makeMachine("sick", {
  conditions: [
    makeCondition("NodeHealthy", "False", {
      reason: "NodeNotHealthy",
      lastTransitionTime: START.toISOString(),
    }),
  ],
});
const withSickNode = (fixture: ClusterFixture) =>
  fixture.with({ pools: fixture.observed.pools.map((pool) => ({ ...pool, machines: [sick] })) }).after(301);
const notIssued = { failure: { message: "no key", isUnreachable: false, since: START } };
const problem = { reason: "QuotaExceeded", message: "A quota of the platform stands in the way." };

const CLUSTERS: State[] = [
  ["that was just made", aCluster().observed.cluster, "moving"],
  ["that is being provisioned", clusterOf(aCluster().reconciled()), "moving"],
  ["that was refused before it was made", clusterOf(aCluster({ version: "1.99" })), "stalled"],
  ["that is ready", clusterOf(ready()), "wanted"],
  ["whose change is not observed yet", ready().withSpec({ version: "1.35" }).observed.cluster, "moving"],
  ["in an upgrade", clusterOf(upgrading()), "moving"],
  ["in an upgrade with a node that is unhealthy for long", clusterOf(withSickNode(upgrading())), "faulty"],
  [
    "that waits for the nodes of a pool",
    clusterOf(ready().withPools(makePool("web"), makePool("db"))),
    "moving",
  ],
  [
    "that is ready, with a change that was refused",
    clusterOf(ready().withSpec({ version: "1.99" })),
    "stalled",
  ],
  [
    "whose endpoint does not answer any more",
    clusterOf(ready().with(unreachable).reconciled().after(61)),
    "faulty",
  ],
  ["whose upgrade is blocked by its checks", clusterOf(blocked()), "stalled"],
  ["that has lost its infrastructure", clusterOf(ready().with({ capi: undefined })), "stalled"],
  ["that is being suspended", clusterOf(ready().withSpec({ suspend: true })), "moving"],
  ["that is suspended", clusterOf(paused(ready().withSpec({ suspend: true }))), "suspended"],
  [
    "that is suspended, with a change that was refused",
    clusterOf(paused(ready().withSpec({ suspend: true })).withSpec({ version: "1.99" })),
    "stalled",
  ],
  [
    "that is paused in Cluster API",
    clusterOf(ready().withCapiConditions([makeCondition("Paused", "True")])),
    "moving",
  ],
  ["that is being deleted", clusterOf(ready().deleting()), "deleted"],
  // What says nothing of the cluster itself has a condition of its own, and decides no health.
  [
    "whose add-ons cannot be applied",
    clusterOf(ready().with({ addOns: [{ name: "cni", state: "failed", manifests: ["ConfigMap cni"] }] })),
    "wanted",
  ],
  [
    "whose kubeconfigs cannot be issued",
    clusterOf(
      ready()
        .with({
          access: { attempts: { kubeconfig: notIssued, bindings: {} }, failures: [], tenantFindings: {} },
        })
        .after(61),
    ),
    "wanted",
  ],
  [
    "that is to be registered",
    clusterOf(ready().withSpec({ registration: { argoCDSecret: true } })),
    "wanted",
  ],
  ["that is protected from deletion", clusterOf(ready().withSpec({ deletionProtection: true })), "wanted"],
  [
    "that its protection keeps after its end date",
    clusterOf(ready().withSpec({ deletionProtection: true, expiresAt: PAST }).after(1)),
    "wanted",
  ],
];

const running = () => aPool().withNodes(2).reconciled();

const POOLS: State[] = [
  ["that was just made", aPool().fresh().observed.pool, "moving"],
  ["without a cluster", poolOf(aPool().withoutCluster()), "moving"],
  ["that waits for its cluster", poolOf(aPool()), "moving"],
  ["of a cluster that is refused", poolOf(aPool().withCluster({ problem })), "stalled"],
  ["that is ready", poolOf(running()), "wanted"],
  [
    "that is being scaled",
    poolOf(running().withSpec({ desiredNodes: 4 }).withCapi({ desired: 4, ready: 2 })),
    "moving",
  ],
  ["whose nodes get other settings", poolOf(running().withSpec({ vcpus: 8 }).reconciled()), "moving"],
  ["that waits for an upgrade to reach it", poolOf(running().withCluster(UPGRADING)), "moving"],
  [
    "that is ready, with a change that was refused",
    poolOf(running().withSpec({ desiredNodes: 4 }).withCluster({ problem })),
    "stalled",
  ],
  [
    "that keeps its nodes because no manager sets their count",
    poolOf(running().withReleasedCount()),
    "wanted",
  ],
  ["with an unhealthy node", poolOf(running().withUnhealthyNode().after(301)), "faulty"],
  [
    "in an upgrade with an unhealthy node",
    poolOf(running().withCluster(UPGRADING).withUnhealthyNode().after(301)),
    "faulty",
  ],
  ["whose cluster is gone", poolOf(running().withoutCluster()), "faulty"],
  [
    "whose autoscaler does not run",
    poolOf(aPool({ minVCPUs: 2, maxVCPUs: 8, desiredNodes: 1 }).withNodes(2)),
    "wanted",
  ],
  ["that is protected from deletion", poolOf(aPool({ deletionProtection: true }).withNodes(2)), "wanted"],
  [
    "that its protection keeps after its end date",
    poolOf(aPool({ deletionProtection: true, expiresAt: PAST }).withNodes(2).reconciled().after(1)),
    "wanted",
  ],
  ["that is being deleted", poolOf(running().deleting()), "deleted"],
];

function accessWith(outcome: AccessOutcome): Judged {
  const access: ClusterAccess = {
    apiVersion: "cloud.marina.dev/v1",
    kind: "ClusterAccess",
    metadata: { name: "ci", namespace: NAMESPACE, uid: "u", generation: 1 },
    spec: { clusterName: "demo", subject: "ci", ttlSeconds: 3600, csr: "" },
  };
  return { ...access, status: composeAccessStatus(access, outcome, START) };
}

function inventoryWith(outcome: InventoryOutcome): Judged {
  const inventory = anInventory();
  return { ...inventory, status: composeInventoryStatus(inventory, outcome, START) };
}

const OTHERS: State[] = [
  [
    "access that is granted",
    accessWith({ kind: "granted", expiresAt: START, tokenSecretName: "t" }),
    "wanted",
  ],
  ["access that waits", accessWith({ kind: "waiting", ...problem }), "moving"],
  ["access that is refused", accessWith({ kind: "rejected", ...problem }), "stalled"],
  [
    "inventory that is observed",
    inventoryWith({ kind: "observed", pool: { orgId: ORG, quotaBytes: 1, usedBytes: 1, observedAt: START } }),
    "wanted",
  ],
  ["inventory that is refused", inventoryWith({ kind: "stalled", ...problem }), "stalled"],
];

const ALL: State[] = [
  ...CLUSTERS.map(([name, ...rest]): State => [`a cluster ${name}`, ...rest]),
  ...POOLS.map(([name, ...rest]): State => [`a pool ${name}`, ...rest]),
  ...OTHERS.map(([name, ...rest]): State => [`an ${name}`, ...rest]),
];

const conditionsOf = ({ status = {} }: Judged): readonly ConditionLike[] =>
  "conditions" in status ? (status.conditions as ConditionLike[]) : [];

test("docs/operators/argo-cd.md says the health that Argo CD shows of every state, and has no row without a state", async () => {
  const table = new Map(
    readTable("docs/operators/argo-cd.md", "## What Argo CD shows").map(([row = "", health]) => [
      row,
      health,
    ]),
  );
  const found = await readArgoCDHealth(ALL.map(([, object]) => object));
  expect(ALL.map(([name], n) => `${name}: ${found[n]}`)).toEqual(
    ALL.map(([name, , row]) => `${name}: ${table.get(ROWS[row])}`),
  );
  const used = ALL.map(([, , row]) => ROWS[row]);
  expect([...table.keys()].toSorted()).toEqual([...new Set([...used, ABSENT])].toSorted());
});

test("of the states that are red those are in the row of Stalled that are stalled", () => {
  const red = ALL.filter(([, , row]) => row === "stalled" || row === "faulty");
  const isStalled = (object: Judged) => findCondition(conditionsOf(object), "Stalled")?.status === "True";
  expect(red.map(([name, object]) => [name, isStalled(object)])).toEqual(
    red.map(([name, , row]) => [name, row === "stalled"]),
  );
});

/** For a cluster Upgrading, for a pool that its nodes follow the version of its cluster. */
function isUpgrading(conditions: readonly ConditionLike[]): boolean {
  const isFollowing = findCondition(conditions, "UpToDate")?.reason === "UpgradeInProgress";
  return findCondition(conditions, "Upgrading")?.status === "True" || isFollowing;
}

test("none that only a person can help is green, and an upgrade is red for a named fault alone", async () => {
  const found = await readArgoCDHealth(ALL.map(([, object]) => object));
  const stalled: string[] = [];
  const upgrades: string[] = [];
  for (const [n, [name, object]] of ALL.entries()) {
    const conditions = conditionsOf(object);
    const isStalled = findCondition(conditions, "Stalled")?.status === "True";
    if (isStalled) stalled.push(`${name}: ${found[n]}`);
    const ready = findCondition(conditions, "Ready");
    const hasFault = isStalled || (ready?.status === "False" && DEGRADED_REASONS.includes(ready.reason));
    if (isUpgrading(conditions)) upgrades.push(`${hasFault ? "fault" : "no fault"}: ${found[n]}`);
  }
  expect(stalled.filter((state) => !/: (Degraded|Progressing)$/.test(state))).toEqual([]);
  expect(new Set(upgrades)).toEqual(new Set(["no fault: Progressing", "fault: Degraded"]));
});

test("the states have every condition type", () => {
  const typesOf = (states: readonly State[]) =>
    new Set(states.flatMap(([, object]) => conditionsOf(object).map(({ type }) => type)));
  expect(typesOf(CLUSTERS)).toEqual(new Set(clusterConditionTypes));
  expect(typesOf(POOLS)).toEqual(new Set(nodePoolConditionTypes));
  expect(typesOf(OTHERS)).toEqual(
    new Set([...clusterAccessConditionTypes, ...storageInventoryConditionTypes]),
  );
});

test("the states have every phase", () => {
  const phasesOf = (states: readonly State[]) =>
    new Set(states.flatMap(([, { status = {} }]) => ("phase" in status ? [status.phase] : [])));
  expect(phasesOf(CLUSTERS)).toEqual(new Set(clusterPhases));
  expect(phasesOf(POOLS)).toEqual(new Set(nodePoolPhases));
});

test("Argo CD counts as no difference what Marina's programs write of a cluster or pool", () => {
  for (const kind of ["Cluster", "NodePool"])
    expect(readIgnoredManagers(kind)).toEqual([MANAGER_APISERVER, MANAGER_OPERATOR]);
});
