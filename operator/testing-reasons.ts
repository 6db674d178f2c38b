import type { Cluster } from "../shared/crd/cluster.ts";
import { ANNOTATION_HOLD, ANNOTATION_IDENTITY, LABEL_ID } from "../shared/crd/names.ts";
import { createStore } from "../shared/kube/store.ts";
import type { UpgradeCheck } from "../shared/tenant/upgrade/upgrade-check.ts";
import type { AddOnState } from "./add-ons/observe.ts";
import type { ClassCapabilities } from "./capi/cluster-class.ts";
import { UNREADABLE } from "./capi/infrastructure.ts";
import type { MachineDeletion } from "./capi/pool-state.ts";
import type { NamespaceState } from "./expiry/expiry.ts";
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
      machineDeployment: it.machineDeployment && { ...it.machineDeployment, ...change },
    })),
  });
const failed = (kind: "rejected" | "unavailable", message: string) => ({ applyFailure: { kind, message } });
const ENDED = { expiresAt: "2020-01-01T00:00:00Z" };
const SCALE = { controlPlaneReplicas: 3 };
const UPGRADED = ready().withSpec({ version: "1.35" });
const SUSPENDED = ready().withSpec({ suspend: true });
const PROTECTED = ready().withSpec({ deletionProtection: true });
const inNamespace = (fixture: ClusterFixture, namespace: Partial<NamespaceState>) =>
  fixture.with({ namespace: { ...fixture.observed.namespace, ...namespace } });
const held = (fixture: ClusterFixture) => {
  const { cluster } = fixture.observed;
  const metadata = { ...cluster.metadata, annotations: { [ANNOTATION_HOLD]: "a legal hold" } };
  return fixture.with({ cluster: { ...cluster, metadata } });
};
const RULES = { network: { authorizedCIDRs: ["203.0.113.0/24"] } };
const cannotRead = (unreadable: string) => ({
  infrastructure: { hasActed: undefined, lists: [], unreadable },
});
const unreachable = { probe: { ok: false, message: "ECONNREFUSED" } };
const etcdFailure = makeCondition("ControlPlaneAvailable", "False", { message: "etcd has no leader" });

export const BLOCKING: UpgradeCheck = {
  check: "pods_not_evictable",
  severity: "blocking",
  object: { kind: "PodDisruptionBudget", namespace: "shop", name: "web" },
  message: "The disruption budget allows no eviction.",
  fix: "Run more replicas.",
};

/** Every reason for which a cluster waits or has failed, and a cluster with it. */
export const clusters: [string, ClusterFixture][] = [
  ["Provisioning", ready().withSpec(RULES)],
  ["Scaling", busy(ready(), { replicas: 2, nodes: 1, readyNodes: 1 })],
  ["Upgrading", UPGRADED],
  ["CheckingUpgrade", UPGRADED.with({ upgradeChecks: undefined })],
  ["UpgradeBlocked", UPGRADED.withSpec({ upgradeChecks: "Enforce" }).with({ upgradeChecks: [BLOCKING] })],
  ["RollingOut", busy(ready(), { rollingOut: true })],
  ["Deleting", ready().deleting()],
  ["WaitingForControlPlane", aCluster()],
  ["WaitingForEndpoint", aCluster().reconciled().capiConverged().with({ probe: undefined })],
  [
    "WaitingForNodes",
    busy(aCluster().withPools(makePool("web")).reconciled().capiConverged(), { readyNodes: 0 }),
  ],
  ["Paused", ready().withCapiConditions([makeCondition("Paused", "True")])],
  ["Suspended", SUSPENDED.withCapiConditions([makeCondition("Paused", "True")])],
  ["Suspending", SUSPENDED],
  ["ClusterAPIUnavailable", aCluster().with(failed("unavailable", "connection refused"))],
  ["ControlPlaneUnavailable", ready().withCapiConditions([etcdFailure])],
  ["EndpointUnreachable", ready().with(unreachable)],
  ["DuplicateID", aCluster().with({ olderDuplicate: "other/demo" })],
  ["DuplicateID", cameWithId({ [ANNOTATION_IDENTITY]: "refused" })],
  ["DuplicateOrganization", aCluster().with({ organization: { kind: "duplicate", namespace: "old" } })],
  ["UnknownOrganization", aCluster().with({ organization: { kind: "unknown" } })],
  ["UnknownPlan", aCluster({ plan: "gold" })],
  [
    "PlanRetired",
    aCluster({ plan: "scale" }).with({ packages: { scale: { ...SCALE, retiredAt: ENDED.expiresAt } } }),
  ],
  [
    "ReplicasNotInPlan",
    aCluster({ plan: "scale", controlPlaneReplicas: 1 }).with({ packages: { scale: SCALE } }),
  ],
  ["UnknownVersion", aCluster({ version: "1.20" })],
  ["DowngradeRefused", ready().withSpec({ version: "1.33.6" })],
  [
    "UnsupportedByClass",
    aCluster()
      .with({ classes: classWith({ variables: new Set() }) })
      .withSpec({ publicEndpoint: false }),
  ],
  ["RejectedByClusterAPI", aCluster().with(failed("rejected", "spec.topology: no"))],
  ["RejectedByClusterAPI", ready().deleting().with(failed("rejected", "denied by policy"))],
  ["ClassNotFound", aCluster().with({ classes: new Map() })],
  ["NoFreeSubnet", aCluster().with({ settings: { ...aCluster().observed.settings, ...noSubnets() } })],
  [
    "AuthorizedCIDRsUnavailable",
    aCluster(RULES).with({
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
      .with({ rejected: new Map([["taints", "not here"]]) }),
  ],
  [
    "DuplicateName",
    aCluster().with({ blocker: findDuplicateName(duplicates(), aCluster().observed.cluster) }),
  ],
  ["QuotaExceeded", aCluster().with({ blocker: overQuota })],
  ["Expired", aCluster(ENDED)],
  ["DeletionProtected", ready().withSpec({ ...ENDED, deletionProtection: true })],
  ["ProtectionPending", inNamespace(PROTECTED, { isLabelled: false })],
  ["NamespaceDeleting", inNamespace(PROTECTED, { isDeleting: true })],
  ["Held", held(ready().withSpec(ENDED))],
  ["Restored", restored(ready().withSpec(ENDED))],
  ["NetworksOverlap", aCluster().withSpec({ clusterNetwork: { services: ["10.64.0.0/10"] } })],
];

const RUNNING = aPool().withNodes(2).reconciled();
const LOST = RUNNING.withCapi({ desired: 2, nodes: 2, ready: 0, rollingOut: true });
const late = { node: undefined, waitsFor: "no capacity" };
const leaving = (stage: MachineDeletion["stage"]) =>
  RUNNING.deleting().withMachine({ deletion: { stage, cause: "1 Pod is left" } });

export const pools: [string, PoolFixture][] = [
  ["Expired", aPool(ENDED)],
  ["DeletionProtected", RUNNING.withSpec({ ...ENDED, deletionProtection: true })],
  ["ProtectionPending", protectedPool({ isLabelled: false })],
  ["NamespaceDeleting", protectedPool({ isDeleting: true })],
  ["Scaling", RUNNING.withSpec({ desiredNodes: 4 })],
  ["RollingOut", RUNNING.withCapi({ desired: 2, nodes: 3, rollingOut: true })],
  ["Deleting", aPool().withNodes(2).deleting()],
  ["DrainingNode", leaving("drain")],
  ["WaitingForVolumeDetach", leaving("volumes")],
  ["MachineNotReleased", leaving("other")],
  ["NodeStartupTimeout", LOST.withMachine(late).after(900)],
  ["WaitingForCluster", aPool().withoutCluster()],
  ["WaitingForControlPlane", aPool()],
  ["WaitingForNodes", aPool().withCapi({ desired: 2, nodes: 2, ready: 1 })],
  ["UpgradeInProgress", RUNNING.withCluster(UPGRADING).withSpec({ desiredNodes: 4 })],
  ["Paused", RUNNING.withCluster({ paused: true }).withSpec({ desiredNodes: 4 })],
  ["Paused", aPool().withNodes(2).withCluster({ paused: true }).deleting()],
  ["NodesUnhealthy", RUNNING.withUnhealthyNode().after(240)],
  ["NotConfigured", aPool({ maxVCPUs: 12 }).withNodes(2)],
  ["AutoscalerUnavailable", autoscaled({ status: "False", message: "no image" })],
  ["Updating", RUNNING.withSpec({ vcpus: 4 })],
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

const SINCE = new Date("2020-01-01T00:00:00Z");
const refused = { failure: { message: "forbidden", isUnreachable: false, since: SINCE } };
const silent = { failure: { message: "connection refused", isUnreachable: true, since: SINCE } };
const withAttempts = (attempts: ClusterFixture["observed"]["access"]["attempts"]) =>
  ready().with({ access: { ...ready().observed.access, attempts } });

/** What holds up nothing, or is well: only its condition says so. */
export const inConditionsOnly: { clusters: [string, ClusterFixture][]; pools: [string, PoolFixture][] } = {
  clusters: [
    ["Available", ready()],
    ["Protected", PROTECTED],
    ["NoNodePools", aCluster().ready()],
    ["WaitingForNodePools", withBlockedPool()],
    ["PrivateEndpoint", ready().withSpec({ publicEndpoint: false })],
    ["Applied", ready()],
    [
      "RequestedOnly",
      ready()
        .withSpec(RULES)
        .with({ classes: classWith({ mayIgnoreAuthorizedCIDRs: true }) }),
    ],
    ...Object.values(UNREADABLE).map((explain): [string, ClusterFixture] => [
      "ProviderUnreadable",
      ready()
        .withSpec(RULES)
        .reconciled()
        .capiConverged()
        .with(cannotRead(explain("anyclusters", "example.com"))),
    ]),
    ["CredentialsFailed", withAttempts({ kubeconfig: refused, bindings: {} })],
    ["BindingsFailed", withAttempts({ kubeconfig: {}, bindings: refused })],
    ["TenantAPIUnreachable", withAttempts({ kubeconfig: {}, bindings: silent })],
    ["WaitingForAddOns", withAddOn("waiting")],
    ["AddOnsFailed", withAddOn("failed")],
    ["AddOnNotFound", withAddOn("missing")],
    ["AddOnNotFound", withAddOn("without-manifests")],
    ["AddOnNotFound", withAddOn("foreign")],
  ],
  pools: [
    ["Protected", aPool({ deletionProtection: true }).withNodes(2).reconciled()],
    ["Enabled", autoscaled({ status: "True", message: "" })],
    [
      "WaitingForAutoscaler",
      aPool({ maxVCPUs: 12 })
        .withNodes(2)
        .with({ autoscaler: { configured: true, deployment: undefined } }),
    ],
  ],
};

function protectedPool(namespace: Partial<NamespaceState>): PoolFixture {
  const pool = aPool({ deletionProtection: true }).withNodes(2).reconciled();
  return pool.with({ namespace: { ...pool.observed.namespace, ...namespace } });
}

function withAddOn(state: AddOnState["state"]): ClusterFixture {
  return ready().with({ addOns: [{ name: "cilium", state, manifests: ["ConfigMap cilium"] }] });
}

/** Its id is older than itself. */
function restored(fixture: ClusterFixture): ClusterFixture {
  const { cluster } = fixture.observed;
  const labels = { ...cluster.metadata.labels, [LABEL_ID]: "0193a0f0-0000-7000-8000-0000000000e1" };
  return fixture.with({ cluster: { ...cluster, metadata: { ...cluster.metadata, labels } } });
}

function restoredWithoutPools() {
  const running = ready();
  const { cluster } = running.observed;
  return running
    .withPools()
    .with({ cluster: { ...cluster, metadata: { ...cluster.metadata, uid: "uid-new" } } });
}

/** As from a backup; without an annotation, Marina's API server has said nothing of it yet. */
function cameWithId(annotations?: Record<string, string>): ClusterFixture {
  const fixture = aCluster();
  const { cluster } = fixture.observed;
  const labels = { [LABEL_ID]: fixture.observed.candidateId };
  const metadata = { ...cluster.metadata, labels, ...(annotations && { annotations }) };
  return fixture.with({ cluster: { ...cluster, metadata } });
}

function classWith(change: Partial<ClassCapabilities>): Map<string, ClassCapabilities> {
  const [[name, capabilities] = ["", undefined]] = aCluster().observed.classes;
  if (capabilities === undefined) throw new Error("no class");
  return new Map([[name, { ...capabilities, ...change }]]);
}

/** An older cluster of the same name. */
function duplicates() {
  const { cluster } = aCluster({ displayName: "DEMO" }).observed;
  const older = { name: "older", uid: "uid-older", creationTimestamp: "2020-01-01T00:00:00Z" };
  const store = createStore<Cluster>({ [INDEX_NAME]: indexByName });
  store.set({ ...cluster, metadata: { ...cluster.metadata, ...older } });
  return store;
}

function withBlockedPool(): ClusterFixture {
  const { pools } = aCluster().withPools(makePool("web")).observed;
  return aCluster()
    .ready()
    .with({ pools: pools.map((one) => ({ ...one, blocked: true })) });
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
