import { z } from "zod";
import { defineKind, type ObjectMeta } from "../kube/kind.ts";
import { authorizedCIDRsSchema } from "./cidr.ts";
import { clusterNetworkSchema, clusterNetworkTransitionRule } from "./cluster-network.ts";
import { conditionsSchema, MAX_STATUS_MESSAGE_LENGTH, unappliedSchema } from "./conditions.ts";
import {
  deletionProtection,
  displayNameSchema,
  expiresAt,
  integer,
  kubernetesVersion,
  MAX_TRANSITIONS,
  reason,
  statusGenerationSchema,
  statusIdSchema,
  timestamp,
  transitionSequenceSchema,
} from "./fields.ts";
import { labelsSchema } from "./labels.ts";
import { GROUP, VERSION } from "./names.ts";
import { immutable, type TransitionRule, withRules } from "./rule.ts";
import { upgradeChecks } from "./upgrade-checks.ts";

export const clusterPhases = [
  "Provisioning",
  "Ready",
  "Scaling",
  "Upgrading",
  "Degraded",
  "Deleting",
  "Failed",
] as const;
export type ClusterPhase = (typeof clusterPhases)[number];

export const clusterConditionTypes = [
  "Ready",
  "ControlPlaneReady",
  "WorkersReady",
  "EndpointReachable",
  "AccessReady",
  "Registered",
  "NetworkPolicyApplied",
  "AddOnsApplied",
  "Upgrading",
  "UpgradeBlocked",
  "ClusterAPIPaused",
  "Suspended",
  "DeletionProtected",
  "ExpiryHeld",
  "Reconciling",
  "Stalled",
] as const;
export type ClusterConditionType = (typeof clusterConditionTypes)[number];

export const clusterTransitionTypes = ["Ready", "Upgraded", "Degraded", "Recovered", "Failed"] as const;
export type ClusterTransitionType = (typeof clusterTransitionTypes)[number];

/** The largest number that every client and every class of Cluster API can carry as an integer. */
const MAX_INT32 = 2_147_483_647;

export const apiServerRateLimitSchema = z
  .object({
    maxConnectionsPerSecond: integer(1, MAX_INT32, "Average number of new connections accepted per second."),
    burst: integer(1, MAX_INT32, "Additional new connections accepted in a burst."),
  })
  .meta({ description: "Limits new connections to the public API endpoint. Absent means no limit." });

const networkSchema = z
  .object({
    authorizedCIDRs: authorizedCIDRsSchema.optional(),
    apiServerRateLimit: apiServerRateLimitSchema.optional(),
  })
  .meta({ description: "Restricts access to the public API endpoint of the cluster." });

export const planSchema = z
  .string()
  .min(1)
  .max(40)
  .regex(/^[a-z0-9](-?[a-z0-9])*$/)
  .meta({
    description:
      "Plan by which the cluster is billed. Absent means that it is billed per resource. Immutable, also when absent.",
  });

export const registrationParts = ["fluxSecret", "argoCDSecret", "clusterProfile"] as const;
export type RegistrationPart = (typeof registrationParts)[number];

const registrationSchema = z
  .object({
    fluxSecret: z.boolean().optional().meta({
      description:
        "Whether a Secret in the namespace of the cluster holds a kubeconfig under the key value, as Flux reads it.",
    }),
    argoCDSecret: z.boolean().optional().meta({
      description: "Whether Argo CD gets a cluster Secret in the namespace that the platform configures.",
    }),
    clusterProfile: z.boolean().optional().meta({
      description:
        "Whether the namespace of the cluster has a ClusterProfile (multicluster.x-k8s.io) of it, and a Secret with the kubeconfig that this names.",
    }),
  })
  .meta({
    description:
      "Credentials of the cluster that are kept current for other programs, each as administrator of the cluster. The platform allows each in the namespace. Reserved for the platform.",
  });

const clusterFields = z
  .object({
    displayName: displayNameSchema.optional(),
    labels: labelsSchema.optional(),
    deletionProtection: deletionProtection("cluster"),
    expiresAt: expiresAt("cluster"),
    version: kubernetesVersion(
      "Kubernetes version to run: MAJOR.MINOR.PATCH, or MAJOR.MINOR for the newest patch of the catalogue. An upgrade crosses at most one minor version; downgrades are not possible.",
    ),
    upgradeChecks,
    plan: planSchema.optional(),
    publicEndpoint: z.boolean().default(true).meta({
      description:
        "Whether the API server has a public address. Immutable. Without it the API server is reachable from the private network only.",
    }),
    network: networkSchema.optional(),
    controlPlaneReplicas: z.literal([1, 3, 5]).optional().meta({
      description:
        "Number of control-plane machines: 1, 3 or 5. Absent means the number of the plan. Reserved for the platform.",
      type: "integer",
    }),
    clusterNetwork: clusterNetworkSchema.optional(),
    suspend: z.boolean().optional().meta({
      description:
        "Whether the cluster is suspended: nothing of it and its node pools is changed and no access is issued until it is resumed, and Cluster API is paused for it. What runs continues to run, its admin kubeconfig included. Rights that end are still revoked, and a deletion is carried out. Reserved for the platform.",
    }),
    credentialsGeneration: integer(
      0,
      2_147_483_647,
      "Increase it by one to rotate the admin credentials: each increase invalidates every admin kubeconfig issued before. It cannot decrease. Reserved: Marina increases it.",
    ).optional(),
    registration: registrationSchema.optional(),
  })
  .meta({ description: "Desired state of the cluster." });

const credentialsRule: TransitionRule<z.output<typeof clusterFields>> = {
  field: "credentialsGeneration",
  code: "not_ascending",
  message: "can only increase by one at a time, and cannot be removed",
  cel: "has(self.credentialsGeneration) ? self.credentialsGeneration - (has(oldSelf.credentialsGeneration) ? oldSelf.credentialsGeneration : 0) in [0, 1] : !has(oldSelf.credentialsGeneration)",
  holds: (spec, old) => {
    if (spec.credentialsGeneration === undefined) return old.credentialsGeneration === undefined;
    return [0, 1].includes(spec.credentialsGeneration - (old.credentialsGeneration ?? 0));
  },
};

export const clusterTransitionRules: readonly TransitionRule<z.output<typeof clusterFields>>[] = [
  immutable("plan", "cannot be added, changed or removed after the cluster was created"),
  immutable(
    "publicEndpoint",
    "cannot be changed after the cluster was created; create another cluster instead",
  ),
  clusterNetworkTransitionRule,
  credentialsRule,
];

export const clusterSpecSchema = withRules(clusterFields, [], clusterTransitionRules);

const countersOf = (what: string) =>
  z
    .object({
      total: integer(0, 1_000_000, `${what} that exist.`),
      ready: integer(0, 1_000_000, `${what} that are ready.`),
    })
    .meta({ description: `${what} of the cluster.` });

const clusterTransitionSchema = z
  .object({
    sequence: transitionSequenceSchema,
    type: z.enum(clusterTransitionTypes).meta({ description: "What happened." }),
    at: timestamp("When it was observed."),
    version: kubernetesVersion("Kubernetes version after the transition.").optional(),
    previousVersion: kubernetesVersion("Kubernetes version before an upgrade.").optional(),
    reason: reason("Why it happened, as a CamelCase reason.").optional(),
  })
  .meta({ description: "A transition of the cluster.", "x-kubernetes-map-type": "atomic" });

const usageSchema = z
  .object({
    blockStorageGB: integer(0, Number.MAX_SAFE_INTEGER, "Block storage in use, in GiB.").optional(),
    loadBalancers: integer(0, 1_000_000, "Load balancers in use.").optional(),
    snapshotGB: integer(0, Number.MAX_SAFE_INTEGER, "Storage held by snapshots, in GiB.").optional(),
  })
  .meta({
    description:
      "Resources in use inside the cluster, as an agent of the platform reports them; the operator leaves them as they are. A field is absent when the platform cannot measure it.",
  });

export const MAX_FOREIGN_ADMIN_NAMES = 20;
export const MAX_BINDING_NAME_LENGTH = 253;

const foreignAdminsSchema = z
  .object({
    count: integer(0, 10_000_000, "How many there are."),
    names: z
      .array(z.string().max(MAX_BINDING_NAME_LENGTH).meta({ description: "Name of a binding." }))
      .max(MAX_FOREIGN_ADMIN_NAMES)
      .meta({
        description: `The first ${MAX_FOREIGN_ADMIN_NAMES} of them: names of ClusterRoleBindings, and of RoleBindings as namespace/name.`,
        "x-kubernetes-list-type": "atomic",
      }),
    observedAt: timestamp("When they were first seen as they are. They are read every ten minutes."),
  })
  .meta({
    description:
      "Bindings in the cluster that make a user, a group or a ServiceAccount its administrator and that Marina did not make: of every right, of every right in kube-system, or of a right that leads there (escalate, bind, impersonate). Absent until they are read for the first time.",
  });

export const clusterStatusSchema = z
  .object({
    observedGeneration: statusGenerationSchema.optional(),
    id: statusIdSchema.optional(),
    conditions: conditionsSchema(clusterConditionTypes).optional(),
    phase: z.enum(clusterPhases).optional().meta({
      description: "Summary of the conditions for people. Programs should read the conditions.",
    }),
    apiServerURL: z.string().max(512).optional().meta({
      description: "Address of the Kubernetes API of the cluster, as observed. Absent until it is known.",
    }),
    publicAddress: z.string().max(253).optional().meta({
      description:
        "Public host name or address of the API endpoint, as observed. Absent for a private endpoint.",
    }),
    version: kubernetesVersion("Kubernetes version in use. Changes when a rollout is complete.").optional(),
    targetVersion: kubernetesVersion("Full Kubernetes version that spec.version resolves to.").optional(),
    workerSubnet: z.string().max(18).optional().meta({
      description: "The /24 of the addresses of this cluster's nodes.",
    }),
    firstReadyAt: timestamp("When the cluster became ready for the first time.").optional(),
    nodePools: countersOf("Node pools").optional(),
    nodes: countersOf("Nodes").optional(),
    transitions: z
      .array(clusterTransitionSchema)
      .max(MAX_TRANSITIONS)
      .optional()
      .meta({
        description: `The last ${MAX_TRANSITIONS} transitions of the cluster, oldest first.`,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["sequence"],
      }),
    usage: usageSchema.optional(),
    message: z.string().max(MAX_STATUS_MESSAGE_LENGTH).optional().meta({
      description: "What the cluster waits for or what went wrong, and what to do about it.",
    }),
    clusterClass: z.string().max(253).optional().meta({
      description: "The ClusterClass of the cluster.",
    }),
    unapplied: unappliedSchema.optional(),
    foreignAdmins: foreignAdminsSchema.optional(),
    credentialsGeneration: integer(
      0,
      2_147_483_647,
      "The generation of the admin credentials that alone opens the cluster: every admin kubeconfig of an earlier one is refused. Absent until the rights in the cluster are set for the first time.",
    ).optional(),
  })
  .meta({ description: "Observed state of the cluster. Written by the operator." });

export type ClusterSpec = z.output<typeof clusterSpecSchema>;
export type ClusterStatus = z.output<typeof clusterStatusSchema>;
export type ForeignAdmins = z.output<typeof foreignAdminsSchema>;
export type ClusterTransition = z.output<typeof clusterTransitionSchema>;
export interface Cluster {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec: ClusterSpec;
  status?: ClusterStatus;
}

export const clusterKind = defineKind<Cluster>({
  group: GROUP,
  version: VERSION,
  kind: "Cluster",
  plural: "clusters",
  namespaced: true,
});
