import { z } from "zod";
import { defineKind, type ObjectMeta } from "../kube/kind.ts";
import { authorizedCIDRsSchema } from "./cidr.ts";
import { conditionsSchema, MAX_STATUS_MESSAGE_LENGTH } from "./conditions.ts";
import {
  displayNameSchema,
  integer,
  kubernetesVersion,
  MAX_TRANSITIONS,
  reason,
  statusGenerationSchema,
  timestamp,
  transitionSequenceSchema,
} from "./fields.ts";
import { GROUP, VERSION } from "./names.ts";
import { immutable, type TransitionRule, withRules } from "./rule.ts";

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
  "NetworkPolicyApplied",
  "Upgrading",
  "EnginePaused",
  "Reconciling",
  "Stalled",
] as const;
export type ClusterConditionType = (typeof clusterConditionTypes)[number];

export const clusterTransitionTypes = ["Ready", "Upgraded", "Degraded", "Recovered", "Failed"] as const;
export type ClusterTransitionType = (typeof clusterTransitionTypes)[number];

export const apiServerRateLimitSchema = z
  .object({
    maxConnectionsPerSecond: integer(1, 1_000_000, "New connections accepted per second, lasting average."),
    burst: integer(1, 1_000_000, "New connections accepted at once, above the average."),
  })
  .meta({ description: "Limits new connections to the public API endpoint. Absent means no limit." });

const networkSchema = z
  .object({
    authorizedCIDRs: authorizedCIDRsSchema.optional(),
    apiServerRateLimit: apiServerRateLimitSchema.optional(),
  })
  .meta({ description: "Who may reach the public API endpoint of the cluster, and how often." });

export const planSchema = z
  .string()
  .min(1)
  .max(40)
  .regex(/^[a-z0-9](-?[a-z0-9])*$/)
  .meta({
    description:
      "Package that the cluster is billed as, chosen at creation. Absent means billed per resource. Cannot be added, changed or removed later.",
  });

const clusterFields = z
  .object({
    displayName: displayNameSchema.optional(),
    version: kubernetesVersion(
      "Kubernetes version to run: MAJOR.MINOR.PATCH, or MAJOR.MINOR for the newest patch of the catalogue. Upgrades go at most one minor version at a time; going back is not possible.",
    ),
    plan: planSchema.optional(),
    publicEndpoint: z.boolean().default(true).meta({
      description:
        "Whether the API server has a public address. Set at creation; immutable. A cluster without it answers on its private network only.",
    }),
    network: networkSchema.optional(),
    controlPlaneReplicas: z.literal([1, 3, 5]).optional().meta({
      description: "Number of control-plane machines: 1, 3 or 5. Absent means as many as the plan gives.",
      type: "integer",
    }),
    credentialsGeneration: integer(
      0,
      2_147_483_647,
      "Raise it to renew the admin credentials: each rise invalidates every admin kubeconfig handed out before. It never falls.",
    ).optional(),
  })
  .meta({ description: "The cluster as it is wanted." });

const credentialsRule: TransitionRule<z.output<typeof clusterFields>> = {
  field: "credentialsGeneration",
  code: "not_ascending",
  message: "can only rise, and cannot be removed",
  cel: "!has(oldSelf.credentialsGeneration) || (has(self.credentialsGeneration) && self.credentialsGeneration >= oldSelf.credentialsGeneration)",
  holds: (spec, old) =>
    old.credentialsGeneration === undefined ||
    (spec.credentialsGeneration !== undefined && spec.credentialsGeneration >= old.credentialsGeneration),
};

export const clusterTransitionRules: readonly TransitionRule<z.output<typeof clusterFields>>[] = [
  immutable("plan", "cannot be added, changed or removed after the cluster was created"),
  immutable(
    "publicEndpoint",
    "cannot be changed after the cluster was created; create another cluster instead",
  ),
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
    version: kubernetesVersion("Kubernetes version that ran afterwards.").optional(),
    previousVersion: kubernetesVersion("Kubernetes version that ran before an upgrade.").optional(),
    reason: reason("Why it happened, in one CamelCase word.").optional(),
  })
  .meta({ description: "One event in the life of the cluster." });

const usageSchema = z
  .object({
    blockStorageGB: integer(0, Number.MAX_SAFE_INTEGER, "Block storage in use, in GiB.").optional(),
    loadBalancers: integer(0, 1_000_000, "Load balancers in use.").optional(),
    snapshotGB: integer(0, Number.MAX_SAFE_INTEGER, "Storage held by snapshots, in GiB.").optional(),
  })
  .meta({
    description: "Resources in use inside the cluster. A figure is absent when the platform cannot tell it.",
  });

export const clusterStatusSchema = z
  .object({
    observedGeneration: statusGenerationSchema.optional(),
    conditions: conditionsSchema(clusterConditionTypes).optional(),
    phase: z.enum(clusterPhases).optional().meta({
      description: "The conditions in one word, for people. Programs read the conditions.",
    }),
    apiServerURL: z.string().max(512).optional().meta({
      description: "Address of the Kubernetes API of the cluster, as observed. Absent until there is one.",
    }),
    publicAddress: z.string().max(253).optional().meta({
      description: "Public host name or address of the API endpoint, as observed. Absent without one.",
    }),
    version: kubernetesVersion("Kubernetes version that runs, once a rollout has settled.").optional(),
    targetVersion: kubernetesVersion("Full Kubernetes version that is wanted.").optional(),
    workerSubnet: z.string().max(18).optional().meta({
      description: "The /24 from which the nodes of this cluster take their addresses.",
    }),
    firstReadyAt: timestamp("When the cluster was ready for the first time. Never changes again.").optional(),
    nodePools: countersOf("Node pools").optional(),
    nodes: countersOf("Nodes").optional(),
    transitions: z
      .array(clusterTransitionSchema)
      .max(MAX_TRANSITIONS)
      .optional()
      .meta({
        description: `The last ${MAX_TRANSITIONS} events in the life of the cluster, oldest first.`,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["sequence"],
      }),
    usage: usageSchema.optional(),
    message: z.string().max(MAX_STATUS_MESSAGE_LENGTH).optional().meta({
      description:
        "What the cluster waits for or what went wrong, and what to do about it, in one sentence for people.",
    }),
    clusterClass: z.string().max(253).optional().meta({
      description: "Class of the underlying engine that the cluster was made with.",
    }),
  })
  .meta({ description: "The cluster as it was last observed. Written by the operator." });

export type ClusterSpec = z.output<typeof clusterSpecSchema>;
export type ClusterStatus = z.output<typeof clusterStatusSchema>;
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
