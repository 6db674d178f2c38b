import { isDeepStrictEqual } from "node:util";
import type { MetadataChange, Plan, Step } from "../../shared/controller/plan.ts";
import type { RecordedEvent } from "../../shared/controller/recorder.ts";
import type { NodePool, NodePoolStatus } from "../../shared/crd/node-pool.ts";
import { machineDeploymentKind, machineKind } from "../engine/kinds.ts";
import { findIdentityFault, findMissingMetadata, hasFinalizer } from "../identity.ts";
import { composePoolEvent, composePoolEvents } from "./events.ts";
import type { ObservedPool } from "./observe.ts";
import { findRequests } from "./replacements.ts";
import { composePoolStatus } from "./status.ts";

/**
 * What to do for one pool. Its machines are made by the cluster, which puts the pool into its topology; what is left
 * here is the pool's identity, its status, and holding it until its machines are gone.
 */
export function reconcilePool(observed: ObservedPool, now: Date): Plan<NodePoolStatus> {
  const { pool, organization } = observed;
  const { metadata } = pool;
  const deleting = metadata.deletionTimestamp !== undefined;
  const leftover = deleting ? findLeftover(observed, now) : NO_LEFTOVER;
  if (deleting && (isGone(observed) || leftover.isHeld)) return release(observed, leftover);
  const stranger = findIdentityFault(metadata.namespace ?? "", organization, observed.olderTwin);
  const fault = stranger ?? (deleting ? undefined : observed.heldBack);
  const { status, requeueAfterMs } = composePoolStatus(observed, fault, now);
  const changed = !isDeepStrictEqual(status, pool.status);
  const served = !deleting && stranger === undefined;
  const requests = served ? planRequests(observed) : NO_REQUESTS;
  return {
    metadata: served ? findMetadataChange(observed, requests.answered) : undefined,
    apply: [],
    remove: [...requests.remove, ...leftover.remove],
    status: changed ? status : undefined,
    events: [...(changed ? composePoolEvents(observed, status) : []), ...requests.events],
    releaseFinalizer: false,
    requeueAfterMs: leftover.requeueAfterMs ?? requeueAfterMs,
  };
}

/**
 * Whether nothing is left of a deleted pool: the engine has acted on a topology without it, and its MachineDeployment
 * and Machines are gone. The same name used earlier would leak the engine's health checks.
 */
function isGone(observed: ObservedPool): boolean {
  return observed.leftTopology && observed.engine === undefined && observed.machines.length === 0;
}

/** A MachineDeployment that outlived the engine's cluster, and what is to be done about it. */
interface Leftover {
  remove: Step[];
  requeueAfterMs: number | undefined;
  /** Its finalizers hold it, and none of the engine's controllers will take them off. */
  isHeld: boolean;
}

const NO_LEFTOVER: Leftover = { remove: [], requeueAfterMs: undefined, isHeld: false };
/** Longer than a deletion without a cluster takes. */
const LEFTOVER_MS = 30_000;

/**
 * Without its cluster none of the engine's controllers looks at a MachineDeployment any more. Seen after restarts of the
 * API server: 25 that no controller had taken in yet stayed when their clusters were deleted, and the pools with them.
 */
function findLeftover({ engine, engineClusterGone, machines, pool }: ObservedPool, now: Date): Leftover {
  if (!engineClusterGone || engine === undefined || machines.length > 0) return NO_LEFTOVER;
  if (engine.deletedAt === undefined) {
    const { namespace = "" } = pool.metadata;
    const { name, uid } = engine;
    return {
      ...NO_LEFTOVER,
      remove: [{ verb: "delete", kind: machineDeploymentKind, namespace, name, uid }],
    };
  }
  const waitMs = LEFTOVER_MS - (now.getTime() - Date.parse(engine.deletedAt));
  return waitMs > 0 ? { ...NO_LEFTOVER, requeueAfterMs: waitMs } : { ...NO_LEFTOVER, isHeld: true };
}

function release(observed: ObservedPool, { isHeld }: Leftover): Plan<NodePoolStatus> {
  return {
    metadata: undefined,
    apply: [],
    remove: [],
    status: undefined,
    events: isHeld ? [composePoolEvent(observed, "Warning", "LeftBehind", describeLeftover(observed))] : [],
    releaseFinalizer: hasFinalizer(observed.pool.metadata),
    requeueAfterMs: undefined,
  };
}

function describeLeftover({ pool, engine }: ObservedPool): string {
  const place = `${pool.metadata.namespace}/${engine?.name}`;
  return `The engine has left the MachineDeployment ${place} behind, of which nothing runs and which nobody looks at any more: remove its finalizers.`;
}

/**
 * A pool has no owner reference: one that names the Cluster of before a restore would have the garbage collector delete the
 * restored pool, and with it all its nodes. The deletion of a cluster deletes its pools by itself.
 */
function findMetadataChange(
  observed: ObservedPool,
  dropAnnotations: readonly string[],
): MetadataChange | undefined {
  const { pool, organization } = observed;
  if (organization.kind !== "known") return undefined;
  const missing = findMissingMetadata(pool.metadata, organization.id, observed.candidateId);
  const drops = dropAnnotations.length > 0;
  return missing === undefined && !drops ? undefined : { ...missing, ...(drops && { dropAnnotations }) };
}

const NO_REQUESTS: RequestPlan = { answered: [], remove: [], events: [] };

interface RequestPlan {
  /** Annotations that have been acted on. */
  answered: string[];
  remove: Step[];
  events: RecordedEvent[];
}

/**
 * Acts on the annotations that ask for a node to be replaced. First the status tells of the replacement, then the Machine
 * is deleted, and when that is seen the annotation goes: killed in between, it goes on where it was.
 */
function planRequests(observed: ObservedPool): RequestPlan {
  const { pool, machines } = observed;
  const plan: RequestPlan = { answered: [], remove: [], events: [] };
  for (const { annotation, node, machine } of findRequests(pool, machines)) {
    if (machine === undefined || machine.deleting) {
      plan.answered.push(annotation);
      if (machine === undefined && !isReplaced(pool, node)) {
        const note = `There is no node ${node} that could be replaced.`;
        plan.events.push(composePoolEvent(observed, "Warning", "NodeNotFound", note));
      }
    } else if (pool.status?.replacements?.some(({ machineUID }) => machineUID === machine.uid)) {
      const { namespace = "" } = pool.metadata;
      plan.remove.push({
        verb: "delete",
        kind: machineKind,
        namespace,
        name: machine.name,
        uid: machine.uid,
      });
    }
  }
  return plan;
}

function isReplaced({ status }: NodePool, node: string): boolean {
  return (
    (status?.replacements ?? []).some((replacement) => replacement.node === node) ||
    (status?.transitions ?? []).some((transition) => transition.oldNode === node)
  );
}
