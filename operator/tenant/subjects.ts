import { nameAccessGroup } from "../../shared/crd/cluster-access.ts";

/** Groups and users of Marina's have names of this domain in tenant clusters; the other users are subjects of accesses. */
const OWN_DOMAIN = "cloud.marina.dev:";

/** Marina's ClusterRoleBindings in tenant clusters, and the ServiceAccounts of the same name. */
const OWN_PREFIX = "cloud-marina-dev-";

/** Where the ServiceAccounts are: every cluster has this namespace, and none may delete it. */
export const ACCOUNT_NAMESPACE = "kube-system";

/** Each generation has its own group: removing the binding of the last one revokes every older kubeconfig. */
export function nameAdminGroup(clusterId: string, generation: number): string {
  return `${OWN_DOMAIN}admin:${clusterId}:${generation}`;
}

/** The binding of a generation of the admin kubeconfig. */
export function nameAdminBinding(generation: number): string {
  return `${OWN_PREFIX}admin-${generation}`;
}

/** The binding of an access. */
export function nameAccessBinding(accessId: string): string {
  return `${OWN_PREFIX}access-${accessId}`;
}

/** By which names bindings give the right of an access: its group, and its ServiceAccount where it has one. */
export function nameAccessRights(accessId: string): string[] {
  return [nameAccessGroup(accessId), nameAccessBinding(accessId)];
}

const ACCESS_NAMES = nameAccessRights("");

/** Whether a name is the group or the binding of an access, of which there may be no object. */
export function isAccessName(name: string): boolean {
  return ACCESS_NAMES.some((start) => name.startsWith(start));
}

/** Whether a ClusterRoleBinding has a name of Marina's. */
export function isOwnBinding(name: string): boolean {
  return name.startsWith(OWN_PREFIX);
}

const ACCOUNT_USER = `system:serviceaccount:${ACCOUNT_NAMESPACE}:`;

/** The name of Marina's that a subject of a binding has: of a group, a user or a ServiceAccount; undefined for another. */
export function findOwnName(subject: {
  kind: string;
  name: string;
  namespace?: string | undefined;
}): string | undefined {
  const { kind, name, namespace } = subject;
  if (kind === "ServiceAccount")
    return namespace === ACCOUNT_NAMESPACE && isOwnBinding(name) ? name : undefined;
  if (kind === "User" && name.startsWith(ACCOUNT_USER)) {
    const account = name.slice(ACCOUNT_USER.length);
    return isOwnBinding(account) ? account : undefined;
  }
  return (kind === "User" || kind === "Group") && name.startsWith(OWN_DOMAIN) ? name : undefined;
}

export interface Subject {
  kind: string;
  apiGroup?: string | undefined;
  name: string;
  namespace?: string | undefined;
}

/** Whether a subject names a right that has ended. */
export type IsEnded = (subject: Subject) => boolean;

/** What is of a right that has ended in the bindings of a tenant cluster. */
export interface EndedRights {
  isEnded: IsEnded;
  /** Whether the ClusterRoleBinding of this name is Marina's own, of a right that has ended. */
  isLeftOver: (name: string) => boolean;
  /** Another one when another right has ended or begun. */
  revision: string;
}

/** What names Marina, and no right that is active or may come back: names of groups, users and ServiceAccounts. */
export function isOfNoLiveRight(isKept: (name: string) => boolean): IsEnded {
  return (subject) => {
    const name = findOwnName(subject);
    return name !== undefined && !isKept(name);
  };
}

/** One access that was revoked, by its group and its account and, when its subject has no other, by its user name. */
export function isOfAccess(names: readonly string[], user: string | undefined): IsEnded {
  return (subject) => {
    const own = findOwnName(subject);
    if (own !== undefined) return names.includes(own);
    return subject.kind === "User" && user !== undefined && subject.name === user;
  };
}

/** The subjects that a binding keeps; undefined when it keeps all. */
export function findKeptSubjects(
  { subjects = [] }: { subjects?: Subject[] | undefined },
  isEnded: IsEnded,
): Subject[] | undefined {
  const kept = subjects.filter((subject) => !isEnded(subject));
  return kept.length === subjects.length ? undefined : kept;
}
