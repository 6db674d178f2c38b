import { listFields, type Requirement } from "../kube/required-kinds.ts";
import { clusterKind, clusterSpecSchema, clusterStatusSchema } from "./cluster.ts";
import { clusterAccessKind, clusterAccessSpecSchema, clusterAccessStatusSchema } from "./cluster-access.ts";
import {
  ageColumn,
  buildObjectSchema,
  objectNameRules,
  type PrinterColumn,
  type ResourceDefinition,
  type RootRule,
  readyColumns,
  statusIdRule,
} from "./definition.ts";
import { UNOBSERVED_STATUS } from "./fields.ts";
import { nodePoolKind, nodePoolSpecSchema, nodePoolStatusSchema } from "./node-pool.ts";
import {
  STORAGE_INVENTORY_NAME,
  storageInventoryKind,
  storageInventorySpecSchema,
  storageInventoryStatusSchema,
} from "./storage-inventory.ts";

const phaseColumn: PrinterColumn = {
  name: "Phase",
  type: "string",
  jsonPath: ".status.phase",
  description: "Summary of the state.",
};

const messageColumn: PrinterColumn = {
  name: "Message",
  type: "string",
  jsonPath: ".status.message",
  description: "What the object waits for or what went wrong.",
  priority: 1,
};

const labelsColumn: PrinterColumn = {
  name: "Labels",
  type: "string",
  jsonPath: ".spec.labels",
  description: "Labels that its owner gave it.",
  priority: 1,
};

const displayNameColumn: PrinterColumn = {
  name: "DisplayName",
  type: "string",
  jsonPath: ".spec.displayName",
  description: "Name that people and the REST API use.",
};

const numbersOf = (version: string) => `${version}.replace('v', '').split('.').map(part, int(part))`;

/** A CEL rule that compares the wanted with the running version, each a list of two or three numbers. */
function versionCel(comparison: string): string {
  // Only a changed version is checked, so that a status write is never rejected for the version that it reports.
  const unchanged =
    "!has(self.status) || !has(self.status.version) || self.spec.version == oldSelf.spec.version";
  const running = `[${numbersOf("self.status.version")}].all(running, ${comparison})`;
  return `${unchanged} || [${numbersOf("self.spec.version")}].all(wanted, ${running})`;
}

const versionRules: readonly RootRule[] = [
  {
    field: "spec.version",
    code: "not_incremental",
    message: "must not be older than the version that the cluster runs (status.version)",
    cel: versionCel(
      "wanted[0] != running[0] ? wanted[0] > running[0] : wanted[1] != running[1] ? wanted[1] > running[1] : wanted.size() < 3 || running.size() < 3 || wanted[2] >= running[2]",
    ),
  },
  {
    field: "spec.version",
    code: "not_incremental",
    message:
      "must be at most one minor version newer than the version that the cluster runs (status.version)",
    cel: versionCel("wanted[0] != running[0] ? wanted[0] < running[0] : wanted[1] <= running[1] + 1"),
  },
];

export const clusterDefinition: ResourceDefinition = {
  kind: clusterKind,
  singular: "cluster",
  shortNames: ["mcl"],
  description: "A Kubernetes cluster of an organization.",
  spec: clusterSpecSchema,
  status: clusterStatusSchema,
  defaultStatus: UNOBSERVED_STATUS,
  rules: [...objectNameRules, ...versionRules, statusIdRule],
  selectableFields: [".spec.deletionProtection", ".status.phase"],
  printerColumns: [
    ...readyColumns,
    phaseColumn,
    {
      name: "Version",
      type: "string",
      jsonPath: ".status.version",
      description: "Kubernetes version in use.",
    },
    { name: "Nodes", type: "integer", jsonPath: ".status.nodes.ready", description: "Nodes that are ready." },
    displayNameColumn,
    {
      name: "Plan",
      type: "string",
      jsonPath: ".spec.plan",
      description: "Plan by which the cluster is billed.",
      priority: 1,
    },
    {
      name: "Endpoint",
      type: "string",
      jsonPath: ".status.apiServerURL",
      description: "Address of the cluster's Kubernetes API.",
      priority: 1,
    },
    labelsColumn,
    messageColumn,
    ageColumn,
  ],
};

export const nodePoolDefinition: ResourceDefinition = {
  kind: nodePoolKind,
  singular: "nodepool",
  shortNames: ["mnp"],
  description: "A group of identical nodes of a Cluster.",
  spec: nodePoolSpecSchema,
  status: nodePoolStatusSchema,
  defaultStatus: UNOBSERVED_STATUS,
  rules: [...objectNameRules, statusIdRule],
  scale: {
    specReplicasPath: ".spec.desiredNodes",
    statusReplicasPath: ".status.nodes",
    labelSelectorPath: ".status.selector",
  },
  selectableFields: [".spec.clusterName", ".spec.deletionProtection", ".status.phase"],
  printerColumns: [
    { name: "Cluster", type: "string", jsonPath: ".spec.clusterName", description: "Cluster of the pool." },
    ...readyColumns,
    phaseColumn,
    { name: "Nodes", type: "integer", jsonPath: ".status.nodes", description: "Nodes that exist." },
    {
      name: "ReadyNodes",
      type: "integer",
      jsonPath: ".status.readyNodes",
      description: "Nodes that are ready.",
    },
    {
      name: "Version",
      type: "string",
      jsonPath: ".status.version",
      description: "Kubernetes version of the nodes.",
    },
    displayNameColumn,
    {
      name: "vCPUs",
      type: "integer",
      jsonPath: ".spec.vcpus",
      description: "Virtual CPUs of a node.",
      priority: 1,
    },
    {
      name: "Memory",
      type: "integer",
      jsonPath: ".spec.memoryGB",
      description: "GiB of memory of a node.",
      priority: 1,
    },
    {
      name: "Disk",
      type: "integer",
      jsonPath: ".spec.diskGB",
      description: "GiB of disk of a node.",
      priority: 1,
    },
    labelsColumn,
    messageColumn,
    ageColumn,
  ],
};

export const clusterAccessDefinition: ResourceDefinition = {
  kind: clusterAccessKind,
  singular: "clusteraccess",
  shortNames: ["mca"],
  description: "Access of one user to a Cluster for a limited time. Deleting the object revokes the access.",
  spec: clusterAccessSpecSchema,
  status: clusterAccessStatusSchema,
  defaultStatus: UNOBSERVED_STATUS,
  rules: objectNameRules,
  selectableFields: [".spec.clusterName"],
  printerColumns: [
    {
      name: "Cluster",
      type: "string",
      jsonPath: ".spec.clusterName",
      description: "Cluster of the access.",
    },
    { name: "Subject", type: "string", jsonPath: ".spec.subject", description: "User of the access." },
    ...readyColumns,
    {
      name: "Expires",
      type: "string",
      jsonPath: ".status.expiresAt",
      description: "When the access expires.",
    },
    ageColumn,
  ],
};

export const storageInventoryDefinition: ResourceDefinition = {
  kind: storageInventoryKind,
  singular: "storageinventory",
  shortNames: ["msi"],
  description: "Shared storage of an organization: its limit and its usage.",
  spec: storageInventorySpecSchema,
  status: storageInventoryStatusSchema,
  rules: [
    {
      field: "metadata.name",
      code: "invalid_format",
      message: `must be ${STORAGE_INVENTORY_NAME}; there is one per organization`,
      cel: `self.metadata.name == '${STORAGE_INVENTORY_NAME}'`,
    },
  ],
  printerColumns: [
    {
      name: "Quota",
      type: "integer",
      jsonPath: ".spec.quotaBytes",
      description: "Limit in bytes.",
    },
    { name: "Used", type: "integer", jsonPath: ".status.usedBytes", description: "Bytes in use." },
    {
      name: "Observed",
      type: "date",
      jsonPath: ".status.observedAt",
      description: "When usedBytes was measured.",
    },
    ageColumn,
  ],
};

export const resourceDefinitions: readonly ResourceDefinition[] = [
  clusterDefinition,
  nodePoolDefinition,
  clusterAccessDefinition,
  storageInventoryDefinition,
];

/** Marina's own kinds, with every field that this program knows. */
export function requireOwnKinds(): Requirement {
  return {
    kinds: resourceDefinitions.map((definition) => ({
      kind: definition.kind,
      fields: listFields(buildObjectSchema(definition)),
    })),
    remedy:
      "install those of this version (`helm upgrade` with crds.enabled, or `kubectl apply --server-side -f crds/`)",
    newerRemedy: "upgrade this program to the version that they came with",
  };
}
