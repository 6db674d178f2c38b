import { formatTime } from "../../shared/controller/time.ts";
import { ANNOTATION_REPLACE_PREFIX } from "../../shared/crd/names.ts";
import type { NodePool, NodePoolStatus, NodePoolTransition } from "../../shared/crd/node-pool.ts";
import type { CapiMachine } from "../capi/pool-state.ts";
import type { ObservedPool } from "./observe.ts";

type Replacement = NonNullable<NodePoolStatus["replacements"]>[number];
type Replaced = Omit<NodePoolTransition, "sequence" | "at">;

/** The reason of a replacement that was requested by an annotation. */
const REQUESTED = "Requested";

export interface Replacements {
  /** Those in progress. */
  open: Replacement[];
  /** Those that ended now: written in the same patch that clears them. */
  done: Replaced[];
}

/** One node whose replacement an annotation requests. */
export interface Request {
  annotation: string;
  node: string;
  machine: CapiMachine | undefined;
}

/**
 * Follows the replacement of nodes. It begins with Cluster API's remediation of a Machine, visible for seconds, or with a
 * request, and is kept in the status. It ends when that Machine is deleted and a later one has a node. No times are compared,
 * because clocks differ: a later Machine is one that the last status did not contain. It is dropped when the pool is deleted
 * or no node is missing any more because the pool was scaled down.
 */
export function followReplacements(observed: ObservedPool, now: Date): Replacements {
  const { pool, machines } = observed;
  if (pool.metadata.deletionTimestamp !== undefined) return { open: [], done: [] };
  const known = pool.status?.replacements ?? [];
  const started = [...known, ...findStarted(observed, known, now)];
  const paired = pairSuccessors(started, pool.status, machines);
  const open: Replacement[] = [];
  const done: Replaced[] = [];
  for (const replacement of paired) {
    const successor = machines.find((machine) => machine.uid === replacement.successorUID);
    const gone = !machines.some((machine) => machine.uid === replacement.machineUID);
    if (gone && successor?.node !== undefined) done.push(describeEnd(replacement, successor.node));
    else if (!gone || successor !== undefined || lacksMachines(observed)) open.push(replacement);
  }
  return { open, done };
}

/** The nodes whose replacement annotations of the pool request. */
export function findRequests(pool: NodePool, machines: readonly CapiMachine[]): Request[] {
  return Object.keys(pool.metadata.annotations ?? {})
    .filter((annotation) => annotation.startsWith(ANNOTATION_REPLACE_PREFIX))
    .map((annotation) => {
      const node = annotation.slice(ANNOTATION_REPLACE_PREFIX.length);
      return { annotation, node, machine: machines.find((machine) => machine.node === node) };
    });
}

/** Whether the pool has fewer machines than requested of Cluster API, so that another one will be created. */
function lacksMachines({ capi, machines }: ObservedPool): boolean {
  return machines.filter((machine) => !machine.deleting).length < (capi?.replicas ?? 0);
}

function findStarted(observed: ObservedPool, known: readonly Replacement[], now: Date): Replacement[] {
  const { pool, machines, missedRemediations } = observed;
  const ofRequests = findRequests(pool, machines).flatMap(({ machine }) =>
    machine === undefined || machine.deleting ? [] : [{ ...machine, reason: REQUESTED }],
  );
  const marked = machines.flatMap((machine) =>
    machine.remediation === undefined ? [] : [{ ...machine, reason: machine.remediation }],
  );
  const lost = (pool.status?.machines ?? []).flatMap((machine) =>
    missedRemediations.has(machine.uid) && !machines.some(({ uid }) => uid === machine.uid)
      ? [{ ...machine, reason: "UnhealthyNode" }]
      : [],
  );
  const started = new Map<string, Replacement>();
  for (const { uid, name, node, reason } of [...ofRequests, ...marked, ...lost]) {
    // A machine that never had a node needs no replacement.
    const isNew = !known.some((replacement) => replacement.machineUID === uid) && !started.has(uid);
    if (node === undefined || !isNew) continue;
    started.set(uid, { machineUID: uid, machineName: name, node, reason, at: formatTime(now) });
  }
  return [...started.values()];
}

/** Assigns each open replacement one later machine; one that fails before it has a node is unassigned. */
function pairSuccessors(
  replacements: readonly Replacement[],
  last: NodePoolStatus | undefined,
  machines: readonly CapiMachine[],
): Replacement[] {
  const before = new Set((last?.machines ?? []).map((machine) => machine.uid));
  const assigned = replacements.map(({ successorUID, ...rest }) =>
    machines.some((machine) => machine.uid === successorUID) && successorUID !== undefined
      ? { ...rest, successorUID }
      : rest,
  );
  const taken = new Set(assigned.map((replacement: Replacement) => replacement.successorUID));
  const free = machines
    .filter(({ uid, deleting }) => !before.has(uid) && !taken.has(uid) && !deleting)
    .sort((left, right) => (left.createdAt < right.createdAt ? -1 : 1));
  return assigned.map((replacement: Replacement) => {
    if (replacement.successorUID !== undefined) return replacement;
    const successor = free.shift();
    return successor === undefined ? replacement : { ...replacement, successorUID: successor.uid };
  });
}

function describeEnd({ node, reason }: Replacement, newNode: string): Replaced {
  return { type: "NodeReplaced", ...(node !== undefined && { oldNode: node }), newNode, reason };
}
