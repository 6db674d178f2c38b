export const ROLES = ["owner", "admin", "member", "billing", "viewer"] as const;
export type Role = (typeof ROLES)[number];

/** How a person became a member: by an invitation or as the creator of the organization, or by a group of an issuer. */
export const MEMBER_SOURCES = ["direct", "group"] as const;
export type MemberSource = (typeof MEMBER_SOURCES)[number];

/**
 * Which roles hold each permission, and which scope grants it to an API token; read by the guards, /me, the OpenAPI
 * document and the tests. Letters: o owner, a admin, m member, b billing, v viewer. A permission without a scope is
 * never granted to a token, so that no token can create tokens or change members.
 */
const TABLE = {
  "organization:read": ["oambv", "organization:read"],
  "organization:update": ["oa", "organization:write"],
  "organization:update_billing": ["oab", "organization:write"],
  "organization:delete": ["o", null],
  "members:read": ["oambv", "members:read"],
  "members:invite": ["oa", null],
  "members:update": ["oa", null],
  "members:remove": ["oa", null],
  "members:leave": ["oambv", null],
  "members:grant_owner": ["o", null],
  "api_tokens:read": ["oam", null],
  "api_tokens:create": ["oam", null],
  "api_tokens:revoke": ["oam", null],
  "api_tokens:manage": ["oa", null],
  "clusters:read": ["oambv", "clusters:read"],
  "clusters:create": ["oam", "clusters:write"],
  "clusters:update": ["oam", "clusters:write"],
  "clusters:upgrade": ["oam", "clusters:upgrade"],
  "clusters:delete": ["oa", "clusters:delete"],
  "clusters:access": ["oam", "clusters:access"],
  "clusters:rotate_credentials": ["oa", "clusters:access"],
  "nodepools:read": ["oambv", "nodepools:read"],
  "nodepools:create": ["oam", "nodepools:write"],
  "nodepools:update": ["oam", "nodepools:write"],
  "nodepools:delete": ["oam", "nodepools:write"],
  "network:read": ["oambv", "network:read"],
  "network:update": ["oam", "network:write"],
  "system_events:read": ["oamv", "events:read"],
  "webhooks:read": ["oamv", "webhooks:read"],
  "webhooks:create": ["oa", "webhooks:write"],
  "webhooks:update": ["oa", "webhooks:write"],
  "webhooks:delete": ["oa", "webhooks:write"],
  "webhooks:rotate_secret": ["oa", "webhooks:write"],
  "billing:read": ["oab", "billing:read"],
  "budget:update": ["oab", "billing:write"],
  "tickets:read": ["oambv", "tickets:read"],
  "tickets:all_categories": ["oamv", "tickets:read"],
  "tickets:create": ["oamb", "tickets:write"],
  "tickets:reply": ["oamb", "tickets:write"],
  "tickets:attach": ["oamb", "tickets:write"],
  "registry:read": ["oamv", "registry:read"],
  "registry:write": ["oam", "registry:write"],
  "storage_quota:read": ["oamv", "storage:read"],
  "audit:read": ["oa", "audit:read"],
} as const;

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
  return TABLE[permission][0].includes(role.charAt(0));
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
  /** The role held there; of a token, its own. */
  role: Role;
  /** What the principal may do now. */
  rights: ReadonlySet<Permission>;
  /** Absent of a token. */
  source?: MemberSource;
  /** When a membership by a group ends, unless another token carries the group. */
  endsAt?: Date | null;
}
