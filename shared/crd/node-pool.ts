import { z } from "zod";
import { defineKind, type ObjectMeta } from "../kube/kind.ts";
import { conditionsSchema, MAX_STATUS_MESSAGE_LENGTH } from "./conditions.ts";
import {
  displayNameSchema,
  integer,
  kubernetesVersion,
  MAX_NODES_PER_POOL,
  MAX_TRANSITIONS,
  objectName,
  reason,
  statusGenerationSchema,
  timestamp,
  transitionSequenceSchema,
} from "./fields.ts";
import { GROUP, VERSION } from "./names.ts";
import { nodeLabelsSchema, nodeTaintsSchema } from "./node-metadata.ts";
import { nodePoolRules } from "./node-pool-rules.ts";
import { immutable, keptOnceSet, type TransitionRule, withRules } from "./rule.ts";

export const nodePoolPhases = ["Provisioning", "Ready", "Scaling", "Deleting", "Failed"] as const;
export type NodePoolPhase = (typeof nodePoolPhases)[number];

export const nodePoolConditionTypes = [
  "Ready",
  "Scaling",
  "UpToDate",
  "Autoscaling",
  "Reconciling",
  "Stalled",
] as const;
export type NodePoolConditionType = (typeof nodePoolConditionTypes)[number];

export const nodePoolTransitionTypes = ["Ready", "Failed", "NodeReplaced"] as const;
export type NodePoolTransitionType = (typeof nodePoolTransitionTypes)[number];

const MAX_POOL_VCPUS = 128 * MAX_NODES_PER_POOL;
const MAX_POOL_MEMORY_GB = 512 * MAX_NODES_PER_POOL;

const nodePoolFields = z
  .object({
    clusterName: objectName(
      "Name of the Cluster, in the same namespace, that the pool belongs to. Immutable.",
    ),
    displayName: displayNameSchema.optional(),
    vcpus: integer(1, 128, "Virtual CPUs of one node. A change replaces the nodes one after another."),
    memoryGB: integer(1, 512, "Memory of one node in GiB. A change replaces the nodes one after another."),
    diskGB: integer(1, 2048, "Disk of one node in GiB. A change replaces the nodes one after another."),
    minNodes: integer(
      0,
      MAX_NODES_PER_POOL,
      "Lower bound of desiredNodes. Does not bound an autoscaled pool.",
    ),
    maxNodes: integer(
      0,
      MAX_NODES_PER_POOL,
      "Upper bound of desiredNodes. Does not bound an autoscaled pool.",
    ),
    desiredNodes: integer(
      0,
      MAX_NODES_PER_POOL,
      "Number of nodes of a fixed pool. In an autoscaled pool the autoscaler decides; this value is kept and applies again when autoscaling ends.",
    ),
    minVCPUs: integer(
      0,
      MAX_POOL_VCPUS,
      "Least virtual CPUs of the whole pool. The pool autoscales when maxVCPUs is greater. 0, together with minMemoryGB 0 and both maxima, lets it scale to no nodes.",
    ).optional(),
    maxVCPUs: integer(1, MAX_POOL_VCPUS, "Most virtual CPUs of the whole pool.").optional(),
    minMemoryGB: integer(
      0,
      MAX_POOL_MEMORY_GB,
      "Least memory of the whole pool in GiB. The pool autoscales when maxMemoryGB is greater.",
    ).optional(),
    maxMemoryGB: integer(1, MAX_POOL_MEMORY_GB, "Most memory of the whole pool in GiB.").optional(),
    nodeLabels: nodeLabelsSchema.optional(),
    nodeTaints: nodeTaintsSchema.optional(),
    drainTimeoutSeconds: integer(
      30,
      3600,
      "Seconds to wait for pods to leave a node before it is deleted anyway. Absent means the platform's default, now and when that changes. Cannot be removed once set.",
    ).optional(),
    scaleDownDelaySeconds: integer(
      60,
      3600,
      "Seconds that a node must stay underutilised before the autoscaler removes it. Absent means the platform's default. Cannot be removed once set. Without effect in a fixed pool.",
    ).optional(),
    scaleDownUtilizationPercent: integer(
      10,
      90,
      "A node is underutilised when its CPU and memory requests are both below this share of what it offers. Absent means the platform's default. Cannot be removed once set. Without effect in a fixed pool.",
    ).optional(),
  })
  .meta({ description: "The node pool as it is wanted." });

type NodePoolFields = z.output<typeof nodePoolFields>;

export const nodePoolTransitionRules: readonly TransitionRule<NodePoolFields>[] = [
  immutable("clusterName", "cannot be changed; a pool stays in the cluster that it was created for"),
  immutable(
    "nodeTaints",
    "cannot be changed after the pool was created; create another pool with the taints that you want",
  ),
  keptOnceSet("drainTimeoutSeconds"),
  keptOnceSet("scaleDownDelaySeconds"),
  keptOnceSet("scaleDownUtilizationPercent"),
];

export const nodePoolSpecSchema = withRules(nodePoolFields, nodePoolRules, nodePoolTransitionRules);

const machineSchema = z
  .object({
    name: z.string().min(1).max(253).meta({ description: "Name of the machine in the underlying engine." }),
    uid: z
      .string()
      .min(1)
      .max(64)
      .meta({ description: "Identity of the machine; a machine made anew has another." }),
    node: z.string().max(253).optional().meta({ description: "Name of its node; absent until it joined." }),
    phase: z
      .string()
      .max(64)
      .optional()
      .meta({ description: "Where the machine is in its life, in one word." }),
    ready: z.boolean().meta({ description: "Whether its node is ready." }),
    version: kubernetesVersion("Kubernetes version of the machine.").optional(),
    createdAt: timestamp("When the machine was created."),
  })
  .meta({ description: "One machine of the pool." });

const replacementSchema = z
  .object({
    machineUID: z
      .string()
      .min(1)
      .max(64)
      .meta({ description: "Identity of the machine that is being replaced." }),
    machineName: z
      .string()
      .min(1)
      .max(253)
      .meta({ description: "Name of the machine that is being replaced." }),
    node: z.string().max(253).optional().meta({ description: "Name of its node." }),
    reason: reason("Why it is being replaced, in one CamelCase word."),
    at: timestamp("When the replacement was first observed."),
    successorUID: z
      .string()
      .min(1)
      .max(64)
      .optional()
      .meta({ description: "Identity of the machine that takes its place; absent until there is one." }),
  })
  .meta({ description: "A node whose replacement has begun and is not complete." });

const nodePoolTransitionSchema = z
  .object({
    sequence: transitionSequenceSchema,
    type: z.enum(nodePoolTransitionTypes).meta({ description: "What happened." }),
    at: timestamp("When it was observed."),
    oldNode: z.string().max(253).optional().meta({ description: "Name of the node that was replaced." }),
    newNode: z.string().max(253).optional().meta({ description: "Name of the node that took its place." }),
    reason: reason("Why it happened, in one CamelCase word.").optional(),
  })
  .meta({ description: "One event in the life of the node pool." });

const counter = (description: string) => integer(0, 1_000_000, description).optional();

export const nodePoolStatusSchema = z
  .object({
    observedGeneration: statusGenerationSchema.optional(),
    conditions: conditionsSchema(nodePoolConditionTypes).optional(),
    phase: z.enum(nodePoolPhases).optional().meta({
      description: "The conditions in one word, for people. Programs read the conditions.",
    }),
    nodes: counter("Nodes that exist."),
    readyNodes: counter("Nodes that are ready. During a rollout there may be more than desired."),
    upToDateNodes: counter("Nodes that have the version and size that are wanted now."),
    firstReadyAt: timestamp("When the pool was ready for the first time. Never changes again.").optional(),
    version: kubernetesVersion("Kubernetes version that the nodes run.").optional(),
    selector: z.string().max(512).optional().meta({
      description: "Label selector of the pool's nodes in the cluster, as the scale subresource reports it.",
    }),
    message: z.string().max(MAX_STATUS_MESSAGE_LENGTH).optional().meta({
      description:
        "What the pool waits for or what went wrong, and what to do about it, in one sentence for people.",
    }),
    machines: z
      .array(machineSchema)
      .max(MAX_NODES_PER_POOL)
      .optional()
      .meta({
        description: "The machines of the pool.",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["uid"],
      }),
    replacements: z
      .array(replacementSchema)
      .max(MAX_NODES_PER_POOL)
      .optional()
      .meta({
        description: "Nodes whose replacement has begun and is not complete.",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["machineUID"],
      }),
    transitions: z
      .array(nodePoolTransitionSchema)
      .max(MAX_TRANSITIONS)
      .optional()
      .meta({
        description: `The last ${MAX_TRANSITIONS} events in the life of the pool, oldest first.`,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["sequence"],
      }),
  })
  .meta({ description: "The node pool as it was last observed. Written by the operator." });

export type NodePoolSpec = z.output<typeof nodePoolSpecSchema>;
export type NodePoolStatus = z.output<typeof nodePoolStatusSchema>;
export type NodePoolTransition = z.output<typeof nodePoolTransitionSchema>;
export type NodePoolMachine = z.output<typeof machineSchema>;
export interface NodePool {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec: NodePoolSpec;
  status?: NodePoolStatus;
}

export const nodePoolKind = defineKind<NodePool>({
  group: GROUP,
  version: VERSION,
  kind: "NodePool",
  plural: "nodepools",
  namespaced: true,
});
