/** What is priced by the unit and month, in the order of the rate card. */
export const RESOURCE_TYPES = [
  "control_plane",
  "vcpu",
  "memory",
  "disk",
  "storage_block",
  "storage_rwx",
  "loadbalancer",
  "registry",
  "snapshot",
  "public_ip",
] as const;

export type ResourceType = (typeof RESOURCE_TYPES)[number];

/** What an interval uses: a resource type of the rate card, or the package of a cluster by its slug. */
export type MeteredType = ResourceType | `plan:${string}`;

/** A use of one resource from one instant to another: both are whole seconds, and the second one is excluded. */
export interface UsageInterval {
  organizationId: string;
  /** null: a use of the organization, which belongs to no cluster. */
  clusterId: string | null;
  /** The name of the cluster: in the ledger when the use began, and where it is read for rating now. */
  clusterName: string | null;
  /** Set for the resources of a node pool's machines. */
  nodePoolId: string | null;
  resourceType: MeteredType;
  /**
   * Whole units: GiB of memory, disk, storage_block and snapshot, bytes of storage_rwx and registry, else a count.
   * Negative in a correction, which takes back so much of what an earlier interval says for the same time.
   */
  quantity: bigint;
  startedAt: Date;
  /** null: it continues. */
  endedAt: Date | null;
}
