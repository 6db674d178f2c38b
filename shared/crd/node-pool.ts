import { z } from "zod";
import { defineKind, type ObjectMeta } from "../kube/kind.ts";
import { conditionsSchema, MAX_STATUS_MESSAGE_LENGTH } from "./conditions.ts";
import {
  deletionProtection,
  displayNameSchema,
  expiresAt,
  integer,
  kubernetesVersion,
  MAX_GONE_MACHINES,
  MAX_MACHINES_PER_POOL,
  MAX_NODES_PER_POOL,
  MAX_TRANSITIONS,
  objectName,
  reason,
  statusGenerationSchema,
  statusIdSchema,
  timestamp,
  transitionSequenceSchema,
} from "./fields.ts";
import { labelsSchema } from "./labels.ts";
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
  "DeletionProtected",
  "ExpiryHeld",
  "Reconciling",
  "Stalled",
] as const;
export type NodePoolConditionType = (typeof nodePoolConditionTypes)[number];

export const nodePoolTransitionTypes = ["Ready", "Failed", "NodeReplaced"] as const;
export type NodePoolTransitionType = (typeof nodePoolTransitionTypes)[number];

const MAX_POOL_VCPUS = 128 * MAX_NODES_PER_POOL;
const MAX_POOL_MEMORY_GB = 512 * MAX_NODES_PER_POOL;

/** What `desiredNodes` is when it is left out. */
export const DEFAULT_NODES = 1;

const COUNT_DESCRIPTION =
  "Number of nodes of a fixed pool. In an autoscaled pool the autoscaler decides, and this value applies again when autoscaling is turned off.";

const nodePoolFields = z
  .object({
    clusterName: objectName("Name of the pool's Cluster, in the same namespace. Immutable."),
    displayName: displayNameSchema.optional(),
    labels: labelsSchema.optional(),
    deletionProtection: deletionProtection("node pool"),
    expiresAt: expiresAt("node pool"),
    vcpus: integer(1, 128, "Virtual CPUs of one node. A change replaces the nodes one after another."),
    memoryGB: integer(1, 512, "Memory of one node in GiB. A change replaces the nodes one after another."),
    diskGB: integer(1, 2048, "Disk of one node in GiB. A change replaces the nodes one after another."),
    minNodes: integer(
      0,
      MAX_NODES_PER_POOL,
      "Lower bound of spec.desiredNodes. Does not bound an autoscaled pool.",
    ).default(0),
    maxNodes: integer(
      0,
      MAX_NODES_PER_POOL,
      "Upper bound of spec.desiredNodes. Does not bound an autoscaled pool.",
    ).default(MAX_NODES_PER_POOL),
    desiredNodes: integer(0, MAX_NODES_PER_POOL, COUNT_DESCRIPTION)
      .default(DEFAULT_NODES)
      .meta({
        description: `${COUNT_DESCRIPTION} Left out, it may be set by another manager, as by the scale subresource; a pool whose number no manager sets any more keeps its nodes.`,
      }),
    minVCPUs: integer(
      0,
      MAX_POOL_VCPUS,
      "Minimum of virtual CPUs of the whole pool. The pool autoscales when spec.maxVCPUs is greater. 0, together with spec.minMemoryGB 0 and both maxima, allows it to scale to zero nodes.",
    ).optional(),
    maxVCPUs: integer(1, MAX_POOL_VCPUS, "Maximum of virtual CPUs of the whole pool.").optional(),
    minMemoryGB: integer(
      0,
      MAX_POOL_MEMORY_GB,
      "Minimum of memory of the whole pool in GiB. The pool autoscales when spec.maxMemoryGB is greater.",
    ).optional(),
    maxMemoryGB: integer(1, MAX_POOL_MEMORY_GB, "Maximum of memory of the whole pool in GiB.").optional(),
    nodeLabels: nodeLabelsSchema.optional(),
    nodeTaints: nodeTaintsSchema.optional(),
    drainTimeoutSeconds: integer(
      30,
      3600,
      "Seconds to wait for the pods of a node to be evicted before the node is deleted. Absent means the platform's current default. Cannot be removed once set.",
    ).optional(),
    scaleDownDelaySeconds: integer(
      60,
      3600,
      "Seconds that a node must stay underutilised before the autoscaler removes it. Absent means the platform's default. Cannot be removed once set. No effect in a fixed pool.",
    ).optional(),
    scaleDownUtilizationPercent: integer(
      10,
      90,
      "A node is underutilised when its CPU and memory requests are both below this share of its capacity. Absent means the platform's default. Cannot be removed once set. No effect in a fixed pool.",
    ).optional(),
  })
  .meta({ description: "Desired state of the node pool." });

type NodePoolFields = z.output<typeof nodePoolFields>;

export const nodePoolTransitionRules: readonly TransitionRule<NodePoolFields>[] = [
  immutable("clusterName", "cannot be changed; a pool stays in the cluster that it was created for"),
  immutable(
    "nodeTaints",
    "cannot be changed after the pool was created; create another pool with the desired taints",
  ),
  keptOnceSet("drainTimeoutSeconds"),
  keptOnceSet("scaleDownDelaySeconds"),
  keptOnceSet("scaleDownUtilizationPercent"),
];

export const nodePoolSpecSchema = withRules(nodePoolFields, nodePoolRules, nodePoolTransitionRules);

const sizeFields = () => ({
  vcpus: integer(1, 128, "Virtual CPUs of the machine. Absent until they are known.").optional(),
  memoryGB: integer(1, 512, "Memory of the machine in GiB. Absent until it is known.").optional(),
  diskGB: integer(1, 2048, "Disk of the machine in GiB. Absent until it is known.").optional(),
});

const machineSchema = z
  .object({
    name: z.string().min(1).max(253).meta({ description: "Name of the Cluster API Machine." }),
    uid: z
      .string()
      .min(1)
      .max(64)
      .meta({ description: "UID of the machine; a recreated machine has another one." }),
    node: z.string().max(253).optional().meta({ description: "Name of its node; absent until it joined." }),
    provisioned: z.boolean().optional().meta({
      description:
        "True once its infrastructure exists: it is billed from then on, whether or not its node joins; else absent.",
    }),
    phase: z.string().max(64).optional().meta({ description: "Phase of the machine's lifecycle." }),
    ready: z.boolean().meta({ description: "Whether its node is ready." }),
    version: kubernetesVersion("Kubernetes version of the machine.").optional(),
    outdated: z.boolean().optional().meta({
      description:
        "True while the machine is being replaced, or will be, for a newer version or size; else absent.",
    }),
    createdAt: timestamp("When the machine was created."),
    ...sizeFields(),
  })
  .meta({ description: "A machine of the pool." });

const goneMachineSchema = z
  .object({
    uid: z.string().min(1).max(64).meta({ description: "UID of the machine." }),
    ...sizeFields(),
    createdAt: timestamp("When the machine was created."),
    goneAt: timestamp("When it was first observed that the machine does not exist any more."),
    hadNode: z.boolean().meta({
      description:
        "Whether its infrastructure ever existed or its node ever joined the cluster, so that it is billed.",
    }),
  })
  .meta({ description: "A machine that the pool had." });

const replacementSchema = z
  .object({
    machineUID: z.string().min(1).max(64).meta({ description: "UID of the machine that is being replaced." }),
    machineName: z
      .string()
      .min(1)
      .max(253)
      .meta({ description: "Name of the machine that is being replaced." }),
    node: z.string().max(253).optional().meta({ description: "Name of its node." }),
    reason: reason("Why it is being replaced, as a CamelCase reason."),
    at: timestamp("When the replacement was first observed."),
    successorUID: z
      .string()
      .min(1)
      .max(64)
      .optional()
      .meta({ description: "UID of the machine that replaces it; absent until it exists." }),
  })
  .meta({ description: "A node whose replacement is in progress." });

const nodePoolTransitionSchema = z
  .object({
    sequence: transitionSequenceSchema,
    type: z.enum(nodePoolTransitionTypes).meta({ description: "What happened." }),
    at: timestamp("When it was observed."),
    oldNode: z.string().max(253).optional().meta({ description: "Name of the node that was replaced." }),
    newNode: z.string().max(253).optional().meta({ description: "Name of the node that replaced it." }),
    reason: reason("Why it happened, as a CamelCase reason.").optional(),
  })
  .meta({ description: "A transition of the node pool.", "x-kubernetes-map-type": "atomic" });

const counter = (description: string) => integer(0, 1_000_000, description).optional();

export const nodePoolStatusSchema = z
  .object({
    observedGeneration: statusGenerationSchema.optional(),
    id: statusIdSchema.optional(),
    conditions: conditionsSchema(nodePoolConditionTypes).optional(),
    phase: z.enum(nodePoolPhases).optional().meta({
      description: "Summary of the conditions for people. Programs should read the conditions.",
    }),
    countUnmanaged: z.boolean().optional().meta({
      description:
        "True where no manager owns spec.desiredNodes of a pool that is not autoscaled, and none has released it, as where only the scale subresource sets it, which the Kubernetes API does not record then; else absent.",
    }),
    nodes: counter("Nodes that exist."),
    readyNodes: counter("Nodes that are ready. During a rollout there may be more than desired."),
    upToDateNodes: counter("Nodes with the desired version and size."),
    firstReadyAt: timestamp("When the pool became ready for the first time.").optional(),
    version: kubernetesVersion("Kubernetes version of the nodes.").optional(),
    selector: z.string().max(512).optional().meta({
      description: "Label selector of the pool's nodes in the cluster, as the scale subresource reports it.",
    }),
    message: z.string().max(MAX_STATUS_MESSAGE_LENGTH).optional().meta({
      description: "What the pool waits for or what went wrong, and what to do about it.",
    }),
    machines: z
      .array(machineSchema)
      .max(MAX_MACHINES_PER_POOL)
      .optional()
      .meta({
        description: "The machines of the pool.",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["uid"],
      }),
    goneMachines: z
      .array(goneMachineSchema)
      .max(MAX_GONE_MACHINES)
      .optional()
      .meta({
        description:
          "The machines that went within the last day; of many the last ones, and first those that are billed.",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["uid"],
      }),
    replacements: z
      .array(replacementSchema)
      .max(MAX_MACHINES_PER_POOL)
      .optional()
      .meta({
        description: "Nodes whose replacement is in progress.",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["machineUID"],
      }),
    transitions: z
      .array(nodePoolTransitionSchema)
      .max(MAX_TRANSITIONS)
      .optional()
      .meta({
        description: `The last ${MAX_TRANSITIONS} transitions of the node pool, oldest first.`,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["sequence"],
      }),
  })
  .meta({ description: "Observed state of the node pool. Written by the operator." });

export type NodePoolSpec = z.output<typeof nodePoolSpecSchema>;
export type NodePoolStatus = z.output<typeof nodePoolStatusSchema>;
export type NodePoolTransition = z.output<typeof nodePoolTransitionSchema>;
export type NodePoolMachine = z.output<typeof machineSchema>;

/** Whether a machine is billed: its infrastructure exists, whatever its tenant does to its Node, or it has a node. */
export function isBilled({ node, provisioned }: Pick<NodePoolMachine, "node" | "provisioned">): boolean {
  return provisioned === true || node !== undefined;
}

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
