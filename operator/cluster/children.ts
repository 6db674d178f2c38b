import { clusterKind } from "../../shared/crd/cluster.ts";
import { LABEL_ID, LABEL_ORG_ID } from "../../shared/crd/names.ts";
import { apiVersionOf } from "../../shared/kube/kind.ts";
import type { VersionCatalogue } from "../../shared/kubernetes-version.ts";
import type { ClassCapabilities } from "../engine/cluster-class.ts";
import type { EngineState } from "../engine/cluster-state.ts";
import type { EngineCluster } from "../engine/kinds.ts";
import { composeEngineCluster, type DesiredCluster, findUnsupported } from "../engine/topology.ts";
import { hasFinalizer } from "../identity.ts";
import { composeDesiredPool } from "../node-pool/children.ts";
import { withAppliedHash } from "../runtime/applied.ts";
import type { Fault } from "../runtime/conditions.ts";
import { chooseSubnet } from "../subnets/allocate.ts";
import type { ObservedCluster, PlanMapping } from "./observe.ts";
import { chooseVersion, resolveTarget } from "./version.ts";

export const ANNOTATION_APPLIED = "cloud.marina.dev/applied";

/** A cluster's mapping for objects that name no plan. */
export const DEFAULT_PLAN = "default";

/** What shall be, or why that cannot be said. */
export type Decision =
  | { ok: true; target: string; subnet: string; engineCluster: EngineCluster }
  | { ok: false; fault: Fault; target: string | undefined };

/** Decides what the engine shall have for this cluster and its pools. Anything it cannot carry means: apply nothing. */
export function decideChildren(observed: ObservedCluster, id: string): Decision {
  const { cluster, settings, catalogue } = observed;
  const planName = cluster.spec.plan ?? DEFAULT_PLAN;
  const plan = settings.plans[planName];
  if (plan === undefined) {
    return refuse(
      "UnknownPlan",
      `There is no plan ${planName}; create the cluster again with one that exists.`,
    );
  }
  const target = resolveTarget(cluster.spec.version, cluster.status?.targetVersion, catalogue);
  if (target === undefined) {
    const message = `The catalogue has no Kubernetes version ${cluster.spec.version}; choose one of ${listVersions(catalogue)}.`;
    return refuse("UnknownVersion", message);
  }
  if (observed.engine !== undefined && !isOurs(observed)) {
    const message = `The namespace holds a Cluster API cluster ${cluster.metadata.name} that is not this platform's; create the cluster under another name.`;
    return refuse("NameTaken", message, target);
  }
  const pinned = findPinnedClass(observed, plan);
  const upgrade = chooseClassAndVersion(observed, plan, pinned, target);
  if (upgrade === undefined) {
    const message = `The cluster class ${pinned.namespace}/${pinned.name} does not exist; the platform has to install it.`;
    return refuse("ClassNotFound", message, target);
  }
  const subnet = chooseOwnSubnet(observed, id);
  if (subnet === undefined) {
    const message = "The platform has no free worker network for this cluster; ask its operator.";
    return refuse("NoFreeSubnet", message, target);
  }
  const desired: DesiredCluster = {
    ...describeCluster(observed, plan, id),
    classRef: upgrade.classRef,
    version: upgrade.version,
    workerSubnet: subnet,
    authorizedCIDRs: authorizeCIDRs(cluster.spec.network?.authorizedCIDRs, subnet, settings.platformCIDRs),
    pools: observed.pools
      .filter(({ pool, leaving }) => isWanted(pool.metadata) && !leaving)
      .map(({ pool }) => composeDesiredPool(pool, settings.poolDefaults)),
  };
  const unsupported = findUnsupported(desired, upgrade.capabilities);
  if (unsupported.length > 0) return refuse("UnsupportedByClass", unsupported.join(" "), target);
  const composed = composeEngineCluster(desired, upgrade.capabilities);
  return { ok: true, target, subnet, engineCluster: withAppliedHash(composed, ANNOTATION_APPLIED) };
}

/** Whether the engine's cluster is this one's: by owner, or after a restore by the public id. */
export function isOurs({ cluster, engine }: ObservedCluster): boolean {
  const { ownerReferences = [], labels } = engine?.object.metadata ?? {};
  const id = cluster.metadata.labels?.[LABEL_ID];
  return (
    ownerReferences.some((owner) => owner.uid === cluster.metadata.uid) ||
    (id !== undefined && labels?.[LABEL_ID] === id)
  );
}

function refuse(reason: string, message: string, target?: string): Decision {
  return { ok: false, fault: { reason, message }, target };
}

/** A pool takes part while it is not being deleted, and once it is held by our finalizer. */
function isWanted(metadata: ObservedCluster["pools"][number]["pool"]["metadata"]): boolean {
  return metadata.deletionTimestamp === undefined && hasFinalizer(metadata);
}

function listVersions(catalogue: VersionCatalogue): string {
  const versions = catalogue.filter((entry) => entry.status === "supported").map((entry) => entry.version);
  return versions.length === 0 ? "none (the catalogue is empty)" : versions.join(", ");
}

/** The class that the cluster was made with. */
function findPinnedClass(observed: ObservedCluster, plan: PlanMapping): { name: string; namespace: string } {
  const { engine, cluster } = observed;
  return (
    engine?.state.classRef ?? { name: cluster.status?.clusterClass ?? plan.class, namespace: plan.namespace }
  );
}

/**
 * Another class, because the plan's mapping changed, is taken along only with an upgrade that the user asked for: a
 * release of the platform rolls nobody's machines. Undefined = the cluster's class does not exist.
 */
function chooseClassAndVersion(
  observed: ObservedCluster,
  plan: PlanMapping,
  pinned: { name: string; namespace: string },
  target: string,
) {
  const { engine, catalogue, classes } = observed;
  const live = readLive(engine?.state);
  const stepOn = (capabilities: ClassCapabilities) =>
    chooseVersion({ target, live, catalogue, chained: capabilities.kubernetesVersions });
  const capabilities = classes.get(`${pinned.namespace}/${pinned.name}`);
  if (capabilities === undefined) return undefined;
  const version = stepOn(capabilities);
  const upgrading = live !== undefined && version !== live.version;
  const planned = { name: plan.class, namespace: plan.namespace };
  const next = upgrading ? classes.get(`${planned.namespace}/${planned.name}`) : undefined;
  return next === undefined
    ? { classRef: pinned, capabilities, version }
    : { classRef: planned, capabilities: next, version: stepOn(next) };
}

function readLive(state: EngineState | undefined) {
  return state?.version === undefined ? undefined : { version: state.version, settled: state.settled };
}

/** The subnet that the cluster has, from its lock or its status; else a free one. Undefined = there is none. */
function chooseOwnSubnet(observed: ObservedCluster, id: string): string | undefined {
  const { locks, cluster, settings } = observed;
  if (locks.own !== undefined) return locks.own.subnet;
  const known = cluster.status?.workerSubnet;
  if (known !== undefined) return locks.taken.has(known) ? undefined : known;
  return chooseSubnet(settings.subnetRange, locks.taken, id);
}

function describeCluster(observed: ObservedCluster, plan: PlanMapping, id: string) {
  const { metadata, spec } = observed.cluster;
  const organization = observed.organization.kind === "known" ? observed.organization.id : "";
  return {
    namespace: metadata.namespace ?? "",
    name: metadata.name,
    owner: {
      apiVersion: apiVersionOf(clusterKind),
      kind: clusterKind.kind,
      name: metadata.name,
      uid: metadata.uid ?? "",
      controller: true,
    },
    labels: { [LABEL_ID]: id, [LABEL_ORG_ID]: organization },
    controlPlaneReplicas: spec.controlPlaneReplicas ?? plan.controlPlaneReplicas,
    plan: spec.plan,
    publicEndpoint: spec.publicEndpoint,
    apiServerRateLimit: spec.network?.apiServerRateLimit,
  };
}

/** An empty list means any source. Workers and the platform itself are always let in, and shown to nobody. */
export function authorizeCIDRs(
  tenants: readonly string[] | undefined,
  workerSubnet: string,
  platform: readonly string[],
): string[] | undefined {
  if (tenants === undefined || tenants.length === 0) return undefined;
  return [...new Set([...tenants, workerSubnet, ...platform])];
}
