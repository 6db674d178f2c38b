import { formatTime } from "../../shared/controller/time.ts";
import { MAX_GONE_MACHINES } from "../../shared/crd/fields.ts";
import type { NodePoolMachine, NodePoolStatus } from "../../shared/crd/node-pool.ts";
import type { CapiMachine } from "../capi/pool-state.ts";
import { hashPoolSettings } from "../capi/worker-pool.ts";
import { composeDesiredPool } from "./children.ts";
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
  const known = new Set(kept.map(({ uid }) => uid));
  const added = [...lastByUID.values()].filter(({ uid }) => !present.has(uid) && !known.has(uid));
  return {
    machines: listed,
    gone: [...kept, ...added.map((machine) => toGone(machine, now))].slice(-MAX_GONE_MACHINES),
  };
}

function presentMachine(
  { name, uid, node, phase, ready, version, outdated, createdAt }: CapiMachine,
  size: Size | undefined,
): NodePoolMachine {
  return {
    name,
    uid,
    ...(node !== undefined && { node }),
    phase,
    ready,
    ...(version !== undefined && { version }),
    ...(outdated && { outdated }),
    createdAt,
    ...size,
  };
}

function toGone(machine: NodePoolMachine, now: Date): GoneMachine {
  const { uid, node, createdAt } = machine;
  return { uid, ...pickSize(machine), createdAt, goneAt: formatTime(now), hadNode: node !== undefined };
}

/**
 * The size of a machine that is listed for the first time. One made from the current template has that of the pool, once
 * Cluster API has been given the pool's settings, else that of what Cluster API was given: the specification may ask for
 * less than what runs. Any other has that of the newest known machine. undefined: not known yet.
 */
function createSizeFinder({
  pool,
  capi,
  granted,
  poolDefaults,
}: ObservedPool): (machine: CapiMachine) => Size | undefined {
  const { vcpus, memoryGB, diskGB } = pool.spec;
  const specified = { vcpus, memoryGB, diskGB };
  const isGiven = capi?.settings === hashPoolSettings(composeDesiredPool(pool, poolDefaults));
  const newest = (pool.status?.machines ?? [])
    .toSorted((left, right) => Date.parse(right.createdAt) - Date.parse(left.createdAt))
    .flatMap((machine) => pickSize(machine) ?? [])[0];
  const ofTemplate = granted?.settings === capi?.settings ? granted?.machine : undefined;
  return ({ outdated }) => {
    if (outdated === undefined) return undefined;
    if (outdated) return newest ?? granted?.machine ?? specified;
    return isGiven ? specified : (ofTemplate ?? newest ?? granted?.machine ?? specified);
  };
}

function pickSize({ vcpus, memoryGB, diskGB }: Size): Size | undefined {
  return vcpus === undefined ? undefined : { vcpus, memoryGB, diskGB };
}
