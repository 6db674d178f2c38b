import type { Cluster, ClusterSpec, ClusterStatus } from "../../../shared/crd/cluster.ts";
import type { NodePool } from "../../../shared/crd/node-pool.ts";
import { type LatestInterval, type LatestIntervals, latestIntervalsOf } from "./apply-evidence.ts";
import { composeEvidence, type EndReason, type Metered, type NewEvidence } from "./evidence.ts";

/** In the units of UsageInterval; 0 and undefined: not in use. */
export type Use = Record<string, number | undefined>;

/** Resources of a machine; undefined: not known yet. */
export interface MachineSize {
  vcpus?: number | undefined;
  memoryGB?: number | undefined;
  diskGB?: number | undefined;
}

/** A cluster's control plane and package. */
export function useOfControlPlane({ plan }: Pick<ClusterSpec, "plan">): Use {
  return { control_plane: 1, ...useOfPackage(plan) };
}

function useOfPackage(plan: string | undefined): Use {
  return plan === undefined ? {} : { [`plan:${plan}`]: 1 };
}

/** What a cluster uses in addition to its control plane and nodes, as its status names it. */
export function useOfStatus({ publicAddress, usage }: ClusterStatus = {}): Use {
  return {
    public_ip: publicAddress === undefined ? 0 : 1,
    storage_block: usage?.blockStorageGB,
    loadbalancer: usage?.loadBalancers,
    snapshot: usage?.snapshotGB,
  };
}

/**
 * A node, from the creation of its machine, with the package of its cluster, which counts from the first instant that
 * anything of the cluster does.
 */
export function useOfMachine({ vcpus, memoryGB, diskGB }: MachineSize, plan: string | undefined): Use {
  return { vcpu: vcpus, memory: memoryGB, disk: diskGB, ...useOfPackage(plan) };
}

/**
 * Evidence that the subject uses this, if the ledger does not say so. It begins at `first` when the ledger knows
 * nothing of the subject, else at `now`: what it recorded as ended, or as another quantity, is not changed afterwards.
 */
export function followUse(
  metered: Metered,
  latest: LatestIntervals,
  use: Use,
  { first, now }: { first: Date; now: Date },
): NewEvidence[] {
  const known = latestIntervalsOf(latest, metered.kind, metered.subject);
  if (isInUse(known, use)) return [];
  return [composeEvidence(metered, known.length === 0 ? first : now, use)];
}

/** Evidence that the subject used this from `first` to its end, as far as the ledger does not say so. */
export function endUse(
  metered: Metered,
  latest: LatestIntervals,
  { use, first, end }: { use: Use; first: Date; end: UseEnd },
): NewEvidence[] {
  const known = latestIntervalsOf(latest, metered.kind, metered.subject);
  const ended = composeEvidence(metered, end.at, {}, end.reason);
  if (known.some(isRunning)) return [ended];
  if (known.length > 0 || isNothing(use) || first >= end.at) return [];
  return [composeEvidence(metered, first, use), ended];
}

/** Whether these intervals of one subject say that it uses this, and nothing else. */
export function isInUse(known: readonly LatestInterval[], use: Use): boolean {
  const running = known.filter(isRunning);
  const wanted = usedOf(use);
  const quantityOf = (type: string) => running.find(({ resourceType }) => resourceType === type)?.quantity;
  return (
    running.length === wanted.length &&
    wanted.every(([type, quantity]) => quantityOf(type) === BigInt(quantity ?? 0))
  );
}

export function isNothing(use: Use): boolean {
  return usedOf(use).length === 0;
}

function usedOf(use: Use): [type: string, quantity: number | undefined][] {
  return Object.entries(use).filter(([, quantity = 0]) => quantity > 0);
}

function isRunning({ endedAt }: LatestInterval): boolean {
  return endedAt === null;
}

/** The end of a use. */
export interface UseEnd {
  at: Date;
  reason: EndReason;
}

/** An object of the Kubernetes API as it was last seen. */
interface Seen<Kind> {
  uid: string;
  organizationId: string;
  clusterId: string;
  clusterName: string;
  object: Kind;
  /** Since when it is deleted; undefined while it exists. */
  end: UseEnd | undefined;
}

export type SeenCluster = Seen<Cluster>;

export interface SeenPool extends Seen<NodePool> {
  nodePoolId: string;
  /** The package of its cluster; undefined: without one, or the cluster is not known. */
  plan: string | undefined;
}
