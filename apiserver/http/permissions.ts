import type { Role } from "./principal.ts";

/**
 * Which roles hold which permission: the one table that the guards, /me and the tests read.
 * Letters: o owner, a admin, m member, b billing, v viewer.
 */
const ROLES_BY_PERMISSION = {
  "organization:read": "oambv",
  "organization:update": "oa",
  "organization:update_billing": "oab",
  "organization:delete": "o",
  "members:read": "oambv",
  "members:invite": "oa",
  "members:update": "oa",
  "members:remove": "oa",
  "members:grant_owner": "o",
  "api_tokens:read": "oam",
  "api_tokens:create": "oam",
  "api_tokens:revoke": "oam",
  "clusters:read": "oambv",
  "clusters:create": "oam",
  "clusters:update": "oam",
  "clusters:upgrade": "oam",
  "clusters:delete": "oa",
  "clusters:access": "oam",
  "clusters:rotate_credentials": "oa",
  "nodepools:read": "oambv",
  "nodepools:create": "oam",
  "nodepools:update": "oam",
  "nodepools:delete": "oam",
  "network:read": "oambv",
  "network:update": "oam",
  "system_events:read": "oamv",
  "webhooks:read": "oamv",
  "webhooks:create": "oa",
  "webhooks:update": "oa",
  "webhooks:delete": "oa",
  "webhooks:rotate_secret": "oa",
  "billing:read": "oab",
  "budget:update": "oab",
  "tickets:read": "oambv",
  "tickets:create": "oamb",
  "tickets:reply": "oamb",
  "tickets:attach": "oamb",
  "registry:read": "oamv",
  "registry:write": "oam",
  "storage_quota:read": "oamv",
  "audit:read": "oa",
} as const;

export type Permission = keyof typeof ROLES_BY_PERMISSION;

/** Every permission, in the order of the table. */
export const PERMISSIONS = Object.keys(ROLES_BY_PERMISSION) as [Permission, ...Permission[]];

/** Whether a role holds a permission. */
export function hasPermission(role: Role, permission: Permission): boolean {
  return ROLES_BY_PERMISSION[permission].includes(role.charAt(0));
}

/** All permissions of a role, in the order of the table. */
export function permissionsOf(role: Role): Permission[] {
  return PERMISSIONS.filter((permission) => hasPermission(role, permission));
}
