import {
  hasPermission,
  PERMISSIONS,
  permissionsOf,
  type Role,
  type Scope,
  scopeOf,
} from "../http/authorization/permissions.ts";
import { ApiError } from "../http/errors.ts";

/**
 * Refuses a token with more permissions than its creator has, or with a scope that grants nothing to its role. Throws
 * 403.
 */
export function requireGrantable(ownRole: Role, role: Role, scopes: readonly Scope[]): void {
  const excess = permissionsOf(role).find((permission) => !hasPermission(ownRole, permission));
  if (excess !== undefined)
    throw new ApiError("forbidden", `The role ${ownRole} cannot create a token with the role ${role}.`);
  const isUseless = (scope: Scope) =>
    !PERMISSIONS.some((permission) => scopeOf(permission) === scope && hasPermission(role, permission));
  const useless = scopes.find(isUseless);
  if (useless === undefined) return;
  throw new ApiError("forbidden", `The scope ${useless} grants no permission that the role ${role} has.`);
}
