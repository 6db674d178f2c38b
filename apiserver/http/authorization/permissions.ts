export const ROLES = ["owner", "admin", "member", "billing", "viewer"] as const;
export type Role = (typeof ROLES)[number];

/** How a person became a member: by an invitation or as the creator of the organization, or by a group of an issuer. */
export const MEMBER_SOURCES = ["direct", "group"] as const;
export type MemberSource = (typeof MEMBER_SOURCES)[number];

/**
 * Which roles hold each permission, and which scope grants it to an API token; read by the guards, /me, the OpenAPI
 * document and the tests. A permission without a scope is never granted to a token, so that no token can create tokens or
 * change members.
 */
const TABLE = {
  "organization:read": [ROLES, "organization:read"],
  "organization:update": [["owner", "admin"], "organization:write"],
  "organization:update_billing": [["owner", "admin", "billing"], "organization:write"],
  "organization:delete": [["owner"], null],
  "members:read": [ROLES, "members:read"],
  "members:invite": [["owner", "admin"], null],
  "members:update": [["owner", "admin"], null],
  "members:remove": [["owner", "admin"], null],
  "members:leave": [ROLES, null],
  "members:grant_owner": [["owner"], null],
  "api_tokens:read": [["owner", "admin", "member"], null],
  "api_tokens:create": [["owner", "admin", "member"], null],
  "api_tokens:revoke": [["owner", "admin", "member"], null],
  "api_tokens:manage": [["owner", "admin"], null],
  "clusters:read": [ROLES, "clusters:read"],
  "clusters:create": [["owner", "admin", "member"], "clusters:write"],
  "clusters:update": [["owner", "admin", "member"], "clusters:write"],
  "clusters:upgrade": [["owner", "admin", "member"], "clusters:upgrade"],
  "clusters:delete": [["owner", "admin"], "clusters:delete"],
  "clusters:access": [["owner", "admin", "member"], "clusters:access"],
  "clusters:rotate_credentials": [["owner", "admin"], "clusters:access"],
  "nodepools:read": [ROLES, "nodepools:read"],
  "nodepools:create": [["owner", "admin", "member"], "nodepools:write"],
  "nodepools:update": [["owner", "admin", "member"], "nodepools:write"],
  "nodepools:delete": [["owner", "admin", "member"], "nodepools:write"],
  "network:read": [ROLES, "network:read"],
  "network:update": [["owner", "admin", "member"], "network:write"],
  "system_events:read": [["owner", "admin", "member", "viewer"], "events:read"],
  "webhooks:read": [["owner", "admin", "member", "viewer"], "webhooks:read"],
  "webhooks:create": [["owner", "admin"], "webhooks:write"],
  "webhooks:update": [["owner", "admin"], "webhooks:write"],
  "webhooks:delete": [["owner", "admin"], "webhooks:write"],
  "webhooks:rotate_secret": [["owner", "admin"], "webhooks:write"],
  "billing:read": [["owner", "admin", "billing"], "billing:read"],
  "budget:update": [["owner", "admin", "billing"], "billing:write"],
  "tickets:read": [ROLES, "tickets:read"],
  "tickets:all_categories": [["owner", "admin", "member", "viewer"], "tickets:read"],
  "tickets:create": [["owner", "admin", "member", "billing"], "tickets:write"],
  "tickets:reply": [["owner", "admin", "member", "billing"], "tickets:write"],
  "tickets:attach": [["owner", "admin", "member", "billing"], "tickets:write"],
  "registry:read": [["owner", "admin", "member", "viewer"], "registry:read"],
  "registry:write": [["owner", "admin", "member"], "registry:write"],
  "storage_quota:read": [["owner", "admin", "member", "viewer"], "storage:read"],
  "audit:read": [["owner", "admin"], "audit:read"],
} as const satisfies Record<string, readonly [readonly Role[], string | null]>;

export type Permission = keyof typeof TABLE;
export type Scope = Exclude<(typeof TABLE)[Permission][1], null>;

/** Every permission, in the order of the table. */
export const PERMISSIONS = Object.keys(TABLE) as [Permission, ...Permission[]];

/** Every scope that a token can be given, in the order of the table. */
export const SCOPES = [
  ...new Set(PERMISSIONS.flatMap((permission) => scopeOf(permission) ?? [])),
] as unknown as [Scope, ...Scope[]];

/** Whether a role holds a permission. */
export function hasPermission(role: Role, permission: Permission): boolean {
  const roles: readonly Role[] = TABLE[permission][0];
  return roles.includes(role);
}

/** All permissions of a role, in the order of the table. */
export function permissionsOf(role: Role): Permission[] {
  return PERMISSIONS.filter((permission) => hasPermission(role, permission));
}

const RIGHTS = {
  direct: rightsByRole(() => true),
  group: rightsByRole((one) => one !== "api_tokens:create"),
};

function rightsByRole(isKept: (permission: Permission) => boolean): Map<Role, ReadonlySet<Permission>> {
  return new Map(ROLES.map((role) => [role, new Set(permissionsOf(role).filter(isKept))]));
}

/** The permissions of a role as a set; one that a group gives makes no API tokens, which would outlive it. */
export function rightsOf(role: Role, source: MemberSource = "direct"): ReadonlySet<Permission> {
  return RIGHTS[source].get(role) ?? new Set();
}

/** The scope that grants a permission to a token; undefined when none does. */
export function scopeOf(permission: Permission): Scope | undefined {
  return TABLE[permission][1] ?? undefined;
}

/** Whether a scope grants a permission. Every scope of a resource also grants reading it. */
function grants(scope: Scope, permission: Permission): boolean {
  const needed = scopeOf(permission);
  if (needed === undefined) return false;
  return needed === scope || needed === `${scope.slice(0, scope.indexOf(":"))}:read`;
}

/** The rights of a token: what its scopes grant, limited by its own role and by its creator's present role. */
export function rightsOfToken(token: {
  scopes: readonly Scope[];
  role: Role;
  creatorRole: Role;
}): ReadonlySet<Permission> {
  const { scopes, role, creatorRole } = token;
  return new Set(
    PERMISSIONS.filter(
      (permission) =>
        hasPermission(role, permission) &&
        hasPermission(creatorRole, permission) &&
        scopes.some((scope) => grants(scope, permission)),
    ),
  );
}

/** The principal's place in the organization that the path names. */
export interface Membership {
  memberId: string;
  orgId: string;
  /** The organization's own record, which is read with it: see `organizationOfMembership` of its slice. */
  organization: unknown;
  /** The role held there; of a token, its own. */
  role: Role;
  /** What the principal may do now. */
  rights: ReadonlySet<Permission>;
  /** Absent of a token. */
  source?: MemberSource;
  /** When a membership by a group ends, unless another token carries the group. */
  endsAt?: Date | null;
  /** The issuer that the user's id belongs to; absent of a token. */
  issuer?: string;
}
