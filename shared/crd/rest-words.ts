import { INFRASTRUCTURE_LOST } from "./conditions.ts";
import {
  ANNOTATION_DELETE_MISSING_POOLS,
  ANNOTATION_RECREATE,
  ANNOTATION_UPGRADE_FORCE,
  LABEL_ID,
  LABEL_ORG_ID,
} from "./names.ts";
import { DEFAULT_NODES } from "./node-pool.ts";

/** The name in REST of each setting of a node pool that can be changed, by its path inside `spec`. */
export const NODE_POOL_WIRE_NAMES = {
  displayName: "name",
  labels: "labels",
  deletionProtection: "deletion_protection",
  expiresAt: "expires_at",
  vcpus: "vcpus",
  memoryGB: "memory_gb",
  diskGB: "disk_gb",
  minNodes: "min_nodes",
  maxNodes: "max_nodes",
  desiredNodes: "desired_nodes",
  minVCPUs: "min_vcpus",
  maxVCPUs: "max_vcpus",
  minMemoryGB: "min_memory_gb",
  maxMemoryGB: "max_memory_gb",
  nodeLabels: "node_labels",
  drainTimeoutSeconds: "drain_timeout_seconds",
  scaleDownDelaySeconds: "scale_down_delay_seconds",
  scaleDownUtilizationPercent: "scale_down_utilization_percent",
} as const;

/** The name in REST of each setting of a cluster, by its path inside `spec`. */
export const CLUSTER_WIRE_NAMES = {
  displayName: "name",
  labels: "labels",
  deletionProtection: "deletion_protection",
  expiresAt: "expires_at",
  version: "k8s_version",
  upgradeChecks: "upgrade_checks",
  plan: "plan",
  publicEndpoint: "public_endpoint",
  credentialsGeneration: "credentials",
  suspend: "suspended",
  network: "authorized_cidrs",
  "network.authorizedCIDRs": "authorized_cidrs",
  "network.apiServerRateLimit": "api_server_rate_limit",
} as const;

const WIRE_NAMES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ...NODE_POOL_WIRE_NAMES,
    ...CLUSTER_WIRE_NAMES,
    nodeTaints: "node_taints",
    ttlSeconds: "ttl_seconds",
  }),
);

/** How texts about custom resources name a setting: by `spec.` and its path. */
const NAMED = /\bspec\.(\w+(?:\.\w+)*)/g;

/** The settings that a text names, by their names in REST, in order. */
export function findNamedSettings(text: string): string[] {
  return [...text.matchAll(NAMED)].map(([, path = ""]) => toWireName(path) ?? path);
}

/** A text about a custom resource in which each setting that it names has its name in REST. */
export function withWireNames(text: string): string {
  return text.replaceAll(NAMED, (name, path: string) => toWireName(path) ?? name);
}

/** By the longest path that has a name, as of a key in a map; undefined for a path of an object that is not Marina's. */
function toWireName(path: string): string | undefined {
  const parts = path.split(".");
  for (let length = parts.length; length > 0; length--) {
    const name = WIRE_NAMES.get(parts.slice(0, length).join("."));
    if (name !== undefined) return [name, ...parts.slice(length)].join(".");
  }
  return parts.length === 1 ? path : undefined;
}

/** The next step of an owner, for each reader: what kubectl changes, REST does not show. */
interface Advice {
  kubectl: string;
  rest: string;
}

/** The advice that its reader decides, by the reason of the condition. It is the end of the message in the status. */
export const ADVICE_BY_REASON = {
  [INFRASTRUCTURE_LOST]: {
    kubectl: `Restore it with its objects of Cluster API; or, to have an empty cluster in its place, set the annotation ${ANNOTATION_RECREATE} of the Cluster to its id, which its label ${LABEL_ID} has.`,
    rest: "Ask the platform's operator to restore it, or to make an empty cluster in its place.",
  },
  UnknownOrganization: {
    kubectl: `Put it into the namespace of one, or have the label ${LABEL_ORG_ID} of its namespace set.`,
    rest: "Ask the platform's operator to put it into one.",
  },
  DuplicateID: {
    kubectl: `Delete this one and create it again without the label ${LABEL_ID}.`,
    rest: "Delete this one and create it again.",
  },
  WaitingForIdentity: {
    kubectl: "If this lasts, look at Marina's API server.",
    rest: "If this lasts, ask the platform's operator to look at it.",
  },
  NetworksOverlap: {
    kubectl: "Create the cluster again with another spec.clusterNetwork.",
    rest: "Ask the platform's operator for a cluster with other networks.",
  },
  ReplicasNotInPlan: {
    kubectl:
      "Ask the platform's operator, who has the permission for clusters/control-plane, to set spec.controlPlaneReplicas to that.",
    rest: "Ask the platform's operator to set it.",
  },
  NodePoolsMissing: {
    kubectl: `Create them again from the backup; or, to delete these nodes, set the annotation ${ANNOTATION_DELETE_MISSING_POOLS}=true of the Cluster.`,
    rest: "Create them again, or ask the platform's operator to delete these nodes.",
  },
  CountReleased: {
    kubectl: `Set spec.desiredNodes: a server-side apply sets any number, scaling one other than ${DEFAULT_NODES}, which is stored already.`,
    rest: `Set desired_nodes to another number than ${DEFAULT_NODES}, which is stored already.`,
  },
  ProtectionPending: {
    kubectl:
      "Its Namespace can still be deleted until Marina's API server labels it, which it does automatically; if this lasts, look at Marina's API server.",
    rest: "That is done automatically; if this lasts, ask the platform's operator to look at it.",
  },
  NamespaceDeleting: {
    kubectl:
      "Its Namespace is being deleted, which cannot be taken back: save what is needed, then set spec.deletionProtection to false to let its deletion proceed.",
    rest: "Ask the platform's operator, who has begun that; save what is needed, then set deletion_protection to false to let its deletion proceed.",
  },
  UpgradeBlocked: {
    kubectl: `Solve what blocks it; or, to upgrade all the same, set the annotation ${ANNOTATION_UPGRADE_FORCE} of the Cluster to the full version, as it stands here, a space and the reason.`,
    rest: "Solve what blocks it; or, to upgrade all the same, request the upgrade with force and a reason.",
  },
  Suspended: {
    kubectl: "Remove spec.suspend to resume it, or ask the platform's operator.",
    rest: "Ask the platform's operator to resume it.",
  },
} as const satisfies Readonly<Record<string, Advice>>;

/** The namespace of an organization, which REST does not show. */
const NAMESPACE = /\borg-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g;

/** A message of the operator as REST writes it: with its advice for REST, its names of settings, and without namespaces. */
export function toRestWords(message: string): string {
  return withWireNames(adviseForRest(message)).replaceAll(NAMESPACE, "another place");
}

function adviseForRest(message: string): string {
  const advice = Object.values(ADVICE_BY_REASON).find(({ kubectl }) => message.endsWith(kubectl));
  return advice === undefined ? message : message.slice(0, -advice.kubectl.length) + advice.rest;
}
