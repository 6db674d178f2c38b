import { createHash } from "node:crypto";
import {
  type ForeignAdmins,
  MAX_BINDING_NAME_LENGTH,
  MAX_FOREIGN_ADMIN_NAMES,
} from "../../shared/crd/cluster.ts";
import { copyTruncated } from "../../shared/kube/errors.ts";
import type { Subject } from "./subjects.ts";
import { ACCOUNT_NAMESPACE, isOwnBinding } from "./subjects.ts";

/** A rule of a ClusterRole or a Role in a tenant cluster. */
export interface RoleRule {
  verbs: string[];
  apiGroups?: string[] | undefined;
  resources?: string[] | undefined;
  resourceNames?: string[] | undefined;
}

/** What matters of a binding: who has which role, and where. */
export interface CollectedBinding {
  metadata: { name: string; namespace?: string | undefined };
  roleRef: { kind: string; name: string };
  subjects?: Subject[] | undefined;
}

export type FoundAdmins = Omit<ForeignAdmins, "observedAt">;

/** A ClusterRole, or a Role of kube-system. */
export interface CollectedRole {
  kind: string;
  metadata: { name: string };
  rules?: RoleRule[] | null | undefined;
}

/**
 * Collects who is an administrator of a tenant cluster by a binding that Marina did not make. Where there are more roles of
 * administrators than are kept, a role that is not among them is taken for another one.
 */
export interface AdminCollector {
  addRole(role: CollectedRole): void;
  /** Bindings come after the roles. */
  addBinding(binding: CollectedBinding): void;
  result(): FoundAdmins;
}

/** More roles of administrators than a cluster has any use for: what a hostile one holds in memory is bounded. */
const MAX_ROLES = 5_000;

/** A longer name is kept as a digest. */
const MAX_ROLE_NAME_LENGTH = 253;

/** The bindings that Kubernetes and kubeadm make in each cluster, with their only subject. */
const BUILT_IN = new Map([
  ["cluster-admin", "Group//system:masters"],
  ["kubeadm:cluster-admins", "Group//kubeadm:cluster-admins"],
  [
    "system:controller:clusterrole-aggregation-controller",
    "ServiceAccount/kube-system/clusterrole-aggregation-controller",
  ],
]);

/** Rights with which their holder takes every other one (Kubernetes, RBAC good practices, privilege escalation risks). */
const ESCALATIONS: readonly { group: string; resources: readonly string[]; verbs: readonly string[] }[] = [
  { group: "rbac.authorization.k8s.io", resources: ["clusterroles", "roles"], verbs: ["escalate", "bind"] },
  { group: "", resources: ["users", "groups", "serviceaccounts"], verbs: ["impersonate"] },
];

/** What a rule without `*` lists to give every right to what there is (Kubernetes, API concepts, verbs). */
const EVERY_VERB = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];

/** The names by which such a right, limited to names, is still one to everything. */
const ADMIN_NAMES = ["cluster-admin", "system:masters"];

/**
 * Whether the holder of these rules has every right where they are bound, or can take it. Rules that name API groups or
 * resources one by one give every right to none.
 */
export function isAdminRole(rules: readonly RoleRule[]): boolean {
  return hasEveryVerb(rules) || canTakeRights(rules);
}

function hasEveryVerb(rules: readonly RoleRule[]): boolean {
  const verbs = rules.flatMap((rule) => {
    const { apiGroups = [], resources = [], resourceNames = [] } = rule;
    return apiGroups.includes("*") && resources.includes("*") && resourceNames.length === 0 ? rule.verbs : [];
  });
  return verbs.includes("*") || EVERY_VERB.every((verb) => verbs.includes(verb));
}

function canTakeRights(rules: readonly RoleRule[]): boolean {
  return rules.some((rule) => {
    const { verbs, apiGroups = [], resources = [], resourceNames = [] } = rule;
    if (resourceNames.length > 0 && !resourceNames.some((name) => ADMIN_NAMES.includes(name))) return false;
    const has = (values: readonly string[], wanted: readonly string[]) =>
      values.some((value) => value === "*" || wanted.includes(value));
    return ESCALATIONS.some(
      (one) => has(verbs, one.verbs) && has(apiGroups, [one.group]) && has(resources, one.resources),
    );
  });
}

export function createAdminCollector(): AdminCollector {
  const roles = new Set<string>();
  const names: string[] = [];
  let isComplete = true;
  let count = 0;

  return {
    addRole({ kind, metadata, rules }) {
      if (!isComplete || !isAdminRole(rules ?? [])) return;
      isComplete = roles.size < MAX_ROLES;
      if (isComplete) roles.add(identify(kind, metadata.name));
    },
    addBinding(binding) {
      const { metadata, roleRef, subjects = [] } = binding;
      const { name, namespace } = metadata;
      if (subjects.length === 0) return;
      if (isComplete && !roles.has(identify(roleRef.kind, roleRef.name))) return;
      // An administrator of this namespace can use the accounts of the controllers.
      if (namespace !== undefined && namespace !== ACCOUNT_NAMESPACE) return;
      if (namespace === undefined && (isOwnBinding(name) || isBuiltIn(binding))) return;
      count += 1;
      if (names.length === MAX_FOREIGN_ADMIN_NAMES) return;
      const place = namespace === undefined ? "" : `${namespace}/`;
      names.push(copyTruncated(`${place}${name}`, MAX_BINDING_NAME_LENGTH));
    },
    result: () => ({ count, names }),
  };
}

/** Kubernetes limits the names of roles by the size of an object alone; none of them has a slash. */
function identify(kind: string, name: string): string {
  if (name.length <= MAX_ROLE_NAME_LENGTH) return `${kind}/${name}`;
  return `${kind}//${createHash("sha256").update(name).digest("hex")}`;
}

function isBuiltIn({ metadata, subjects = [] }: CollectedBinding): boolean {
  const described = subjects.map(({ kind, namespace = "", name }) => `${kind}/${namespace}/${name}`);
  return described.length === 1 && described[0] === BUILT_IN.get(metadata.name);
}
