import type { CapiCondition } from "./kinds.ts";

/** The pause is a field of the Cluster API cluster, which tenants cannot change. */
export const PAUSED = "The platform's operator has paused the cluster; ask them to resume it.";

/** The rest of a longer text of others is not read. */
const MAX_READ_LENGTH = 4_000;

/**
 * A text of others as patterns may be applied to it: at most 4,000 characters, and one blank in place of each run of white space
 * other than newlines. A webhook of a tenant writes texts of any length, on which a pattern may take quadratic time.
 */
export function truncateForeignText(text: string): string {
  return text
    .slice(0, MAX_READ_LENGTH)
    .toWellFormed()
    .replaceAll(/[^\S\n]+/g, " ");
}

/** Errors that pass by themselves: of a server that does not respond, or of a write that lost a race. */
const TRANSIENT = [
  "operation cannot be fulfilled",
  "object (?:has been|was) modified",
  "failed calling webhook",
  "rate limiter",
  "too many requests",
  "connection (?:refused|reset|lost)",
  "no route to host",
  "no such host",
  "unexpected EOF",
  "handshake timeout",
  "i/o timeout",
  "Client\\.Timeout",
  "currently unable to handle the request",
  "context (?:deadline exceeded|canceled)",
  "etcdserver:",
].join("|");
const TRANSIENT_ERROR = new RegExp(TRANSIENT, "i");

/** What Cluster API does again by itself, or only its operator can act on: the rest of a message is understood without it. */
const INTERNAL = new RegExp(`finalizer|precondition failed|requeue|${TRANSIENT}`, "i");

/** Whether an error that Cluster API reports passes by itself: it says nothing of the specification then. */
export function isTransientError(message: string): boolean {
  return TRANSIENT_ERROR.test(message);
}

const NAME = `(?:"[^"]*"|[a-z0-9.]*[-/][a-z0-9./-]*)`;
const NAMES = `(?: ${NAME}(?:, ${NAME})*)?`;
const UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";

/** Objects that Cluster API makes for itself, by what they are to a tenant. */
const OWN_OBJECTS: readonly [RegExp, string][] = [
  [new RegExp(`\\b\\w*Machine(?:Set|Deployment|Pool|HealthCheck)(s?)\\b${NAMES}`, "g"), "node pool$1"],
  [new RegExp(`\\b\\w+ControlPlane\\b${NAMES}`, "g"), "control plane"],
  [new RegExp(`\\b(?:\\w+Template|\\w+Config)\\b${NAMES}`, "g"), "machine configuration"],
  [new RegExp(`\\b[A-Z]\\w+Cluster\\b${NAMES}`, "g"), "infrastructure"],
  [/\b[A-Z]\w+Machine\b/g, "Machine"],
  [new RegExp(`\\b[a-z]+(?:\\.[a-z]+)*\\.x-k8s\\.io\\b${NAMES}`, "g"), "part of the cluster"],
];

/** What Cluster API waits for, by the fields and conditions that it names. */
const WAITS: readonly [RegExp, string][] = [
  [/\b\w+ status\.initialization\.provisioned is false/g, "its infrastructure is not provisioned yet"],
  [/\b\w+ status\.initialization\.dataSecretCreated is false/g, "its configuration is not written yet"],
  [/\b\w+ status\.initialization\.controlPlaneInitialized is false/g, "it is not initialized yet"],
  [
    /\bWaiting for Cluster status\.(?:initialization\.infrastructureProvisioned|infrastructureReady) to be true/g,
    "Waiting for the network infrastructure of the cluster",
  ],
  [
    /\bCluster status\.infrastructureReady is false/g,
    "the network infrastructure of the cluster is not ready yet",
  ],
  [
    /\bWaiting for Cluster spec\.controlPlaneEndpoint to be set/g,
    "Waiting for the API endpoint of the cluster",
  ],
  [
    /\bWaiting for the first control plane machine to have (?:its )?status\.nodeRef set/g,
    "Waiting for the first node of the control plane",
  ],
  [/\bWaiting for \w+ to report spec\.providerID/g, "Waiting for its machine to be made"],
  [
    /\bWaiting for bootstrap provider to generate data secret and report status\.ready/g,
    "its configuration is not written yet",
  ],
  [/\bClusterClass not reconciled\b.*?\bis paused/gs, "its cluster class is not ready"],
  [/\bCluster\.spec\.topology\b/g, "the cluster"],
  [/\bWaiting for (?:status\.availableReplicas|spec\.replicas) set/g, "its nodes are not counted yet"],
  [/\bWaiting for a Node with spec\.providerID \S+ to exist/g, "its node has not joined yet"],
  [
    /(?<!\d)(\d+) available replicas, at least (\d+) required/g,
    "nodes that are available: $1, of $2 at least",
  ],
  [/ \(spec\.strategy\.[^)]*\)/g, ""],
  [/\bWorkersAvailable\b/g, "node pools"],
  [/\bControlPlaneAvailable\b/g, "control plane"],
  [/\bControlPlaneInitialized\b/g, "control plane"],
  [/\bInfrastructureReady\b/g, "infrastructure"],
  [/\bBootstrapConfigReady\b/g, "configuration"],
  [/\bNodeHealthy\b/g, "node"],
  [/\bRemoteConnectionProbe\b/g, "connection to its API server"],
];

/** Fields of Cluster API's Cluster, by what of it a tenant has specified. */
const FIELDS: readonly [RegExp, string][] = [
  [
    /\bspec\.topology\.workers\.machineDeployments\[[^\]]+\]\.variables\.overrides\[(\w+)\]\.value/g,
    "$1 of a node pool",
  ],
  [/\bspec\.topology\.workers(?:\.machineDeployments(?:\[[^\]]+\])?)?(?:\.(?=\w))?/g, "node pools: "],
  [/\bspec\.topology\.variables\[(\w+)\](?:\.value)?/g, "$1"],
  [/\bspec\.topology\.(?=\w)/g, ""],
  [/\bspec\.topology\b/g, "the cluster"],
];

const PLACES: readonly [RegExp, string][] = [
  [new RegExp(` ?[([]?\\b(?:uid|UID)?[:=]?\\s?(?<!org-)${UUID}\\b[)\\]]?`, "g"), ""],
  [/ ?\bin (?:the )?namespace "?[a-z0-9-]+"?/gi, ""],
  // Pods are the tenant's own: their namespace tells which of several is meant.
  [/\b(?!Pods? )([A-Z]\w+ "?)[a-z0-9][a-z0-9-]*\/(?=[a-z0-9])/g, "$1"],
  [/\borg-[0-9a-z-]+\//g, ""],
  [/ without a \.spec\.claimRef to a PersistentVolumeClaim/g, " without a PersistentVolumeClaim"],
  [
    /\bNode with \.status\.volumesAttached entries not matching a PersistentVolume\b/g,
    "attached volumes that are no PersistentVolume",
  ],
  [
    /\bVolumeAttachment with \.spec\.source\.persistentVolumeName not matching a PersistentVolume\b/g,
    "VolumeAttachments of a PersistentVolume that does not exist",
  ],
  [/(?:\bthe )?\bnamespace "?org-[0-9a-z-]+"?|\borg-[0-9a-z-]+/gi, "the organization"],
];

/**
 * A text of Cluster API or of Kubernetes in the words of tenants: without finalizers, uids, Namespaces, objects that Cluster
 * API makes for itself, and what it tries again by itself: at most 4,000 characters. Empty when nothing else is left.
 */
export function toTenantMessage(text: string): string {
  const clauses = truncateForeignText(text)
    .replaceAll("; please apply", ", please apply")
    .split(/; |\n/)
    .filter((clause) => !INTERNAL.test(clause));
  return [...WAITS, ...FIELDS, ...OWN_OBJECTS, ...PLACES]
    .reduce((words, [pattern, replacement]) => words.replace(pattern, replacement), clauses.join("; "))
    .trim()
    .slice(0, MAX_READ_LENGTH);
}

/** Long enough for a cause, short enough that object and next step stay visible. */
const MAX_LENGTH = 500;

/**
 * The message of a Cluster API condition for tenants, in one line (it writes bulleted lists); its reason when it has none, or
 * nothing in it concerns them.
 */
export function explain(condition: CapiCondition): string {
  const text = truncateForeignText(condition.message ?? "")
    .split("\n")
    .map((line) => line.trim().replace(/^\* /, ""))
    .filter((line) => line !== "")
    .join("; ")
    .replaceAll(":; ", ": ");
  return shorten(toTenantMessage(text) || condition.reason);
}

/**
 * Why Cluster API rejected an object, for tenants, without the name of the webhook: 'admission webhook "x" denied the request:
 * Cluster "y" is invalid: <why>' becomes <why>.
 */
export function explainRejection(message: string): string {
  const core = truncateForeignText(message)
    .replace(/^.*?denied the request: /s, "")
    .replace(/^\S+ "[^"]*" is (invalid|forbidden): /s, "");
  const why = toTenantMessage(core.replace(/\s+/g, " "));
  return shorten(why || "it cannot be carried out");
}

/** What a cause of a refusal begins with, before what is wrong: its kind and the refused value. */
const CAUSE_START =
  /^(?:Invalid|Unsupported|Required|Duplicate|Forbidden|Too (?:long|many|few))[^:"]*: (?:"(?:[^"\\]|\\.)*": )?/;

/** What is wrong with one field, for tenants: a cause of a refusal without the value, with the last name of a field inside a variable. */
export function explainCause(field: string, message: string): string {
  const core = truncateForeignText(message)
    .replace(CAUSE_START, "")
    .replace(/^[\w.]+ in body /, "");
  const why = toTenantMessage(core.replace(/\s+/g, " "));
  const [, inside] = /\.value\.(?:\w+\.)*(\w+)$/.exec(field) ?? [];
  const text = why || "it cannot be carried out";
  return shorten(inside === undefined ? text : `${inside} ${text}`);
}

/**
 * `rollout`: the previous rollout has not ended, so it has to wait; `quota`: a ResourceQuota of the namespace; `taints`: Cluster
 * API takes no taints of pools, as by default.
 */
export type RejectionCause = "rollout" | "quota" | "taints" | "specification";

/** What a rejection is about, by its text: Cluster API has no codes for it. */
export function findRejectionCause(message: string): RejectionCause {
  if (/version cannot be changed/.test(message)) return "rollout";
  if (/feature gate MachineTaintPropagation is disabled/.test(message)) return "taints";
  return /exceeded quota/.test(message) ? "quota" : "specification";
}

function shorten(text: string): string {
  const points = Array.from(text.replace(/\.$/, ""));
  return points.length <= MAX_LENGTH ? points.join("") : `${points.slice(0, MAX_LENGTH - 1).join("")}…`;
}
