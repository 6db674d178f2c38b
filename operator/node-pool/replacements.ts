import { ANNOTATION_REPLACE_PREFIX } from "../../shared/crd/names.ts";
import type { NodePool, NodePoolStatus, NodePoolTransition } from "../../shared/crd/node-pool.ts";
import type { EngineMachine } from "../engine/pool-state.ts";
import { formatTime } from "../runtime/conditions.ts";
import type { ObservedPool } from "./observe.ts";

type Replacement = NonNullable<NodePoolStatus["replacements"]>[number];
type Replaced = Omit<NodePoolTransition, "sequence" | "at">;

/** The reason of a replacement that somebody asked for. */
const REQUESTED = "Requested";

export interface Replacements {
  /** Those that are under way. */
  open: Replacement[];
  /** Those that ended now: to be written in the same patch that clears them. */
  done: Replaced[];
}

/** One node whose replacement is asked for by an annotation. */
export interface Request {
  annotation: string;
  node: string;
  machine: EngineMachine | undefined;
}

/**
 * Follows the replacement of nodes. One begins with the engine's own mark on a Machine, which is there for seconds on
 * real remediations alone, or with a request, and is kept in the status. It ends when that Machine is gone and a Machine
 * that came after the beginning has a node. No times are compared: clocks differ; what came after is what the last status
 * did not know. It is dropped when the pool goes or no node is missing any more: the pool was made smaller.
 */
export function followReplacements(observed: ObservedPool, now: Date): Replacements {
  const { pool, machines } = observed;
  if (pool.metadata.deletionTimestamp !== undefined) return { open: [], done: [] };
  const known = pool.status?.replacements ?? [];
  const begun = [...known, ...findBeginnings(observed, known, now)];
  const paired = pairSuccessors(begun, pool.status, machines);
  const open: Replacement[] = [];
  const done: Replaced[] = [];
  for (const replacement of paired) {
    const successor = machines.find((machine) => machine.uid === replacement.successorUID);
    const gone = !machines.some((machine) => machine.uid === replacement.machineUID);
    if (gone && successor?.node !== undefined) done.push(describeEnd(replacement, successor.node));
    else if (!gone || successor !== undefined || isMissed(observed)) open.push(replacement);
  }
  return { open, done };
}

/** The nodes that annotations of the pool ask to replace. */
export function findRequests(pool: NodePool, machines: readonly EngineMachine[]): Request[] {
  return Object.keys(pool.metadata.annotations ?? {})
    .filter((annotation) => annotation.startsWith(ANNOTATION_REPLACE_PREFIX))
    .map((annotation) => {
      const node = annotation.slice(ANNOTATION_REPLACE_PREFIX.length);
      return { annotation, node, machine: machines.find((machine) => machine.node === node) };
    });
}

/** Whether the pool has fewer machines than it shall have, so that another one is still to come. */
function isMissed({ engine, machines }: ObservedPool): boolean {
  return machines.filter((machine) => !machine.deleting).length < (engine?.desired ?? 0);
}

function findBeginnings(observed: ObservedPool, known: readonly Replacement[], now: Date): Replacement[] {
  const { pool, machines, missedMarks } = observed;
  const ofRequests = findRequests(pool, machines).flatMap(({ machine }) =>
    machine === undefined || machine.deleting ? [] : [{ ...machine, reason: REQUESTED }],
  );
  const marked = machines.flatMap((machine) =>
    machine.remediation === undefined ? [] : [{ ...machine, reason: machine.remediation }],
  );
  const lost = (pool.status?.machines ?? []).flatMap((machine) =>
    missedMarks.has(machine.uid) && !machines.some(({ uid }) => uid === machine.uid)
      ? [{ ...machine, reason: "UnhealthyNode" }]
      : [],
  );
  const begun = new Map<string, Replacement>();
  for (const { uid, name, node, reason } of [...ofRequests, ...marked, ...lost]) {
    // A machine that never had a node replaces nothing.
    const isNew = !known.some((replacement) => replacement.machineUID === uid) && !begun.has(uid);
    if (node === undefined || !isNew) continue;
    begun.set(uid, { machineUID: uid, machineName: name, node, reason, at: formatTime(now) });
  }
  return [...begun.values()];
}

/** Gives each open replacement one machine that came after it began; one that fails before it has a node is let go. */
function pairSuccessors(
  replacements: readonly Replacement[],
  last: NodePoolStatus | undefined,
  machines: readonly EngineMachine[],
): Replacement[] {
  const before = new Set((last?.machines ?? []).map((machine) => machine.uid));
  const standing = replacements.map(({ successorUID, ...rest }) =>
    machines.some((machine) => machine.uid === successorUID) && successorUID !== undefined
      ? { ...rest, successorUID }
      : rest,
  );
  const taken = new Set(standing.map((replacement: Replacement) => replacement.successorUID));
  const free = machines
    .filter(({ uid, deleting }) => !before.has(uid) && !taken.has(uid) && !deleting)
    .sort((left, right) => (left.createdAt < right.createdAt ? -1 : 1));
  return standing.map((replacement: Replacement) => {
    if (replacement.successorUID !== undefined) return replacement;
    const successor = free.shift();
    return successor === undefined ? replacement : { ...replacement, successorUID: successor.uid };
  });
}

function describeEnd({ node, reason }: Replacement, newNode: string): Replaced {
  return { type: "NodeReplaced", ...(node !== undefined && { oldNode: node }), newNode, reason };
}
