import type { Manifest } from "../platform/stack/kube-api.ts";

/** What one rule of a Role or ClusterRole allows: one verb on one resource. */
export interface Right {
  /** Kind and name of the role: `ClusterRole marina-operator`. */
  role: string;
  verb: string;
  /** The group may be "*". */
  group: string;
  /** With its subresource, if any: `clusters/status`; may be "*". */
  resource: string;
  /** Names of the objects; undefined for all. */
  names?: readonly string[];
}

export interface Rule {
  apiGroups: readonly string[];
  resources: readonly string[];
  verbs: readonly string[];
  resourceNames?: readonly string[];
}

/** One line of the kube-apiserver's audit log, as far as it shows which role allowed what. */
export interface AuditEvent {
  verb: string;
  objectRef?: { resource?: string; subresource?: string; apiGroup?: string; name?: string };
  responseStatus?: { code?: number };
  annotations?: Record<string, string>;
}

/** A right that was needed by one request. */
export type Use = Omit<Right, "names"> & { name?: string };

/** Each verb on each resource of a rule. */
export function expandRule(role: string, rule: Rule): Right[] {
  const names = rule.resourceNames === undefined ? {} : { names: rule.resourceNames };
  return rule.apiGroups.flatMap((group) =>
    rule.resources.flatMap((resource) =>
      rule.verbs.map((verb) => ({ role, verb, group, resource, ...names })),
    ),
  );
}

/** All rights of the roles among the objects. */
export function expandRoles(objects: readonly (Manifest & { rules?: Rule[] })[]): Right[] {
  return objects
    .filter(({ kind }) => kind === "Role" || kind === "ClusterRole")
    .flatMap(({ kind, metadata, rules = [] }) =>
      rules.flatMap((rule) => expandRule(`${kind} ${metadata.name}`, rule)),
    );
}

/**
 * The rights that a request used, none when no role allowed it: a patch that made its object used `create` too. The
 * kube-apiserver's reason names the role:
 * https://kubernetes.io/docs/reference/labels-annotations-taints/audit-annotations/
 */
export function readUses({ verb, objectRef, responseStatus, annotations }: AuditEvent): Use[] {
  const reason = annotations?.["authorization.k8s.io/reason"] ?? "";
  const [, kind, roleName] = / of (ClusterRole|Role) "([^"/]+)/.exec(reason) ?? [];
  if (annotations?.["authorization.k8s.io/decision"] !== "allow" || kind === undefined) return [];
  const { resource = "", subresource, apiGroup: group = "", name } = objectRef ?? {};
  const verbs = verb === "patch" && responseStatus?.code === 201 ? [verb, "create"] : [verb];
  return verbs.map((used) => ({
    role: `${kind} ${roleName}`,
    verb: used,
    group,
    resource: subresource === undefined ? resource : `${resource}/${subresource}`,
    ...(name === undefined ? {} : { name }),
  }));
}

function covers(right: Right, use: Use): boolean {
  const matches = (allowed: string, used: string): boolean => allowed === "*" || allowed === used;
  return (
    right.role === use.role &&
    right.verb === use.verb &&
    matches(right.group, use.group) &&
    matches(right.resource, use.resource) &&
    (right.names === undefined || right.names.includes(use.name ?? ""))
  );
}

/** `ClusterRole marina-operator: get clusters.cloud.marina.dev`. */
export function describeRight({ role, verb, group, resource }: Omit<Right, "names">): string {
  return `${role}: ${verb} ${resource}${group === "" ? "" : `.${group}`}`;
}

/** The rights that none of the requests used. */
export function findUnused(rights: readonly Right[], uses: readonly Use[]): Right[] {
  return rights.filter((right) => !uses.some((use) => covers(right, use)));
}
