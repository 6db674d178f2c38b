import { withAppliedHash } from "../../shared/controller/applied.ts";
import type { Problem } from "../../shared/controller/conditions.ts";
import type { Step } from "../../shared/controller/plan.ts";
import { TAINTS_UNAVAILABLE } from "../../shared/crd/conditions.ts";
import {
  ANNOTATION_APPLIED,
  LABEL_CLUSTER_CLASS,
  LABEL_ID,
  LABEL_KUBERNETES_MINOR,
  LABEL_ORG_ID,
  LABEL_PLAN,
} from "../../shared/crd/names.ts";
import { DEFAULT_PLAN } from "../../shared/crd/published-config.ts";
import type { JsonPatchOperation } from "../../shared/kube/client.ts";
import { listNames } from "../../shared/program/wording.ts";
import type { ClassCapabilities } from "../capi/cluster-class.ts";
import type { CapiState } from "../capi/cluster-state.ts";
import { type CapiCluster, capiClusterKind } from "../capi/kinds.ts";
import { composeCapiCluster, type DesiredCluster, findUnsupported } from "../capi/topology.ts";
import { type DesiredPool, readLivePools } from "../capi/worker-pool.ts";
import { findExpired, isExpiredPool } from "../expiry/expiry.ts";
import { displayNameOf, isAdopted } from "../identity/identity.ts";
import { composeNameElsewhere, composeNameTaken, composeOwnerReference } from "../identity/ownership.ts";
import { findPresentNodes } from "../identity/released-count.ts";
import { composeDesiredPool, limitGrowth } from "../node-pool/children.ts";
import { chooseSubnet } from "../subnets/allocate.ts";
import { wasThere } from "./loss.ts";
import {
  chooseNetwork,
  chooseNetworkPolicy,
  composePrivateEndpointWait,
  composeUnsupported,
  findNetworkProblem,
} from "./networks.ts";
import type { ObservedCluster, ObservedClusterPool, PlanMapping } from "./observe.ts";
import { composeUnknownPlan, findPackageProblem } from "./package.ts";
import { chooseRequested, findBlockedUpgrade, type RequestedUpgrade } from "./upgrade-hold.ts";
import { chooseVersion, type VersionChoice } from "./version.ts";
import { findPoolRemovalWait } from "./waits.ts";

/** The desired state, or why there is none. A `problem` in addition to the state is about a part that was left unchanged. */
export type Decision =
  | {
      ok: true;
      target: string | undefined;
      subnet: string;
      capiCluster: CapiCluster;
      problem: Problem | undefined;
      /** Why a part of the network policy alone waits. */
      policyProblem: Problem | undefined;
    }
  | {
      ok: false;
      problem: Problem;
      target: string | undefined;
      /** It is accepted and waits: the platform can support it one day. */
      isWait?: boolean;
    };

/**
 * The Cluster API object for this cluster and its pools. A new cluster whose class does not support its authorized CIDRs or its
 * private endpoint is not made; of one that exists the list stays as it is in force.
 */
export function decideChildren(
  observed: ObservedCluster,
  upgrade: RequestedUpgrade | undefined,
  id: string,
  now: Date,
): Decision {
  const { cluster, settings } = observed;
  const isNew = observed.capi === undefined && !wasThere(observed);
  const expired = isNew ? findExpired("cluster", cluster, now) : undefined;
  if (expired !== undefined) return { ok: false, problem: expired, target: undefined };
  const forbidden = findPackageProblem(observed);
  if (forbidden !== undefined) return { ok: false, problem: forbidden, target: undefined };
  const planName = cluster.spec.plan ?? DEFAULT_PLAN;
  const known = Object.hasOwn(settings.plans, planName) ? settings.plans[planName] : undefined;
  const plan = known ?? retainPlan(observed);
  if (plan === undefined)
    return { ok: false, problem: composeUnknownPlan(observed, planName), target: undefined };
  const unknownPlan = known === undefined ? composeUnknownPlan(observed, planName) : undefined;
  if (observed.nameTaken)
    return { ok: false, problem: composeNameTaken(cluster.metadata.name), target: undefined };
  if (observed.capi === undefined && observed.blocker !== undefined)
    return { ok: false, problem: observed.blocker, target: undefined };
  const pinned = findPinnedClass(observed, plan);
  const choice = chooseClassAndVersion(observed, upgrade, plan, pinned, unknownPlan);
  if (choice === undefined) {
    const message = `The cluster class ${pinned.name} does not exist; ask the platform's operator to install it.`;
    return fail("ClassNotFound", message);
  }
  if (observed.nameTakenElsewhere && !choice.capabilities.hasNamesPerNamespace)
    return { ok: false, problem: composeNameElsewhere(cluster.metadata.name), target: choice.target };
  if (choice.version === undefined) return { ok: false, problem: choice.problem, target: undefined };
  const { target, version, problem } = choice;
  const subnet = chooseOwnSubnet(observed, id);
  if (subnet === undefined) {
    const message = `The platform has no free /24 network left for the workers of ${displayNameOf(cluster)}; delete a cluster that is not needed, or ask the platform's operator for a wider range.`;
    return fail("NoFreeSubnet", message, target);
  }
  const clusterNetwork = chooseNetwork(observed);
  const overlapping = findNetworkProblem(observed, clusterNetwork, subnet);
  if (overlapping !== undefined) return { ok: false, problem: overlapping, target };
  const policy = chooseNetworkPolicy(observed, choice, subnet);
  if (policy.listProblem !== undefined && observed.capi === undefined)
    return { ok: false, problem: policy.listProblem, target };
  const desired: DesiredCluster = {
    ...describeCluster(observed, plan, { id, className: choice.classRef.name, version }),
    classRef: choice.classRef,
    version,
    workerSubnet: subnet,
    clusterNetwork,
    authorizedCIDRs: policy.authorizedCIDRs,
    apiServerRateLimit: policy.apiServerRateLimit,
    pools: composeDesiredPools(observed, now),
  };
  if (
    !desired.publicEndpoint &&
    observed.capi === undefined &&
    !choice.capabilities.variables.has("publicEndpoint")
  )
    return { ok: false, problem: composePrivateEndpointWait(choice.classRef.name), target, isWait: true };
  const [unsupported] = findUnsupported(desired, choice.capabilities);
  if (unsupported !== undefined)
    return { ok: false, problem: composeUnsupported(choice.classRef.name, unsupported), target };
  const capiCluster = withAppliedHash(composeCapiCluster(desired, choice.capabilities), ANNOTATION_APPLIED);
  const policyProblem = policy.listProblem ?? policy.limitProblem;
  return {
    ok: true,
    target,
    subnet,
    problem: findBlockedUpgrade(upgrade) ?? problem ?? findTaintsProblem(observed),
    policyProblem,
    capiCluster,
  };
}

/** What a cluster that runs has of a plan that was removed: it scales, and its pools can be deleted. */
function retainPlan({ capi }: ObservedCluster): PlanMapping | undefined {
  const { classRef } = capi?.state ?? {};
  const { replicas } = capi?.object.spec?.topology?.controlPlane ?? {};
  if (classRef === undefined || replicas === undefined) return undefined;
  return { class: classRef.name, namespace: classRef.namespace, controlPlaneReplicas: replicas };
}

function fail(reason: string, message: string, target?: string): Decision {
  return { ok: false, problem: { reason, message }, target };
}

/** A pool is in the topology once it has our finalizer, until its deletion can be passed on; a copy never is. */
function isDesired(observed: ObservedCluster, one: ObservedClusterPool, now: Date): boolean {
  const { metadata } = one.pool;
  const mustStay =
    metadata.deletionTimestamp === undefined || findPoolRemovalWait(observed, one, now) !== undefined;
  return mustStay && isAdopted(one) && !one.capiDeleting && one.olderDuplicate === undefined;
}

/** Every pool as specified; one that is blocked keeps the size and the machine that Cluster API has, or is left out. */
function composeDesiredPools(observed: ObservedCluster, now: Date): DesiredPool[] {
  const { pools, capi, settings } = observed;
  const livePools = readLivePools(capi?.object);
  const present = pools.filter((one) => isDesired(observed, one, now) && !lacksTaints(observed, one));
  return present.flatMap(({ pool, capi: live, blocked, machines }) => {
    const livePool = livePools.get(pool.metadata.name);
    const presentNodes = findPresentNodes(livePool, live?.replicas);
    const desired = composeDesiredPool(pool, settings.poolDefaults, presentNodes);
    if (!blocked && !isExpiredPool(pool, livePool, now)) return [limitGrowth(desired, machines)];
    if (livePool === undefined) return [];
    return [{ ...desired, size: livePool.size, machine: livePool.machine ?? desired.machine }];
  });
}

/** Without its taints a new pool would take Pods that it is not meant for: it waits, and what runs stays as it is. */
function lacksTaints({ taintsRejected, capi }: ObservedCluster, { pool }: ObservedClusterPool): boolean {
  const isKnown = capi?.state.poolNames.includes(pool.metadata.name) === true;
  return taintsRejected && !isKnown && (pool.spec.nodeTaints ?? []).length > 0;
}

/** Why pools are left out although the rest is applied; undefined = none is. */
function findTaintsProblem(observed: ObservedCluster): Problem | undefined {
  const left = observed.pools.filter((one) => lacksTaints(observed, one));
  if (left.length === 0) return undefined;
  const names = listNames(left.map(({ pool }) => displayNameOf(pool)));
  const message = `The platform cannot set taints of nodes, so these node pools are not created: ${names}. Create them again without taints, or ask the platform's operator to enable them in Cluster API (MachineTaintPropagation).`;
  return { reason: TAINTS_UNAVAILABLE, message };
}

/** The class that the cluster was made with; one that was never made, as its class refused it, gets that of its plan. */
function findPinnedClass(observed: ObservedCluster, plan: PlanMapping): { name: string; namespace: string } {
  const { capi, cluster } = observed;
  const made = wasThere(observed) ? cluster.status?.clusterClass : undefined;
  return capi?.state.classRef ?? { name: made ?? plan.class, namespace: plan.namespace };
}

/**
 * A changed mapping of the plan to a class takes effect only with an upgrade that the user requests, so that a release of the
 * platform replaces no machines. Undefined = the cluster's class does not exist.
 */
function chooseClassAndVersion(
  observed: ObservedCluster,
  upgrade: RequestedUpgrade | undefined,
  plan: PlanMapping,
  pinned: { name: string; namespace: string },
  unknownPlan: Problem | undefined,
): (VersionChoice & { classRef: typeof pinned; capabilities: ClassCapabilities }) | undefined {
  const { capi, cluster, catalogue, classes } = observed;
  const live = capi && readLive(capi.state, observed.upgradeRejection !== undefined);
  const lastTarget = cluster.status?.targetVersion;
  const requested = chooseRequested(observed, upgrade);
  const stepOn = (capabilities: ClassCapabilities) =>
    chooseVersion({ requested, lastTarget, live, catalogue, chained: capabilities.kubernetesVersions });
  const capabilities = classes.get(`${pinned.namespace}/${pinned.name}`);
  if (capabilities === undefined) return undefined;
  const choice = stepOn(capabilities);
  const upgrading = live !== undefined && choice.version !== live.version;
  if (upgrading && unknownPlan !== undefined) {
    return { classRef: pinned, capabilities, ...choice, version: live.version, problem: unknownPlan };
  }
  const planned = { name: plan.class, namespace: plan.namespace };
  const next = upgrading ? classes.get(`${planned.namespace}/${planned.name}`) : undefined;
  return next === undefined
    ? { classRef: pinned, capabilities, ...choice }
    : { classRef: planned, capabilities: next, ...stepOn(next) };
}

/** After a rejected upgrade the live version is kept, as if the last rollout had not converged. */
function readLive(state: CapiState, rejected: boolean) {
  return state.version === undefined
    ? undefined
    : { version: state.version, converged: state.converged && !rejected };
}

/**
 * The subnet that the cluster has: by its lock, its status, or the live topology; otherwise a free one. Undefined = none is
 * free.
 */
function chooseOwnSubnet(observed: ObservedCluster, id: string): string | undefined {
  const { locks, cluster, capi, settings } = observed;
  if (locks.own !== undefined) return locks.own.subnet;
  const known = cluster.status?.workerSubnet ?? capi?.state.workerSubnet;
  if (known !== undefined) return locks.taken.has(known) ? undefined : known;
  return chooseSubnet(settings.subnetRange, locks.taken, id);
}

/** A class whose name is too long for a label is selected by its plan. */
const MAX_LABEL_LENGTH = 63;

/** The labels say whose it is, and are what add-ons select it by. */
function describeCluster(
  observed: ObservedCluster,
  plan: PlanMapping,
  { id, className, version }: { id: string; className: string; version: string },
) {
  const { metadata, spec } = observed.cluster;
  const organization = observed.organization.kind === "known" ? observed.organization.id : "";
  return {
    namespace: metadata.namespace ?? "",
    name: metadata.name,
    owner: composeOwnerReference(observed.cluster),
    labels: {
      [LABEL_ID]: id,
      [LABEL_ORG_ID]: organization,
      ...(className.length <= MAX_LABEL_LENGTH && { [LABEL_CLUSTER_CLASS]: className }),
      [LABEL_PLAN]: spec.plan ?? DEFAULT_PLAN,
      [LABEL_KUBERNETES_MINOR]: version.split(".").slice(0, 2).join("."),
    },
    controlPlaneReplicas: spec.controlPlaneReplicas ?? plan.controlPlaneReplicas,
    controlPlaneDeletion: observed.settings.poolDefaults,
    plan: spec.plan,
    publicEndpoint: spec.publicEndpoint,
  };
}

/** On a Cluster API Cluster that was paused for a suspension: a pause by any other writer is never ended here. */
export const ANNOTATION_PAUSED = "cloud.marina.dev/paused-by-suspension";
const ANNOTATION_PATH = `/metadata/annotations/${ANNOTATION_PAUSED.replaceAll("/", "~1")}`;

/** Pauses Cluster API for a suspended cluster; nothing when it is paused already. */
export function planPause(capi: CapiCluster | undefined): Step[] {
  if (capi === undefined || capi.spec?.paused === true) return [];
  const { annotations } = capi.metadata;
  const annotate: JsonPatchOperation =
    annotations === undefined
      ? { op: "add", path: "/metadata/annotations", value: { [ANNOTATION_PAUSED]: "true" } }
      : { op: "add", path: ANNOTATION_PATH, value: "true" };
  return [patch(capi, [annotate, { op: "add", path: "/spec/paused", value: true }])];
}

/** Ends the pause of a suspension. */
export function planResume(capi: CapiCluster | undefined): Step[] {
  if (capi?.metadata.annotations?.[ANNOTATION_PAUSED] === undefined) return [];
  const operations: JsonPatchOperation[] = [{ op: "remove", path: ANNOTATION_PATH }];
  if (capi.spec?.paused !== undefined) operations.push({ op: "remove", path: "/spec/paused" });
  return [patch(capi, operations)];
}

function patch({ metadata }: CapiCluster, operations: JsonPatchOperation[]): Step {
  const { namespace = "", name } = metadata;
  return { verb: "patch", kind: capiClusterKind, namespace, name, operations };
}
