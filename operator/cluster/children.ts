import { withAppliedHash } from "../../shared/controller/applied.ts";
import type { Problem } from "../../shared/controller/conditions.ts";
import type { Step } from "../../shared/controller/plan.ts";
import { TAINTS_UNAVAILABLE, type UnappliedPart } from "../../shared/crd/conditions.ts";
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
import { type CapiCluster, capiClusterKind } from "../capi/kinds.ts";
import { composeCapiCluster, type DesiredCluster, findUnsupported } from "../capi/topology.ts";
import { findExpired } from "../expiry/expiry.ts";
import { displayNameOf } from "../identity/identity.ts";
import { composeNameElsewhere, composeNameTaken, composeOwnerReference } from "../identity/ownership.ts";
import { chooseSubnet, findNetworkProblem } from "../subnets/range.ts";
import { wasProvisioned } from "./loss.ts";
import {
  chooseNetwork,
  chooseNetworkRules,
  composePrivateEndpointWait,
  composeUnsupported,
  type NetworkRulesChoice,
} from "./networks.ts";
import type { ObservedCluster, ServicePlan } from "./observe.ts";
import { choosePools, type PoolChoice } from "./pools.ts";
import { describeRejected, findRetainedLimit, withLiveParts } from "./rejections.ts";
import {
  chooseClassAndVersion,
  composeUnknownServicePlan,
  findLiveClass,
  findTermsProblem,
  type ResolvedChoice,
  retainServicePlan,
} from "./service-plan.ts";
import { findBlockedUpgrade, type RequestedUpgrade } from "./upgrade-gate.ts";

/** The desired state, or why there is none. A `problem` in addition to the state is about a part that was left unchanged. */
export type Decision =
  | {
      ok: true;
      target: string | undefined;
      subnet: string;
      capiCluster: CapiCluster;
      problem: Problem | undefined;
      /** Network rules that alone wait. */
      unappliedRules: readonly UnappliedPart[];
      /** Other parts that are not applied although everything else is. */
      unapplied: readonly UnappliedPart[];
    }
  | {
      ok: false;
      problem: Problem;
      target: string | undefined;
      /** No person has to act on it: the cluster waits until the platform supports it. */
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
  const isNew = observed.capi === undefined && !wasProvisioned(observed);
  const expired = isNew ? findExpired("cluster", cluster, now) : undefined;
  if (expired !== undefined) return { ok: false, problem: expired, target: undefined };
  const termsProblem = findTermsProblem(observed);
  if (termsProblem !== undefined && observed.capi === undefined)
    return { ok: false, problem: termsProblem, target: undefined };
  const planName = cluster.spec.plan ?? DEFAULT_PLAN;
  const found = Object.hasOwn(settings.servicePlans, planName) ? settings.servicePlans[planName] : undefined;
  const servicePlan = found ?? retainServicePlan(observed);
  if (servicePlan === undefined)
    return { ok: false, problem: composeUnknownServicePlan(observed, planName), target: undefined };
  const unknownPlan = found === undefined ? composeUnknownServicePlan(observed, planName) : undefined;
  if (observed.nameTaken)
    return { ok: false, problem: composeNameTaken(cluster.metadata.name), target: undefined };
  if (observed.capi === undefined && observed.blocker !== undefined)
    return { ok: false, problem: observed.blocker, target: undefined };
  const liveClass = findLiveClass(observed, servicePlan);
  const chosen = chooseClassAndVersion(observed, upgrade, servicePlan, liveClass, unknownPlan);
  if (chosen === undefined) {
    const message = `The cluster class ${liveClass.name} does not exist; ask the platform's operator to install it.`;
    return fail("ClassNotFound", message);
  }
  const { choice: wanted, liveChoice } = chosen;
  if (observed.nameTakenElsewhere && !wanted.capabilities.hasNamesPerNamespace)
    return { ok: false, problem: composeNameElsewhere(cluster.metadata.name), target: wanted.target };
  if (wanted.version === undefined) return { ok: false, problem: wanted.problem, target: undefined };
  const known = cluster.status?.workerSubnet ?? observed.capi?.state.workerSubnet;
  const subnet = findOwnSubnet(observed, known, id);
  if (subnet === undefined) {
    const name = displayNameOf(cluster);
    const message =
      known === undefined
        ? `The platform has no free /24 network left for the workers of ${name}; delete a cluster that is not needed, or ask the platform's operator for a wider range.`
        : `The network ${known} of the workers of ${name} belongs to another cluster now. Ask the platform's operator which of the two is to be deleted.`;
    return fail("NoFreeSubnet", message, wanted.target);
  }
  const clusterNetwork = chooseNetwork(observed);
  const overlapping = observed.capi === undefined ? findNetworkProblem(clusterNetwork, subnet) : undefined;
  if (overlapping !== undefined) return { ok: false, problem: overlapping, target: wanted.target };
  const live = observed.capi?.object;
  const replicas =
    termsProblem && (live?.spec?.topology?.controlPlane?.replicas ?? servicePlan.controlPlaneReplicas);
  const compose = (choice: ResolvedChoice) =>
    composeDraft(observed, choice, {
      ...describeCluster(observed, servicePlan, {
        id,
        className: choice.classRef.name,
        version: choice.version,
      }),
      ...(replicas !== undefined && { controlPlaneReplicas: replicas }),
      workerSubnet: subnet,
      clusterNetwork,
      pools: choosePools(observed, choice.capabilities, now),
    });
  const [first, liveDraft] = [compose(wanted), liveChoice && compose(liveChoice)];
  const lack = liveDraft && findLack(first, liveDraft);
  const { choice, desired, rules, unapplied } = lack === undefined ? first : (liveDraft ?? first);
  const { target } = choice;
  if (rules.listProblem !== undefined && live === undefined)
    return { ok: false, problem: rules.listProblem, target };
  if (!desired.publicEndpoint && live === undefined && !choice.capabilities.variables.has("publicEndpoint"))
    return { ok: false, problem: composePrivateEndpointWait(choice.classRef.name), target, isWait: true };
  const [unsupported] = findUnsupported(desired, choice.capabilities);
  if (unsupported !== undefined)
    return { ok: false, problem: composeUnsupported(choice.classRef.name, unsupported), target };
  const retained = withLiveParts(composeCapiCluster(desired, choice.capabilities), live, observed.rejected);
  const rejected = describeRejected(observed);
  return {
    ok: true,
    target,
    subnet,
    problem: findBlockedUpgrade(upgrade) ?? choice.problem ?? rejected.problem,
    unappliedRules: describeRules(
      rules,
      rejected.rules,
      findRetainedLimit(desired.apiServerRateLimit, retained),
    ),
    unapplied: [
      ...(lack === undefined ? [] : [{ field: "version", ...lack }]),
      ...(termsProblem === undefined ? [] : [{ field: "controlPlaneReplicas", ...termsProblem }]),
      ...rejected.unapplied,
      ...unapplied,
    ],
    capiCluster: withAppliedHash(retained, ANNOTATION_APPLIED),
  };
}

/** One entry for each rule: what is rejected is retained too. */
function describeRules(
  { listProblem, limitProblem }: NetworkRulesChoice,
  rejected: readonly UnappliedPart[],
  retainedLimit: Problem | undefined,
): UnappliedPart[] {
  const describe = (name: keyof NetworkRules, problem: Problem | undefined): UnappliedPart[] =>
    problem === undefined ? [] : [{ field: `network.${name}`, ...problem }];
  const parts = [
    ...describe("authorizedCIDRs", listProblem),
    ...describe("apiServerRateLimit", limitProblem),
    ...rejected,
    ...describe("apiServerRateLimit", retainedLimit),
  ];
  return parts.filter(({ field }, index) => parts.findIndex((part) => part.field === field) === index);
}

/** What Cluster API is to get with a class and a version. */
interface Draft {
  choice: ResolvedChoice;
  desired: DesiredCluster;
  rules: NetworkRulesChoice;
  /** Pools that are not as specified. */
  unapplied: readonly UnappliedPart[];
}

function composeDraft(
  observed: ObservedCluster,
  choice: ResolvedChoice,
  {
    pools,
    ...rest
  }: Omit<DesiredCluster, keyof NetworkRules | "pools" | "classRef" | "version"> & {
    pools: PoolChoice;
  },
): Draft {
  const rules = chooseNetworkRules(observed, choice, rest.workerSubnet);
  const { authorizedCIDRs, apiServerRateLimit } = rules;
  const { classRef, version } = choice;
  const sent = { authorizedCIDRs, apiServerRateLimit };
  return {
    choice,
    rules,
    unapplied: pools.unapplied,
    desired: { ...rest, ...sent, classRef, version, pools: pools.pools },
  };
}

type NetworkRules = Pick<DesiredCluster, "authorizedCIDRs" | "apiServerRateLimit">;

/** What the cluster uses of its class and the class of its upgrade lacks: it waits for a class that has it. Undefined = nothing. */
function findLack({ choice, desired, rules, unapplied }: Draft, live: Draft): Problem | undefined {
  const { name } = choice.classRef;
  const [unsupported] = findUnsupported(desired, choice.capabilities);
  const lacksTaints = (parts: readonly UnappliedPart[]) =>
    parts.some(({ reason }) => reason === TAINTS_UNAVAILABLE);
  const what = unsupported ?? (lacksTaints(unapplied) && !lacksTaints(live.unapplied) && "taints of nodes");
  const lack =
    (what ? composeUnsupported(name, what) : undefined) ??
    (live.rules.listProblem === undefined ? rules.listProblem : undefined) ??
    (live.rules.limitProblem === undefined ? rules.limitProblem : undefined);
  if (lack === undefined) return undefined;
  const message = `The upgrade to Kubernetes ${choice.target ?? choice.version} waits, for it brings another cluster class. ${lack.message}`;
  return { reason: lack.reason, message };
}

function fail(reason: string, message: string, target?: string): Decision {
  return { ok: false, problem: { reason, message }, target };
}

/**
 * The subnet that the cluster has: by its allocation, or `known` from its status or the live topology; otherwise a free one.
 * Undefined = none is free, or another cluster has the known one.
 */
function findOwnSubnet(observed: ObservedCluster, known: string | undefined, id: string): string | undefined {
  const { subnets, settings } = observed;
  if (subnets.own !== undefined) return subnets.own.subnet;
  if (known !== undefined) return subnets.taken.has(known) ? undefined : known;
  return chooseSubnet(settings.subnetRange, subnets.taken, id);
}

/** A class whose name is too long for a label is selected by its plan. */
const MAX_LABEL_LENGTH = 63;

/** The labels say whose it is, and are what add-ons select it by. */
function describeCluster(
  observed: ObservedCluster,
  servicePlan: ServicePlan,
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
    controlPlaneReplicas: spec.controlPlaneReplicas ?? servicePlan.controlPlaneReplicas,
    controlPlaneDeletionTimeouts: observed.settings.poolDefaults,
    plan: spec.plan,
    publicEndpoint: spec.publicEndpoint,
  };
}

/** On a Cluster API Cluster that was paused for a suspension: a pause by any other writer is never ended here. */
export const ANNOTATION_PAUSED = "cloud.marina.dev/paused-by-suspension";
const ANNOTATION_PATH = `/metadata/annotations/${ANNOTATION_PAUSED.replaceAll("/", "~1")}`;

/** Pauses Cluster API for a suspended cluster; nothing when it is paused already. */
export function planPause(capiCluster: CapiCluster | undefined): Step[] {
  if (capiCluster === undefined || capiCluster.spec?.paused === true) return [];
  const { annotations } = capiCluster.metadata;
  const annotate: JsonPatchOperation =
    annotations === undefined
      ? { op: "add", path: "/metadata/annotations", value: { [ANNOTATION_PAUSED]: "true" } }
      : { op: "add", path: ANNOTATION_PATH, value: "true" };
  return [patch(capiCluster, [annotate, { op: "add", path: "/spec/paused", value: true }])];
}

/** Ends the pause of a suspension. */
export function planResume(capiCluster: CapiCluster | undefined): Step[] {
  if (capiCluster?.metadata.annotations?.[ANNOTATION_PAUSED] === undefined) return [];
  const operations: JsonPatchOperation[] = [{ op: "remove", path: ANNOTATION_PATH }];
  if (capiCluster.spec?.paused !== undefined) operations.push({ op: "remove", path: "/spec/paused" });
  return [patch(capiCluster, operations)];
}

function patch({ metadata }: CapiCluster, operations: JsonPatchOperation[]): Step {
  const { namespace = "", name } = metadata;
  return { verb: "patch", kind: capiClusterKind, namespace, name, operations };
}
