import { expect, test } from "vitest";
import {
  type ArgoCDHealth,
  readArgoCDHealth,
  readIgnoredManagers,
} from "../../e2e/testing/argo-cd-health.ts";
import { clusterPhases } from "../../shared/crd/cluster.ts";
import type { ClusterAccess } from "../../shared/crd/cluster-access.ts";
import { MANAGER_APISERVER, MANAGER_OPERATOR } from "../../shared/crd/names.ts";
import { nodePoolPhases } from "../../shared/crd/node-pool.ts";
import { type AccessOutcome, composeAccessStatus } from "../cluster-access/status.ts";
import { aPool, type PoolFixture, UPGRADING } from "../node-pool/testing.ts";
import { composeInventoryStatus, type InventoryOutcome } from "../shared-storage/status.ts";
import { anInventory } from "../shared-storage/testing.ts";
import { makeCondition, makePool, NAMESPACE, ORG, START } from "../testing.ts";
import { aCluster, type ClusterFixture } from "../testing-cluster.ts";

type Judged = Parameters<typeof readArgoCDHealth>[0][0] & { status?: object | undefined };
type State = [name: string, object: Judged, health: ArgoCDHealth];

const ready = () => aCluster().withPools(makePool("web")).ready().reconciled();
const clusterOf = (fixture: ClusterFixture): Judged => fixture.reconciled().observed.cluster;
const poolOf = (fixture: PoolFixture): Judged => fixture.reconciled().observed.pool;
const unreachable = { probe: { ok: false, message: "connection refused" } };
const problem = { reason: "QuotaExceeded", message: "A quota of the platform stands in the way." };

const CLUSTERS: State[] = [
  ["that was just made", aCluster().observed.cluster, "Progressing"],
  ["that is being provisioned", clusterOf(aCluster().reconciled()), "Progressing"],
  ["that was refused before it was made", clusterOf(aCluster({ version: "1.99" })), "Degraded"],
  ["that is ready", clusterOf(ready()), "Healthy"],
  ["whose change is not observed yet", ready().withSpec({ version: "1.35" }).observed.cluster, "Progressing"],
  ["in an upgrade", clusterOf(ready().withSpec({ version: "1.35" }).reconciled()), "Progressing"],
  [
    "that waits for the nodes of a pool",
    clusterOf(ready().withPools(makePool("web"), makePool("db"))),
    "Progressing",
  ],
  [
    "that is ready, with a change that was refused",
    clusterOf(ready().withSpec({ version: "1.99" })),
    "Degraded",
  ],
  [
    "whose endpoint does not answer any more",
    clusterOf(ready().with(unreachable).reconciled().after(61)),
    "Degraded",
  ],
  ["that has lost its infrastructure", clusterOf(ready().with({ capi: undefined })), "Degraded"],
  ["that is being suspended", clusterOf(ready().withSpec({ suspend: true })), "Progressing"],
  [
    "that is suspended",
    clusterOf(
      ready()
        .withSpec({ suspend: true })
        .reconciled()
        .withCapiConditions([makeCondition("Paused", "True")]),
    ),
    "Suspended",
  ],
  [
    "that is paused in Cluster API",
    clusterOf(ready().withCapiConditions([makeCondition("Paused", "True")])),
    "Progressing",
  ],
  ["that is being deleted", clusterOf(ready().deleting()), "Progressing"],
];

const running = () => aPool().withNodes(2).reconciled();

const POOLS: State[] = [
  ["that was just made", aPool().fresh().observed.pool, "Progressing"],
  ["without a cluster", poolOf(aPool().withoutCluster()), "Progressing"],
  ["that waits for its cluster", poolOf(aPool()), "Progressing"],
  ["of a cluster that is refused", poolOf(aPool().withCluster({ problem })), "Degraded"],
  ["that is ready", poolOf(running()), "Healthy"],
  [
    "that is being scaled",
    poolOf(running().withSpec({ desiredNodes: 4 }).withCapi({ desired: 4, ready: 2 })),
    "Progressing",
  ],
  ["whose nodes get other settings", poolOf(running().withSpec({ vcpus: 8 }).reconciled()), "Progressing"],
  ["that waits for an upgrade to reach it", poolOf(running().withCluster(UPGRADING)), "Progressing"],
  [
    "that is ready, with a change that was refused",
    poolOf(running().withSpec({ desiredNodes: 4 }).withCluster({ problem })),
    "Degraded",
  ],
  [
    "that keeps its nodes because no manager sets their count",
    poolOf(running().withReleasedCount()),
    "Healthy",
  ],
  ["with an unhealthy node", poolOf(running().withUnhealthyNode().after(301)), "Degraded"],
  ["that is being deleted", poolOf(running().deleting()), "Progressing"],
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
    "Healthy",
  ],
  ["access that waits", accessWith({ kind: "waiting", ...problem }), "Progressing"],
  ["access that is refused", accessWith({ kind: "rejected", ...problem }), "Degraded"],
  [
    "inventory that is observed",
    inventoryWith({ kind: "observed", pool: { orgId: ORG, quotaBytes: 1, usedBytes: 1, observedAt: START } }),
    "Healthy",
  ],
  ["inventory that is refused", inventoryWith({ kind: "stalled", ...problem }), "Degraded"],
];

test("Argo CD shows the health of every state: none that only a person can help is green, no upgrade is red", async () => {
  const states = [
    ...CLUSTERS.map(([name, ...rest]) => [`a cluster ${name}`, ...rest] as const),
    ...POOLS.map(([name, ...rest]) => [`a pool ${name}`, ...rest] as const),
    ...OTHERS.map(([name, ...rest]) => [`an ${name}`, ...rest] as const),
  ];
  const found = await readArgoCDHealth(states.map(([, object]) => object));
  expect(states.map(([name], n) => `${name}: ${found[n]}`)).toEqual(
    states.map(([name, , health]) => `${name}: ${health}`),
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
