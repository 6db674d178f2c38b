import { z } from "zod";
import { observedGenerationSchema, reason, timestamp } from "./fields.ts";

const MAX_CONDITION_MESSAGE_LENGTH = 4096;

/** Longest `status.message`. */
export const MAX_STATUS_MESSAGE_LENGTH = 1024;

/** What was there before is not there any more. */
export const INFRASTRUCTURE_LOST = "InfrastructureLost";

/** The platform cannot set taints of nodes, so node pools with taints are not created. */
export const TAINTS_UNAVAILABLE = "TaintsUnavailable";

/** Its end date had passed before anything was made of it. */
export const EXPIRED = "Expired";

export const conditionStatuses = ["True", "False", "Unknown"] as const;
export type ConditionStatus = (typeof conditionStatuses)[number];

/** The reasons that Marina itself gives for Clusters and NodePools, by what they mean to their owner. */
export const CONDITION_REASONS = {
  /** The aspect is as the specification requests. */
  healthy: [
    "Available",
    "ReconciliationSucceeded",
    "NotStalled",
    "NotScaling",
    "UpToDate",
    "EndpointReachable",
    "PrivateEndpoint",
    "NoNodePools",
    "Applied",
    "Enabled",
    "Protected",
  ],
  /** A change is being made. */
  progressing: [
    "Provisioning",
    "Scaling",
    "Updating",
    "CheckingUpgrade",
    "Upgrading",
    "RollingOut",
    "Suspending",
    "Deleting",
  ],
  /** Something else has to happen first. */
  waiting: [
    "WaitingForCluster",
    "WaitingForControlPlane",
    "WaitingForEndpoint",
    "WaitingForNodes",
    "NodeStartupTimeout",
    "DrainingNode",
    "WaitingForVolumeDetach",
    "MachineNotReleased",
    "WaitingForNodePools",
    "WaitingForAutoscaler",
    "WaitingForAddOns",
    "RequestedOnly",
    "ProviderUnreadable",
    "UpgradeInProgress",
    // The last owner of `spec.desiredNodes` no longer sets it, and the default that is stored since would remove nodes:
    // they are kept, and the pool waits for a new count.
    "CountReleased",
    "Paused",
    "Suspended",
    "DeletionProtected",
    "ProtectionPending",
    // The Namespace of what is protected from deletion is being deleted all the same.
    "NamespaceDeleting",
    "Held",
    "Restored",
    "ClusterAPIUnavailable",
  ],
  /** Something that worked does not work now. */
  degraded: [
    "ControlPlaneUnavailable",
    "EndpointUnreachable",
    "NodesUnhealthy",
    "CredentialsFailed",
    "BindingsFailed",
    "TenantAPIUnreachable",
    "AutoscalerUnavailable",
    "AddOnsFailed",
    "AddOnNotFound",
    "NotConfigured",
  ],
  /** A person has to act. */
  stalled: [
    "DuplicateID",
    "DuplicateName",
    "DuplicateOrganization",
    "UnknownOrganization",
    "UnknownPlan",
    "PlanRetired",
    "ReplicasNotInPlan",
    "UnknownVersion",
    "DowngradeRefused",
    "UpgradeBlocked",
    "UnsupportedByClass",
    "RejectedByClusterAPI",
    "ClassNotFound",
    "NoFreeSubnet",
    "NetworksOverlap",
    "AuthorizedCIDRsUnavailable",
    "NameTaken",
    "NodePoolsMissing",
    INFRASTRUCTURE_LOST,
    "WaitingForIdentity",
    "LabelsNotPropagated",
    TAINTS_UNAVAILABLE,
    "QuotaExceeded",
    EXPIRED,
  ],
} as const;

/** Conditions of an object at most, those of other controllers included. */
const MAX_CONDITIONS = 32;

/** As in the Kubernetes API: CamelCase, or with the domain of the controller that reports it in front. */
const CONDITION_TYPE_PATTERN =
  /^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?[A-Za-z]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;

/**
 * Conditions of one kind, as a Kubernetes list keyed by type, whose items have one owner each. The operator reports
 * `types`; other controllers may add their own. Same shape as the Condition of the Kubernetes API.
 */
export function conditionsSchema(types: readonly string[]) {
  const condition = z
    .object({
      type: z
        .string()
        .min(1)
        .max(316)
        .regex(CONDITION_TYPE_PATTERN)
        .meta({ description: "What the condition is about." }),
      status: z.enum(conditionStatuses).meta({ description: "True, False, or Unknown." }),
      reason: reason("Why the condition has this status, in one CamelCase word, for programs."),
      message: z
        .string()
        .max(MAX_CONDITION_MESSAGE_LENGTH)
        .meta({ description: "Why the condition has this status, in a sentence for people." }),
      lastTransitionTime: timestamp("When the status last changed from one value to another."),
      observedGeneration: observedGenerationSchema.optional(),
    })
    .meta({ description: "One aspect of the state of the object.", "x-kubernetes-map-type": "atomic" });
  return z
    .array(condition)
    .max(MAX_CONDITIONS)
    .meta({
      description: `Aspects of the state, one entry per type. The operator reports: ${types.join(", ")}.`,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["type"],
    });
}

const MAX_UNAPPLIED_PARTS = 128;

/** What `field` begins with for a node pool; the name of its object follows. */
export const UNAPPLIED_POOL_PREFIX = "nodePools/";

const unappliedPartSchema = z
  .object({
    field: z.string().min(1).max(128).meta({
      description:
        "The setting, by its path in the specification, or nodePools/ and the name of the object of a node pool.",
    }),
    reason: reason("Why it is not applied, in one CamelCase word, for programs."),
    message: z
      .string()
      .max(MAX_STATUS_MESSAGE_LENGTH)
      .meta({ description: "Why it is not applied, with the next step, in a sentence for people." }),
  })
  .meta({ description: "A part of the specification that is not applied." });

/** Parts of a specification that are not applied while all others are. */
export const unappliedSchema = z.array(unappliedPartSchema).max(MAX_UNAPPLIED_PARTS).meta({
  description:
    "Parts of the specification, node pools included, that are not applied while everything else is: each stays as it was before, and a new node pool is not created. Absent: there are none.",
  "x-kubernetes-list-type": "atomic",
});

export type UnappliedPart = z.output<typeof unappliedPartSchema>;

/** The parts as a status holds them, of which there may be as many as fit; undefined = none. */
export function truncateUnapplied(parts: readonly UnappliedPart[]): UnappliedPart[] | undefined {
  if (parts.length === 0) return undefined;
  return parts
    .slice(0, MAX_UNAPPLIED_PARTS)
    .map((part) => ({ ...part, message: truncateStatusMessage(part.message) }));
}

/** Shortens a text to the maximum length of a condition's message, so that a long error never blocks a status write. */
export function truncateConditionMessage(message: string): string {
  return truncate(message, MAX_CONDITION_MESSAGE_LENGTH);
}

/** Shortens a text to the maximum length of `status.message`. */
export function truncateStatusMessage(message: string): string {
  return truncate(message, MAX_STATUS_MESSAGE_LENGTH);
}

function truncate(message: string, maxLength: number): string {
  const points = Array.from(message);
  return points.length <= maxLength ? message : `${points.slice(0, maxLength - 1).join("")}…`;
}
