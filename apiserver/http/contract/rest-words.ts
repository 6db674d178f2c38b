/** The fields of custom resources that messages name, and their names in REST. */
const WIRE_NAMES: Readonly<Record<string, string>> = {
  displayName: "name",
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
  nodeTaints: "node_taints",
  drainTimeoutSeconds: "drain_timeout_seconds",
  scaleDownDelaySeconds: "scale_down_delay_seconds",
  scaleDownUtilizationPercent: "scale_down_utilization_percent",
  publicEndpoint: "public_endpoint",
  authorizedCIDRs: "authorized_cidrs",
  apiServerRateLimit: "api_server_rate_limit",
  ttlSeconds: "ttl_seconds",
};

/** The messages that were worded last, each with its words; most objects have one of a few. */
const worded = new Map<string, string>();
const MAX_WORDED = 1000;

/**
 * A message of the operator in the words of REST: fields of the custom resources have their wire names, and objects are
 * named as REST names them, without their namespace.
 */
export function toRestWords(message: string): string {
  const known = worded.get(message);
  if (known !== undefined) return known;
  if (worded.size >= MAX_WORDED) worded.delete(worded.keys().next().value ?? "");
  const words = reword(message);
  worded.set(message, words);
  return words;
}

function reword(message: string): string {
  return message
    .replaceAll(/\bspec\.version\b/g, "k8s_version")
    .replaceAll(/\bspec\.(?:network\.)?(\w+)/g, (_, field: string) => WIRE_NAMES[field] ?? field)
    .replaceAll(/\w+/g, (word) => (Object.hasOwn(WIRE_NAMES, word) ? (WIRE_NAMES[word] ?? word) : word))
    .replaceAll(/\b(?:Cluster API )?Cluster (?=[a-z0-9-]+\/)/g, "cluster ")
    .replaceAll(
      /; or, to delete these nodes, set the annotation \S+ of the Cluster\b/g,
      ", or ask the platform's operator to delete these nodes",
    )
    .replaceAll(/\bNodePool\b/g, "node pool")
    .replaceAll(/\bMachine (?=[a-z0-9])/g, "machine ")
    .replaceAll(/\borg-[0-9a-z-]+\//g, "")
    .replaceAll(/\bthis namespace\b/g, "this organization")
    .replaceAll(/\bThis namespace\b/g, "This organization")
    .replaceAll(/\bthe (?:older )?namespace org-[0-9a-z-]+/g, "the organization");
}
