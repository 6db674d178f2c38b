import { FINALIZER } from "../../../shared/crd/names.ts";
import { isBilled, type NodePoolMachine, type NodePoolStatus } from "../../../shared/crd/node-pool.ts";
import type { LatestIntervals } from "./apply-evidence.ts";
import type { Metered, NewEvidence } from "./evidence.ts";
import {
  endUse,
  followUse,
  type SeenCluster,
  type SeenPool,
  type UseEnd,
  useOfControlPlane,
  useOfMachine,
  useOfStatus,
} from "./uses.ts";

/**
 * What a Cluster shows that the ledger does not have yet. Its control plane and its package count from its first Ready
 * to its end, whatever happens in between; after the first Ready also what its status names, each use from when it was
 * first seen. One that others keep, by finalizers of theirs, ends when the operator has removed its own.
 */
export function findClusterEvidence(
  { object, uid, organizationId, clusterId, clusterName, ...seen }: SeenCluster,
  latest: LatestIntervals,
  now: Date,
): NewEvidence[] {
  const { firstReadyAt } = object.status ?? {};
  if (firstReadyAt === undefined) return [];
  const subject = { organizationId, subject: clusterId, objectUid: uid };
  const metered = { ...subject, clusterId, clusterName, nodePoolId: null };
  const controlPlane = { ...metered, kind: "control_plane" } as const;
  const resources = { ...metered, kind: "cluster_resources" } as const;
  const use = useOfControlPlane(object.spec);
  const end = seen.end ?? (isFinalized(object) ? ({ at: now, reason: "ended" } as const) : undefined);
  const first = new Date(firstReadyAt);
  if (end !== undefined)
    return [
      ...endUse(controlPlane, latest, { use, first, end }),
      ...endUse(resources, latest, { use: {}, first, end }),
    ];
  return [
    ...followUse(controlPlane, latest, use, { first, now }),
    ...followUse(resources, latest, useOfStatus(object.status), { first: now, now }),
  ];
}

/** Nothing of it is left: admission lets nobody else take the finalizer away. */
function isFinalized({ metadata }: SeenCluster["object"]): boolean {
  return metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(FINALIZER) !== true;
}

type GoneMachine = NonNullable<NodePoolStatus["goneMachines"]>[number];

/** What the ledger holds of a pool. */
interface PoolLedger {
  latest: LatestIntervals;
  /** The uids of the machines of the pool that it says are in use. */
  running: ReadonlySet<string>;
  /** The last instant at which everything that exists was seen and written to the ledger. */
  lastSeenAt: Date;
}

/**
 * What a NodePool shows of its machines that the ledger does not have yet. A machine counts from its creation, once its
 * infrastructure exists or it has or had a node, until it is deleted. One that the pool no longer lists ended when it was last seen.
 */
export function findMachineEvidence(
  pool: SeenPool,
  { latest, running, lastSeenAt }: PoolLedger,
  now: Date,
): NewEvidence[] {
  const { machines = [], goneMachines = [] } = pool.object.status ?? {};
  const listed = new Set([...machines, ...goneMachines].map(({ uid }) => uid));
  const lostEnd = pool.end ?? ({ at: lastSeenAt, reason: "not_seen" } as const);
  return [
    ...goneMachines.flatMap((machine) => findGone(toMetered(pool, machine.uid), latest, machine, pool)),
    ...machines.flatMap((machine) => findPresent(toMetered(pool, machine.uid), latest, machine, pool, now)),
    ...[...running]
      .filter((uid) => !listed.has(uid))
      .flatMap((uid) => end(toMetered(pool, uid), latest, lostEnd)),
  ];
}

function findGone(
  metered: Metered,
  latest: LatestIntervals,
  machine: GoneMachine,
  { plan }: SeenPool,
): NewEvidence[] {
  return endUse(metered, latest, {
    use: machine.hadNode ? useOfMachine(machine, plan) : {},
    first: new Date(machine.createdAt),
    end: { at: new Date(machine.goneAt), reason: "ended" },
  });
}

function findPresent(
  metered: Metered,
  latest: LatestIntervals,
  machine: NodePoolMachine,
  { plan, end: poolEnd }: SeenPool,
  now: Date,
): NewEvidence[] {
  const isCounted = isBilled(machine) && machine.vcpus !== undefined;
  const use = isCounted ? useOfMachine(machine, plan) : {};
  const first = new Date(machine.createdAt);
  if (poolEnd !== undefined) return endUse(metered, latest, { use, first, end: poolEnd });
  return isCounted ? followUse(metered, latest, use, { first, now }) : [];
}

function end(metered: Metered, latest: LatestIntervals, at: UseEnd): NewEvidence[] {
  return endUse(metered, latest, { use: {}, first: at.at, end: at });
}

function toMetered(pool: SeenPool, machineUID: string): Metered {
  const { organizationId, clusterId, clusterName, nodePoolId, uid } = pool;
  return {
    organizationId,
    kind: "machine",
    subject: machineUID,
    objectUid: uid,
    clusterId,
    clusterName,
    nodePoolId,
  };
}
