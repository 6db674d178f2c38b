import { isInSync } from "../../shared/controller/applied.ts";
import type { Problem } from "../../shared/controller/conditions.ts";
import { composePlan, type MetadataChange, type Plan, type Step } from "../../shared/controller/plan.ts";
import { nameAdminSecret } from "../../shared/crd/admin-secret.ts";
import type { ClusterStatus } from "../../shared/crd/cluster.ts";
import { idOf } from "../../shared/crd/identity.ts";
import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import { earliest, elapsedMs } from "../../shared/program/time.ts";
import { RECONCILE_FAILURE_LASTS_MS } from "../capi/cluster-state.ts";
import { type CapiCluster, capiClusterKind } from "../capi/kinds.ts";
import { planPoolEntryRemoval } from "../capi/topology.ts";
import {
  findIdentityChange,
  findIdentityProblem,
  findMissingFinalizer,
  hasFinalizer,
  isFinalized,
  isSuspended,
  readIdentity,
} from "../identity/identity.ts";
import { planSubnetAllocation, planSubnetRelease } from "../subnets/allocation.ts";
import { planSecretRemoval } from "../tenant/secret-role.ts";
import { type Decision, decideChildren, planPause, planResume } from "./children.ts";
import { composeBegunUpgrade, composeForeignPoolEvent, composePhaseEvents } from "./events.ts";
import { findHandledRecreation, findLoss, planCapiUidRecord, planRecreation } from "./loss.ts";
import { decideRulesState, mustCorrectStatus } from "./networks.ts";
import type { ObservedCluster } from "./observe.ts";
import { keepUnapplied } from "./pools.ts";
import { composeRejection } from "./rejections.ts";
import { changedStatus, composeClusterStatus, type StatusInput } from "./status.ts";
import { composeRejectedPatch } from "./summary.ts";
import { decideUpgrade } from "./upgrade-gate.ts";
import {
  composeMissingPools,
  findClusterDeletionWait,
  findHandledPoolDeletion,
  findMissingPools,
  findPoolRemovalWait,
  findPoolWait,
  isAppliedOwner,
  planAdoption,
} from "./waits.ts";

/** A rejected request is retried now and then: its cause may have ended unnoticed. */
const RETRY_REJECTED_MS = 60_000;

/** The garbage collector needs less, once the control plane is deleted. */
const FORMER_CA_WAIT_MS = 1_000;

type ClusterPlan = Plan<ClusterStatus>;

/** Decides what to do for one cluster. Once its result is in the caches, it plans nothing more. */
export function reconcileCluster(observed: ObservedCluster, now: Date): ClusterPlan {
  const { metadata } = observed.cluster;
  if (metadata.deletionTimestamp !== undefined) return planDeletion(observed, now);
  const { organization } = observed;
  const identity = readIdentity(observed.cluster, isAppliedOwner(observed));
  const upgrade = decideUpgrade(observed);
  const problem = findIdentityProblem(organization, observed.olderDuplicate, identity) ?? findLoss(observed);
  if (problem !== undefined || organization.kind !== "known") {
    const adoption = identity === "unconfirmed" ? { write: planAdoption(observed), remove: [] } : NO_STEPS;
    const plan = composeClusterPlan(adoption, { ...NOTHING_DECIDED, observed, upgrade, problem }, now);
    return organization.kind === "known" ? { ...plan, metadata: findMissingFinalizer(metadata) } : plan;
  }
  const id = idOf(observed.cluster) ?? observed.candidateId;
  const decision = decideChildren(observed, upgrade, id, now);
  const pending = decision.ok ? planSteps(observed, decision, id, now) : NO_STEPS;
  const changes = planSuspension(observed, pending);
  // First of all: what Cluster API rejects must not prevent that the uid of what it has made is recorded.
  const steps = { ...changes, write: [...planCapiUidRecord(observed), ...changes.write] };
  const missing = decision.ok ? findMissingPools(observed) : [];
  const rejection = decision.ok ? findRejection(observed, now) : NO_REJECTION;
  const rulesState = decision.ok ? decideRulesState(observed, decision.capiCluster) : undefined;
  // The status says first that the rules are not in force; the reconcile after that write sends them.
  const isApplyDeferred = rulesState === "unsent" && mustCorrectStatus(observed);
  const toApply = isApplyDeferred ? NO_STEPS : steps;
  const unapplied = decision.ok ? decision.unapplied : [];
  // While nothing is sent, what the last status says of rejected parts stays: Cluster API says nothing new of them.
  const isUnavailable = observed.applyFailure?.kind === "unavailable";
  const isNothingSent = isApplyDeferred || isUnavailable || isSuspended(observed.cluster);
  const input: StatusInput = {
    observed,
    upgrade,
    ...chooseProblem(decision, rejection, missing),
    id,
    target: decision.target,
    subnet: decision.ok ? decision.subnet : undefined,
    clusterClass: decision.ok ? decision.capiCluster.spec?.topology?.classRef.name : undefined,
    unapplied: isNothingSent ? keepUnapplied(observed, decision.ok ? decision : undefined) : unapplied,
    unappliedRules: decision.ok ? decision.unappliedRules : [],
    rulesState,
    isCarriedOut:
      decision.ok &&
      isCarriedOut(observed, pending) &&
      rejection.problem === undefined &&
      missing.length === 0,
  };
  const plan = composeClusterPlan(toApply, input, now);
  return {
    ...plan,
    metadata: findMetadataChange(observed, organization.id),
    requeueAfterMs: earliest([
      plan.requeueAfterMs,
      rejection.requeueAfterMs,
      steps.waitMs,
      ...observed.pools.map((pool) => findPoolRemovalWait(observed, pool, now)),
    ]),
  };
}

/** What a person has to solve, or what the cluster waits for until the platform supports it. */
function chooseProblem(
  decision: Decision,
  rejection: RejectionReport,
  missingPools: readonly string[],
): Pick<StatusInput, "problem" | "wait"> {
  if (!decision.ok && decision.isWait) return { problem: undefined, wait: decision.problem };
  const missing = missingPools.length > 0 ? composeMissingPools(missingPools) : undefined;
  return { problem: missing ?? rejection.problem ?? decision.problem, wait: undefined };
}

function findMetadataChange(observed: ObservedCluster, organizationId: string): MetadataChange | undefined {
  const change = findIdentityChange(observed.cluster, organizationId, observed.candidateId);
  const dropAnnotations = [
    ...(change?.dropAnnotations ?? []),
    ...findHandledPoolDeletion(observed),
    ...findHandledRecreation(observed),
  ];
  return dropAnnotations.length === 0 ? change : { ...change, dropAnnotations };
}

interface Steps {
  write: Step[];
  remove: Step[];
  /** For how many ms the cluster is not applied yet. */
  waitMs?: number;
}

const NO_STEPS: Steps = { write: [], remove: [] };
const NOTHING_DECIDED = {
  upgrade: undefined,
  wait: undefined,
  id: undefined,
  target: undefined,
  subnet: undefined,
  clusterClass: undefined,
  unapplied: [],
  unappliedRules: [],
  rulesState: undefined,
  isCarriedOut: false,
};

/** Whether nothing is left to write, and Cluster API has observed the generation of its object, unless the cluster is suspended. */
function isCarriedOut({ cluster, capi }: ObservedCluster, steps: Steps): boolean {
  if (steps.write.length > 0 || steps.waitMs !== undefined) return false;
  // While it is paused, Cluster API observes nothing.
  return capi?.state.isGenerationObserved === true || (capi !== undefined && isSuspended(cluster));
}

/** A suspended cluster is paused and left unchanged; a resumed one gets what it missed. */
function planSuspension({ cluster, capi }: ObservedCluster, pending: Steps): Steps {
  if (isSuspended(cluster)) return { write: planPause(capi?.object), remove: [] };
  return { ...pending, write: [...planResume(capi?.object), ...pending.write] };
}

/** The allocation of the subnet first: no Cluster API object is created before its network is certain. */
function planSteps(
  observed: ObservedCluster,
  decision: Decision & { ok: true },
  id: string,
  now: Date,
): Steps {
  const { capi, subnets, settings } = observed;
  const desired = decision.capiCluster;
  const allocation =
    subnets.own === undefined ? [planSubnetAllocation(settings.platformNamespace, decision.subnet, id)] : [];
  if (capi?.state.deleting) return { write: allocation, remove: [] };
  const recreation = planRecreation(observed);
  if (recreation !== undefined) return { write: allocation, remove: [recreation] };
  // Cluster API would take over the CA of an earlier cluster of this name, and lose it a moment later.
  if (observed.hasFormerCa) return { write: allocation, remove: [], waitMs: FORMER_CA_WAIT_MS };
  const ours = new Set(desired.spec?.topology?.workers?.machineDeployments?.map((pool) => pool.name));
  const waitMs = capi === undefined ? findPoolWait(observed, ours, now) : undefined;
  if (waitMs !== undefined) return { write: allocation, remove: [], waitMs };
  if (findMissingPools(observed).length > 0)
    return { write: [...allocation, ...planAdoption(observed)], remove: [] };
  if (!isInSync(desired, capi?.object)) {
    // One that is gone meanwhile is not made again: it is lost, or its deletion goes on.
    const precondition = capi === undefined ? { isNew: true } : { uid: capi.object.metadata.uid };
    return {
      write: [...allocation, { verb: "apply", kind: capiClusterKind, object: desired, ...precondition }],
      remove: [],
    };
  }
  const foreign = capi?.state.poolNames.find((name) => !ours.has(name));
  const object = capi?.object;
  if (foreign === undefined || object === undefined) return { write: allocation, remove: [] };
  const event = composeForeignPoolEvent(observed, foreign);
  return { write: allocation, remove: [{ ...planPoolEntryRemoval(object, foreign), event }] };
}

interface RejectionReport {
  problem: Problem | undefined;
  requeueAfterMs: number | undefined;
}

const NO_REJECTION: RejectionReport = { problem: undefined, requeueAfterMs: undefined };

/** The problem when Cluster API rejected everything, or fails to reconcile it. An upgrade alone is no problem: `unapplied` lists it. */
function findRejection(observed: ObservedCluster, now: Date): RejectionReport {
  const { applyFailure, upgradeRejection, capi } = observed;
  if (applyFailure?.kind === "rejected") {
    const { verb, message } = applyFailure;
    const problem = verb === "patch" ? composeRejectedPatch(observed, message) : composeRejection(message);
    return { problem, requeueAfterMs: undefined };
  }
  if (upgradeRejection !== undefined) return { problem: undefined, requeueAfterMs: RETRY_REJECTED_MS };
  const failure = capi?.state.reconcileFailure;
  if (failure === undefined) return NO_REJECTION;
  const remaining = RECONCILE_FAILURE_LASTS_MS - elapsedMs(failure.since, now);
  if (remaining > 0) return { problem: undefined, requeueAfterMs: remaining };
  return { problem: composeRejection(failure.message), requeueAfterMs: undefined };
}

/**
 * Cluster API removes workers, control plane and infrastructure in this order by itself. The admin kubeconfig is deleted, the
 * finalizer released, and the subnet free again, when its object and our pools have been observed to be deleted.
 */
function planDeletion(observed: ObservedCluster, now: Date): ClusterPlan {
  const { cluster, capi, subnets, settings } = observed;
  if (!hasFinalizer(cluster.metadata)) return composePlan();
  const remove: Step[] = observed.pools
    .filter(({ pool }) => pool.metadata.deletionTimestamp === undefined)
    .map(({ pool }) => ({
      verb: "delete",
      kind: nodePoolKind,
      namespace: pool.metadata.namespace ?? "",
      name: pool.metadata.name,
      uid: pool.metadata.uid,
    }));
  const waitMs = findClusterDeletionWait(observed, now);
  if (capi !== undefined && !capi.state.deleting && waitMs === undefined) {
    const { namespace = "", name, uid } = capi.object.metadata;
    remove.push({ verb: "delete", kind: capiClusterKind, namespace, name, uid });
  }
  const isFullyDeleted = capi === undefined && observed.pools.every(({ pool }) => isFinalized(pool));
  if (isFullyDeleted) {
    // The subnet of a cluster with an older duplicate belongs to that one.
    const allocation = observed.olderDuplicate === undefined ? subnets.own : undefined;
    const { namespace = "", name } = cluster.metadata;
    remove.push(...planSecretRemoval(namespace, nameAdminSecret(name)));
    if (allocation !== undefined) remove.push(planSubnetRelease(settings.platformNamespace, allocation));
    return composePlan({ remove, releaseFinalizer: true });
  }
  const input: StatusInput = { ...NOTHING_DECIDED, observed, problem: undefined };
  const plan = composeClusterPlan({ write: planResume(capi?.object), remove }, input, now);
  return { ...plan, requeueAfterMs: earliest([plan.requeueAfterMs, waitMs]) };
}

/**
 * These steps with the status; after a failed apply the status alone, and what was rejected is tried again in a minute.
 *
 * The Warning of an upgrade that begins is the Event of the step that sends Cluster API the version: no later plan sees that it
 * has just begun. Without such a step in this plan it goes out with the status.
 */
function composeClusterPlan(steps: Steps, input: StatusInput, now: Date): ClusterPlan {
  const { observed, upgrade } = input;
  const { applyFailure } = observed;
  const { write, remove } = applyFailure === undefined ? steps : NO_STEPS;
  const { status, requeueAfterMs } = composeClusterStatus(input, now);
  const changed = changedStatus(observed.cluster.status, status);
  const warning = changed && composeBegunUpgrade(observed, upgrade, changed.targetVersion);
  const step = findUpgradeStep(observed, write);
  const events = changed === undefined ? [] : composePhaseEvents(observed, changed);
  return composePlan({
    write:
      warning === undefined ? write : write.map((one) => (one === step ? { ...one, event: warning } : one)),
    remove,
    status: changed,
    events: warning === undefined || step !== undefined ? events : [warning, ...events],
    requeueAfterMs:
      applyFailure?.kind === "rejected" ? earliest([requeueAfterMs, RETRY_REJECTED_MS]) : requeueAfterMs,
  });
}

/** The step by which Cluster API gets another version than it has; undefined = none, also for a cluster that is created. */
export function findUpgradeStep({ capi }: ObservedCluster, steps: readonly Step[]): Step | undefined {
  if (capi === undefined) return undefined;
  return steps.find((step) => {
    if (step.verb !== "apply" || step.kind !== capiClusterKind) return false;
    const { spec } = step.object as CapiCluster;
    return spec?.topology?.version !== capi.object.spec?.topology?.version;
  });
}
