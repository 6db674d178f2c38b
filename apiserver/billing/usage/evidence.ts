import type { MeteredType } from "../resource-types.ts";

/** What is metered as one: its quantities change and end together. */
export type EvidenceKind = "control_plane" | "cluster_resources" | "machine" | "shared_storage" | "registry";

/** Why a use ended: its end was observed, or was not observed, or its last figure is too old. */
export type EndReason = "ended" | "not_seen" | "expired";

/** In the units of UsageInterval, as decimal integers; what is not named is not in use. */
export type Quantities = Partial<Record<MeteredType, string>>;

/** From `at` on, until the next evidence of the same kind and subject, these quantities are in use and no others. */
export interface EvidenceSample {
  /** ISO 8601, whole seconds. */
  at: string;
  quantities: Quantities;
  clusterId: string | null;
  clusterName: string | null;
  nodePoolId: string | null;
  endReason?: EndReason;
}

/** What an interval is made from. */
export interface Evidence {
  id: string;
  organizationId: string;
  kind: EvidenceKind;
  /** The uid of a machine, else the id of the cluster or of the organization. */
  subject: string;
  /** metadata.uid of the object in which it was seen; of the registry, the id of the organization. */
  objectUid: string;
  sample: EvidenceSample;
}

/** What belongs to all evidence of one subject. */
export type Metered = Omit<Evidence, "id" | "sample"> &
  Pick<EvidenceSample, "clusterId" | "clusterName" | "nodePoolId">;

/** Evidence that has no id yet. */
export type NewEvidence = Omit<Evidence, "id">;

const TYPES: Record<EvidenceKind, (type: MeteredType) => boolean> = {
  control_plane: (type) => type === "control_plane" || type.startsWith("plan:"),
  cluster_resources: (type) => ["public_ip", "storage_block", "loadbalancer", "snapshot"].includes(type),
  machine: (type) => ["vcpu", "memory", "disk"].includes(type) || type.startsWith("plan:"),
  shared_storage: (type) => type === "storage_rwx",
  registry: (type) => type === "registry",
};

/** Whether evidence of this kind covers this type. */
export function isOfKind(kind: EvidenceKind, type: MeteredType): boolean {
  return TYPES[kind](type);
}

/** From `at` on the subject uses this; 0 and undefined: not in use. */
export function composeEvidence(
  { clusterId, clusterName, nodePoolId, ...evidence }: Metered,
  at: Date,
  use: Record<string, number | undefined>,
  endReason?: EndReason,
): NewEvidence {
  const used = Object.entries(use).filter(([, quantity = 0]) => quantity > 0);
  const quantities = Object.fromEntries(used.map(([type, quantity]) => [type, String(quantity)]));
  const sample = { at: toWholeSecond(at).toISOString(), quantities, clusterId, clusterName, nodePoolId };
  return { ...evidence, sample: { ...sample, ...(endReason && { endReason }) } };
}

/** The beginning of the second that an instant lies in. */
function toWholeSecond(instant: Date): Date {
  return new Date(Math.floor(instant.getTime() / 1000) * 1000);
}
