import { type ClusterAccess, isUserId } from "../../shared/crd/cluster-access.ts";
import { LABEL_API_TOKEN_ID, LABEL_API_TOKEN_VERSION, LABEL_USER_ID } from "../../shared/crd/names.ts";
import { findTokenVersions } from "../api-tokens/index.ts";
import type { Queryable } from "../db/client.ts";
import { hasPermission } from "../http/authorization/permissions.ts";
import { idSchema } from "../http/contract/validate.ts";
import { listRoles, listRolesByEmail } from "../members/index.ts";
import { findKnownOrganizations, organizationNamespace } from "../organizations/index.ts";

/** Who holds an access. */
interface Holder {
  userId: string;
  /** The API token that requested it for the user. */
  tokenId: string | undefined;
  /** The version of the token at that time; the first one where the access does not say it. */
  tokenVersion: number;
}

/** The organization whose Namespace an access is in, whatever its labels say. */
export function organizationOf({ metadata: { namespace } }: ClusterAccess): string | undefined {
  const orgId = parseId(namespace?.replace(/^org-/, ""));
  return orgId !== undefined && namespace === organizationNamespace(orgId) ? orgId : undefined;
}

/**
 * The holder of an access that REST issued; undefined for one that was applied by kubectl. The subject says who it is, before the
 * label: nobody changes it, and only REST and a restore create one that is the id of a user.
 */
export function holderOf({ metadata, spec }: ClusterAccess): Holder | undefined {
  const { labels = {} } = metadata;
  const userId = parseId(isUserId(spec.subject) ? spec.subject : labels[LABEL_USER_ID]);
  if (userId === undefined) return undefined;
  const tokenVersion = Number.parseInt(labels[LABEL_API_TOKEN_VERSION] ?? "1", 10);
  return { userId, tokenId: parseId(labels[LABEL_API_TOKEN_ID]), tokenVersion };
}

/** The id that a label holds. Labels can hold anything: undefined for a value that is no id. */
export function parseId(label: string | undefined): string | undefined {
  const parsed = idSchema.safeParse(label);
  return parsed.success ? parsed.data : undefined;
}

/** An access, and the organization that its Namespace belongs to. */
export interface HeldAccess {
  access: ClusterAccess;
  orgId: string;
}

/** Who holds an access: a user, with the API token that requested it, or an e-mail address; undefined = no person. */
type Named = Holder | { email: string };

/**
 * Whether the person whom an access names has a right to it now: is a member of the organization whose role opens
 * clusters, and has the API token in the version that requested it. True for an access that names no person, and for
 * one of an organization that is not in this database.
 */
export async function findRights(
  db: Queryable,
  held: readonly HeldAccess[],
): Promise<(held: HeldAccess) => boolean> {
  const orgIds = held.map(({ orgId }) => orgId);
  const named = held.flatMap(({ access }) => findNamed(access) ?? []);
  const users = named.filter((one) => "userId" in one);
  const emails = named.flatMap((one) => ("email" in one ? one.email : []));
  const [organizations, roles, rolesByEmail, tokenVersions] = await Promise.all([
    findKnownOrganizations(db, orgIds),
    listRoles(
      db,
      users.map(({ userId }) => userId),
    ),
    listRolesByEmail(db, orgIds, emails),
    findTokenVersions(
      db,
      users.flatMap(({ tokenId }) => tokenId ?? []),
    ),
  ]);
  return ({ access, orgId }) => {
    const person = findNamed(access);
    if (person === undefined || !organizations.has(orgId)) return true;
    if ("email" in person) {
      const isTheirs = (one: { orgId: string; email: string }) =>
        one.orgId === orgId && one.email === person.email;
      return rolesByEmail.some((one) => isTheirs(one) && hasPermission(one.role, "clusters:access"));
    }
    const { userId, tokenId, tokenVersion } = person;
    const role = roles.find((one) => one.orgId === orgId && one.userId === userId)?.role;
    if (role === undefined || !hasPermission(role, "clusters:access")) return false;
    return tokenId === undefined || tokenVersions.get(tokenId) === tokenVersion;
  };
}

/** Whom an access names. */
export function findNamed(access: ClusterAccess): Named | undefined {
  const { subject } = access.spec;
  return holderOf(access) ?? (subject.includes("@") ? { email: subject.toLowerCase() } : undefined);
}
