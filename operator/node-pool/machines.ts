import { MAX_GONE_MACHINES } from "../../shared/crd/fields.ts";
import { ANNOTATION_REPLACE_PREFIX } from "../../shared/crd/names.ts";
import {
  isBilled,
  type NodePool,
  type NodePoolMachine,
  type NodePoolStatus,
  type NodePoolTransition,
} from "../../shared/crd/node-pool.ts";
import { formatTime } from "../../shared/program/time.ts";
import type { MachineState } from "../capi/pool-state.ts";
import type { ObservedPool } from "./observe.ts";

/** Long enough for a reader that was away: what bills machines loses none of them within this time. */
const KEPT_MS = 24 * 3_600_000;

type GoneMachine = NonNullable<NodePoolStatus["goneMachines"]>[number];
type Size = Pick<NodePoolMachine, "vcpus" | "memoryGB" | "diskGB">;

/** The machines that the pool has, and those that it had within the last day. */
export interface ListedMachines {
  machines: NodePoolMachine[];
  gone: GoneMachine[];
}

/**
 * A machine keeps the size that it was first listed with, for its size never changes: a pool of another size gets other
 * machines. One that the last status lists and that does not exist any more counts as deleted at `now`.
 */
export function listMachines(observed: ObservedPool, now: Date): ListedMachines {
  const { pool, machines } = observed;
  const last = pool.status;
  const lastByUID = new Map((last?.machines ?? []).map((machine) => [machine.uid, machine]));
  const sizeOf = createSizeFinder(observed);
  const listed = machines.map((machine) => {
    const before = lastByUID.get(machine.uid);
    return presentMachine(machine, (before && pickSize(before)) ?? sizeOf(machine));
  });
  const present = new Set(machines.map(({ uid }) => uid));
  const keptSince = now.getTime() - KEPT_MS;
  const kept = (last?.goneMachines ?? []).filter(
    ({ uid, goneAt }) => !present.has(uid) && Date.parse(goneAt) > keptSince,
  );
  const alreadyGone = new Set(kept.map(({ uid }) => uid));
  const added = [...lastByUID.values()].filter(({ uid }) => !present.has(uid) && !alreadyGone.has(uid));
  const gone = [...kept, ...added.map((machine) => toGone(machine, now))];
  // Where there are too many, those that are not billed are dropped, then those that went first.
  const unbilled = gone.filter(({ hadNode }) => !hadNode);
  const dropped = new Set(unbilled.slice(0, gone.slice(MAX_GONE_MACHINES).length));
  return {
    machines: listed,
    gone: gone.filter((machine) => !dropped.has(machine)).slice(-MAX_GONE_MACHINES),
  };
}

function presentMachine(
  { name, uid, node, provisioned, phase, ready, version, outdated, createdAt }: MachineState,
  size: Size | undefined,
): NodePoolMachine {
  return {
    name,
    uid,
    ...(node !== undefined && { node }),
    ...(provisioned && { provisioned }),
    phase,
    ready,
    ...(version !== undefined && { version }),
    ...(outdated && { outdated }),
    createdAt,
    ...size,
  };
}

function toGone(machine: NodePoolMachine, now: Date): GoneMachine {
  const { uid, createdAt } = machine;
  return { uid, ...pickSize(machine), createdAt, goneAt: formatTime(now), hadNode: isBilled(machine) };
}

/**
 * The size of a machine that is listed for the first time: that of its template, for spec and topology may have changed since.
 * Where the template is not in the cache: of a current machine the size in the topology, once the MachineDeployment has it, else
 * that of the newest listed machine, of the topology or of the spec. undefined = its template is not known yet.
 */
function createSizeFinder({
  pool,
  machineDeployment,
  topologyPool,
}: ObservedPool): (machine: MachineState) => Size | undefined {
  const { vcpus, memoryGB, diskGB } = pool.spec;
  const newest = (pool.status?.machines ?? [])
    .toSorted((left, right) => Date.parse(right.createdAt) - Date.parse(left.createdAt))
    .flatMap((machine) => pickSize(machine) ?? [])[0];
  const fallback = newest ?? topologyPool?.machineSize ?? { vcpus, memoryGB, diskGB };
  const isPropagated =
    topologyPool?.appliedHash !== undefined && topologyPool.appliedHash === machineDeployment?.appliedHash;
  const current = (isPropagated ? topologyPool.machineSize : undefined) ?? fallback;
  return ({ outdated, size }) => {
    if (size !== undefined || outdated === undefined) return size;
    return outdated ? fallback : current;
  };
}

function pickSize({ vcpus, memoryGB, diskGB }: Size): Size | undefined {
  return vcpus === undefined ? undefined : { vcpus, memoryGB, diskGB };
}

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
export interface ReplaceRequest {
  annotation: string;
  node: string;
  machine: MachineState | undefined;
}

/**
 * Follows the replacement of nodes in the status: from the remediation of a Machine, visible for seconds, or a request,
 * until that Machine is deleted and a later one has a node. Later is what the last status did not contain, for clocks
 * differ. It is dropped when the pool is deleted or scaled down so that no node is missing.
 */
export function followReplacements(observed: ObservedPool, now: Date): Replacements {
  const { pool, machines } = observed;
  if (pool.metadata.deletionTimestamp !== undefined) return { open: [], done: [] };
  const recorded = pool.status?.replacements ?? [];
  const started = [...recorded, ...findStarted(observed, recorded, now)];
  const paired = pairSuccessors(started, pool.status, machines);
  const open: Replacement[] = [];
  const done: Replaced[] = [];
  for (const replacement of paired) {
    const successor = machines.find((machine) => machine.uid === replacement.successorUID);
    const isDeleted = !machines.some((machine) => machine.uid === replacement.machineUID);
    if (isDeleted && successor?.node !== undefined) done.push(describeEnd(replacement, successor.node));
    else if (!isDeleted || successor !== undefined || lacksMachines(observed)) open.push(replacement);
  }
  return { open, done };
}

/** The nodes whose replacement annotations of the pool request. */
export function findReplaceRequests(pool: NodePool, machines: readonly MachineState[]): ReplaceRequest[] {
  return Object.keys(pool.metadata.annotations ?? {})
    .filter((annotation) => annotation.startsWith(ANNOTATION_REPLACE_PREFIX))
    .map((annotation) => {
      const node = annotation.slice(ANNOTATION_REPLACE_PREFIX.length);
      return { annotation, node, machine: machines.find((machine) => machine.node === node) };
    });
}

/** Whether the pool has fewer machines than requested of Cluster API, so that another one will be created. */
function lacksMachines({ machineDeployment, machines }: ObservedPool): boolean {
  return machines.filter((machine) => !machine.deleting).length < (machineDeployment?.replicas ?? 0);
}

function findStarted(observed: ObservedPool, recorded: readonly Replacement[], now: Date): Replacement[] {
  const { pool, machines, missedRemediations } = observed;
  const ofRequests = findReplaceRequests(pool, machines).flatMap(({ machine }) =>
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
    const isNew = !recorded.some((replacement) => replacement.machineUID === uid) && !started.has(uid);
    if (node === undefined || !isNew) continue;
    started.set(uid, { machineUID: uid, machineName: name, node, reason, at: formatTime(now) });
  }
  return [...started.values()];
}

/** Assigns each open replacement one later machine; one that fails before it has a node is unassigned. */
function pairSuccessors(
  replacements: readonly Replacement[],
  last: NodePoolStatus | undefined,
  machines: readonly MachineState[],
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
