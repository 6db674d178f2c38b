/** What Cluster API does again by itself, or only its operator can act on: the rest of a message is understood without it. */
const INTERNAL =
  /finalizer|operation cannot be fulfilled|object (?:has been|was) modified|precondition failed|requeue|rate limiter|failed calling webhook|connection refused|context deadline exceeded|context canceled|etcdserver:/i;

const NAME = `(?:"[^"]*"|[a-z0-9.]*[-/][a-z0-9./-]*)`;
const NAMES = `(?: ${NAME}(?:, ${NAME})*)?`;
const UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";

/** Objects that Cluster API makes for itself, by what they are to a tenant. */
const OWN_OBJECTS: readonly [RegExp, string][] = [
  [new RegExp(`\\b\\w*Machine(?:Set|Deployment|Pool|HealthCheck)(s?)\\b${NAMES}`, "g"), "node pool$1"],
  [new RegExp(`\\b\\w+ControlPlane\\b${NAMES}`, "g"), "control plane"],
  [new RegExp(`\\b(?:\\w+Template|\\w+Config)\\b${NAMES}`, "g"), "machine configuration"],
];

const PLACES: readonly [RegExp, string][] = [
  [new RegExp(`\\s*[([]?\\b(?:uid|UID)?[:=]?\\s?(?<!org-)${UUID}\\b[)\\]]?`, "g"), ""],
  [/\s*\bin (?:the )?namespace "?[a-z0-9-]+"?/gi, ""],
  [/\b([A-Z]\w+ "?)[a-z0-9][a-z0-9-]*\/(?=[a-z0-9])/g, "$1"],
  [/\borg-[0-9a-z-]+\//g, ""],
  [/(?:\bthe )?\bnamespace "?org-[0-9a-z-]+"?|\borg-[0-9a-z-]+/gi, "the organization"],
];

/**
 * A text of Cluster API or of Kubernetes in the words of tenants: without finalizers, uids, Namespaces, objects that Cluster
 * API makes for itself, and what it tries again by itself. Empty when nothing else is left.
 */
export function toTenantWords(text: string): string {
  const told = text
    .replaceAll("; please apply", ", please apply")
    .split(/; |\n/)
    .filter((clause) => !INTERNAL.test(clause));
  return [...OWN_OBJECTS, ...PLACES]
    .reduce((words, [pattern, replacement]) => words.replace(pattern, replacement), told.join("; "))
    .trim();
}
