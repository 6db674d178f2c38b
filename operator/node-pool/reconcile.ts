import { isDeepStrictEqual } from "node:util";
import { composePlan, type MetadataChange, type Plan, type Step } from "../../shared/controller/plan.ts";
import type { RecordedEvent } from "../../shared/controller/recorder.ts";
import type { NodePool, NodePoolStatus } from "../../shared/crd/node-pool.ts";
import { machineKind } from "../capi/kinds.ts";
import { findExpired, isExpiredNewPool } from "../expiry/expiry.ts";
import { findIdentityChange, findMissingFinalizer, hasFinalizer, isDeleting } from "../identity/identity.ts";
import { findRemainingMachineDeployment, findStage, NOTHING_TO_DO } from "./deletion.ts";
import { composePoolEvent, composePoolEvents } from "./events.ts";
import { findReplaceRequests } from "./machines.ts";
import type { ObservedPool } from "./observe.ts";
import { composePoolStatus, findPoolIdentityProblem, ownPoolStatus } from "./status.ts";

type PoolPlan = Plan<NodePoolStatus>;

/**
 * Decides what to do for one pool. Its machines are created through its cluster, which puts the pool into its topology; what
 * is left here is the pool's identity, its status, the replacement of nodes, and in its deletion a MachineDeployment that remains
 * and the finalizer.
 */
export function reconcilePool(gathered: ObservedPool, now: Date): PoolPlan {
  const observed = withExpiry(gathered, now);
  const { pool } = observed;
  const deleting = isDeleting(pool);
  const isSuspended = observed.cluster?.suspended === true;
  const remaining = deleting && !isSuspended ? findRemainingMachineDeployment(observed, now) : NOTHING_TO_DO;
  if (deleting && (isFullyDeleted(observed) || remaining.isStuck)) return release(observed, now);
  const identityProblem = findPoolIdentityProblem(observed);
  const problem = identityProblem ?? (deleting ? undefined : observed.blocker);
  const { status, progress, requeueAfterMs } = composePoolStatus(observed, problem, now);
  const changed = isDeepStrictEqual(status, ownPoolStatus(pool.status)) ? undefined : status;
  const isReconciled = !deleting && identityProblem === undefined;
  const replacements = isReconciled && !isSuspended ? planReplacements(observed) : NO_REPLACEMENTS;
  return composePlan({
    metadata: isReconciled ? findMetadataChange(observed, replacements) : planFinalizer(observed),
    remove: [...replacements.remove, ...remaining.remove],
    status: changed,
    events: changed === undefined ? [] : composePoolEvents(observed, changed, findStage(observed, progress)),
    requeueAfterMs: remaining.requeueAfterMs ?? requeueAfterMs,
  });
}

/** A pool that is not made because its end date has passed is blocked by that. */
function withExpiry(observed: ObservedPool, now: Date): ObservedPool {
  const { pool, topologyPool, machineDeployment, machines } = observed;
  const isThere = machineDeployment !== undefined || machines.length > 0;
  if (isThere || !isExpiredNewPool(pool, topologyPool, now)) return observed;
  return { ...observed, blocker: findExpired("node pool", pool, now) };
}

/**
 * Whether nothing is left of a deleted pool: Cluster API has observed a topology without it, and its MachineDeployment and
 * Machines are deleted. Reusing the name earlier would leak Cluster API's health checks.
 */
function isFullyDeleted({ isOutsideTopology, machineDeployment, machines }: ObservedPool): boolean {
  return isOutsideTopology && machineDeployment === undefined && machines.length === 0;
}

/** The last status of a pool says when its last machines were deleted, and that it has no nodes. */
function release(observed: ObservedPool, now: Date): PoolPlan {
  const { pool } = observed;
  const { machines = [], nodes = 0 } = pool.status ?? {};
  const isOutdated = machines.length > 0 || nodes > 0;
  return composePlan({
    status: isOutdated ? composePoolStatus(observed, undefined, now).status : undefined,
    releaseFinalizer: hasFinalizer(pool.metadata),
  });
}

/**
 * A pool has no owner reference: after a restore it would name the old Cluster, and the garbage collector would delete the
 * pool with all its nodes. The deletion of a cluster deletes its pools explicitly.
 */
function findMetadataChange(
  observed: ObservedPool,
  { handled, events }: ReplacementPlan,
): MetadataChange | undefined {
  const { pool, organization } = observed;
  if (organization.kind !== "known") return undefined;
  const change = findIdentityChange(pool, organization.id, observed.candidateId);
  const dropAnnotations = [...(change?.dropAnnotations ?? []), ...handled];
  return dropAnnotations.length === 0 ? change : { ...change, dropAnnotations, events };
}

function planFinalizer({ pool, organization }: ObservedPool): MetadataChange | undefined {
  return organization.kind === "known" && !isDeleting(pool) ? findMissingFinalizer(pool.metadata) : undefined;
}

interface ReplacementPlan {
  /** Annotations whose request is complete. */
  handled: string[];
  remove: Step[];
  events: RecordedEvent[];
}

const NO_REPLACEMENTS: ReplacementPlan = { handled: [], remove: [], events: [] };

/**
 * Handles the annotations that request the replacement of a node. First the status records the replacement, then the Machine
 * is deleted, and when that is observed the annotation is removed: after a crash it continues where it was.
 */
function planReplacements(observed: ObservedPool): ReplacementPlan {
  const { pool, machines } = observed;
  const plan: ReplacementPlan = { handled: [], remove: [], events: [] };
  for (const { annotation, node, machine } of findReplaceRequests(pool, machines)) {
    if (machine === undefined || machine.deleting) {
      plan.handled.push(annotation);
      if (machine === undefined && !isReplaced(pool, node)) plan.events.push(composeNotFound(observed, node));
    } else if (pool.status?.replacements?.some(({ machineUID }) => machineUID === machine.uid)) {
      const { namespace = "" } = pool.metadata;
      const { name, uid } = machine;
      plan.remove.push({ verb: "delete", kind: machineKind, namespace, name, uid });
    }
  }
  return plan;
}

function composeNotFound(observed: ObservedPool, node: string): RecordedEvent {
  const message = `There is no node ${node} to replace.`;
  return composePoolEvent(observed, {
    type: "Warning",
    reason: "NodeNotFound",
    action: "ReplaceNode",
    message,
  });
}

function isReplaced({ status }: NodePool, node: string): boolean {
  return (
    (status?.replacements ?? []).some((replacement) => replacement.node === node) ||
    (status?.transitions ?? []).some((transition) => transition.oldNode === node)
  );
}
