import { describe, expect, test } from "vitest";
import { findTenantTextFault } from "../e2e/contract/seen/message-forms.ts";
import type { Cluster } from "../shared/crd/cluster.ts";
import { CONDITION_REASONS, MAX_STATUS_MESSAGE_LENGTH } from "../shared/crd/conditions.ts";
import { LABEL_ID } from "../shared/crd/names.ts";
import { createStore } from "../shared/kube/store.ts";
import { findDuplicateName, indexByName } from "./identity/identity.ts";
import { INDEX_NAME } from "./indexes.ts";
import { aPool, type PoolFixture, UPGRADING } from "./node-pool/testing.ts";
import { makeCondition, makePool } from "./testing.ts";
import { aCluster, type ClusterFixture } from "./testing-cluster.ts";

const overQuota = { reason: "QuotaExceeded", message: "A quota does not allow it. Ask for less." };
const ready = () => aCluster().withPools(makePool("web")).ready();
const busy = (fixture: ClusterFixture, change: object) =>
  fixture.with({
    pools: fixture.observed.pools.map((it) => ({
      ...it,
      capi: it.capi && { ...it.capi, ...change },
    })),
  });
const failed = (kind: "rejected" | "unavailable", message: string) => ({ applyFailure: { kind, message } });
const unreachable = { probe: { ok: false, message: "ECONNREFUSED" } };
const etcdFailure = makeCondition("ControlPlaneAvailable", "False", { message: "etcd has no leader" });

/** Every reason for which a cluster waits or has failed, and a cluster with it. */
const clusters: [string, ClusterFixture][] = [
  ["Provisioning", ready().withSpec({ network: { authorizedCIDRs: ["203.0.113.0/24"] } })],
  ["Scaling", busy(ready(), { replicas: 2, nodes: 1, readyNodes: 1 })],
  ["Upgrading", ready().withSpec({ version: "1.35" })],
  ["RollingOut", busy(ready(), { rollingOut: true })],
  ["Deleting", ready().deleting()],
  ["WaitingForControlPlane", aCluster()],
  ["WaitingForEndpoint", aCluster().reconciled().capiConverged().with({ probe: undefined })],
  [
    "WaitingForNodes",
    busy(aCluster().withPools(makePool("web")).reconciled().capiConverged(), { readyNodes: 0 }),
  ],
  ["Paused", ready().withCapiConditions([makeCondition("Paused", "True")])],
  [
    "Suspended",
    ready()
      .withSpec({ suspend: true })
      .withCapiConditions([makeCondition("Paused", "True")]),
  ],
  ["Suspending", ready().withSpec({ suspend: true })],
  ["ClusterAPIUnavailable", aCluster().with(failed("unavailable", "connection refused"))],
  ["ControlPlaneUnavailable", ready().withCapiConditions([etcdFailure])],
  ["EndpointUnreachable", ready().with(unreachable)],
  ["DuplicateID", aCluster().with({ olderDuplicate: "other/demo" })],
  ["DuplicateOrganization", aCluster().with({ organization: { kind: "duplicate", namespace: "old" } })],
  ["UnknownOrganization", aCluster().with({ organization: { kind: "unknown" } })],
  ["UnknownPlan", aCluster({ plan: "gold" })],
  [
    "PlanRetired",
    aCluster({ plan: "scale" }).with({
      packages: { scale: { controlPlaneReplicas: 3, retiredAt: "2020-01-01T00:00:00Z" } },
    }),
  ],
  [
    "ReplicasNotInPlan",
    aCluster({ plan: "scale", controlPlaneReplicas: 1 }).with({
      packages: { scale: { controlPlaneReplicas: 3 } },
    }),
  ],
  ["UnknownVersion", aCluster({ version: "1.20" })],
  ["DowngradeRefused", ready().withSpec({ version: "1.33.6" })],
  [
    "UnsupportedByClass",
    aCluster().with({ classes: withoutVariables() }).withSpec({ publicEndpoint: false }),
  ],
  ["RejectedByClusterAPI", aCluster().with(failed("rejected", "spec.topology: no"))],
  ["ClassNotFound", aCluster().with({ classes: new Map() })],
  ["NoFreeSubnet", aCluster().with({ settings: { ...aCluster().observed.settings, ...noSubnets() } })],
  [
    "AuthorizedCIDRsUnavailable",
    aCluster({ network: { authorizedCIDRs: ["203.0.113.0/24"] } }).with({
      settings: { ...aCluster().observed.settings, platformCIDRs: [] },
    }),
  ],
  ["NameTaken", taken()],
  ["NodePoolsMissing", restoredWithoutPools()],
  ["InfrastructureLost", ready().with({ capi: undefined })],
  ["WaitingForIdentity", cameWithId()],
  [
    "TaintsUnavailable",
    ready()
      .withPools(makePool("web"), makePool("gpu", { nodeTaints: [{ key: "gpu", effect: "NoSchedule" }] }))
      .with({ taintsRejected: true }),
  ],
  [
    "DuplicateName",
    aCluster().with({ blocker: findDuplicateName(duplicates(), aCluster().observed.cluster) }),
  ],
  ["QuotaExceeded", aCluster().with({ blocker: overQuota })],
  ["NetworksOverlap", aCluster().withSpec({ clusterNetwork: { services: ["10.64.0.0/10"] } })],
];

const pools: [string, PoolFixture][] = [
  ["Scaling", aPool().withNodes(2).reconciled().withSpec({ desiredNodes: 4 })],
  ["RollingOut", aPool().withNodes(2).reconciled().withCapi({ desired: 2, nodes: 3, rollingOut: true })],
  ["Deleting", aPool().withNodes(2).deleting()],
  ["WaitingForCluster", aPool().withoutCluster()],
  ["WaitingForControlPlane", aPool()],
  ["WaitingForNodes", aPool().withCapi({ desired: 2, nodes: 2, ready: 1 })],
  [
    "UpgradeInProgress",
    aPool().withNodes(2).reconciled().withCluster(UPGRADING).withSpec({ desiredNodes: 4 }),
  ],
  ["NodesUnhealthy", aPool().withNodes(2).reconciled().withUnhealthyNode().after(240)],
  ["NotConfigured", aPool({ maxVCPUs: 12 }).withNodes(2)],
  ["AutoscalerUnavailable", autoscaled({ status: "False", message: "no image" })],
  ["Updating", aPool().withNodes(2).reconciled().withSpec({ vcpus: 4 })],
  ["CountReleased", aPool({ desiredNodes: 3 }).withNodes(3).reconciled().withReleasedCount()],
  ["DuplicateID", aPool().with({ olderDuplicate: "other/web" })],
  ["QuotaExceeded", aPool().with({ blocker: overQuota })],
  [
    "LabelsNotPropagated",
    aPool({ nodeLabels: { tier: "web" } })
      .withNodes(2)
      .with({ syncedNodeLabels: /^none$/ }),
  ],
];

const kinds: [string, string, () => { message: string | undefined; reasons: string[] }][] = [
  ...clusters.map(([reason, fixture]): (typeof kinds)[number] => [
    "cluster",
    reason,
    () => summarize(fixture.reconciled().after(61).reconciled().observed.cluster.status),
  ]),
  ...pools.map(([reason, fixture]): (typeof kinds)[number] => [
    "node pool",
    reason,
    () => summarize(fixture.reconciled().after(61).reconciled().status()),
  ]),
];

function summarize(
  status: { message?: string | undefined; conditions?: { reason: string }[] | undefined } = {},
) {
  return { message: status.message, reasons: (status.conditions ?? []).map(({ reason }) => reason) };
}

/** What a person can do, or that there is nothing to do. */
const NEXT_STEP =
  /\b(ask|look at|set|create|delete|change|leave it out|replace|put|automatically|one after another|waits for|is being deleted|have the label|follow)\b/i;

describe("after a minute every wait and failure is explained in a sentence with the next step", () => {
  test.each(kinds)("a %s: %s", (_kind, reason, observe) => {
    const { message, reasons } = observe();
    expect(reasons).toContain(reason);
    expect(message).toMatch(/^[A-Z0-9].*[.]$/s);
    expect(message).not.toMatch(/undefined|null|\[object|NaN/);
    expect(findTenantTextFault(message ?? "")).toBeUndefined();
    expect(message?.length).toBeLessThanOrEqual(MAX_STATUS_MESSAGE_LENGTH);
    expect(isIn("progressing", reason) || NEXT_STEP.test(message ?? "")).toBe(true);
  });

  test("every reason has such an explanation", () => {
    const { progressing, waiting, degraded, stalled } = CONDITION_REASONS;
    const explained = new Set(kinds.map(([, reason]) => reason));
    // An autoscaler that is starting, rules that cannot be verified, and access that fails, hold up no change: their own
    // conditions explain them.
    const unexplained = [...progressing, ...waiting, ...degraded, ...stalled].filter(
      (reason) => !explained.has(reason),
    );
    const access = ["CredentialsFailed", "BindingsFailed", "TenantAPIUnreachable"];
    expect(unexplained).toEqual(["WaitingForAutoscaler", "RequestedOnly", ...access]);
    const known: readonly string[] = Object.values(CONDITION_REASONS).flat();
    expect(
      kinds.flatMap(([, , observe]) => observe().reasons).filter((reason) => !known.includes(reason)),
    ).toEqual([]);
  });
});

function isIn(state: keyof typeof CONDITION_REASONS, reason: string): boolean {
  return CONDITION_REASONS[state].some((it) => it === reason);
}

function restoredWithoutPools() {
  const running = ready();
  const { cluster } = running.observed;
  return running
    .withPools()
    .with({ cluster: { ...cluster, metadata: { ...cluster.metadata, uid: "uid-new" } } });
}

/** As from a backup, of which the API server has said nothing yet. */
function cameWithId(): ClusterFixture {
  const fixture = aCluster();
  const { cluster } = fixture.observed;
  const metadata = { ...cluster.metadata, labels: { [LABEL_ID]: fixture.observed.candidateId } };
  return fixture.with({ cluster: { ...cluster, metadata } });
}

function withoutVariables() {
  const [[name, capabilities] = ["", undefined]] = aCluster().observed.classes;
  if (capabilities === undefined) throw new Error("no class");
  return new Map([[name, { ...capabilities, variables: new Set<string>() }]]);
}

/** An older cluster of the same name. */
function duplicates() {
  const { cluster } = aCluster({ displayName: "DEMO" }).observed;
  const older = { name: "older", uid: "uid-older", creationTimestamp: "2020-01-01T00:00:00Z" };
  const store = createStore<Cluster>({ [INDEX_NAME]: indexByName });
  store.set({ ...cluster, metadata: { ...cluster.metadata, ...older } });
  return store;
}

function noSubnets() {
  const { subnetRange } = aCluster().observed.settings;
  return { subnetRange: { ...subnetRange, count: 0 } };
}

/** Cluster API has a cluster of this name that is not ours. */
function taken(): ClusterFixture {
  const made = aCluster().reconciled();
  const object = made.capiObject();
  const metadata = { ...object.metadata, labels: {}, ownerReferences: [] };
  return aCluster().withCapi({ ...object, metadata });
}

function autoscaled(available: { status: string; message: string }): PoolFixture {
  return aPool({ maxVCPUs: 12 })
    .withNodes(2)
    .with({ autoscaler: { configured: true, deployment: { available } } });
}
