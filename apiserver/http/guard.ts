import type { AccessControl } from "./env.ts";
import { ApiError, notFound } from "./errors.ts";
import { hasPermission, type Permission } from "./permissions.ts";
import type { Membership, Principal, Visitor } from "./principal.ts";
import { idSchema, invalidRequest } from "./validate.ts";

/**
 * Who may call an operation. A permission (or several: any of them opens the door) needs `{orgID}` in the path and
 * a membership; the handler asks for more by `call.requirePermission`.
 */
export type Access = "anyone" | "signed-in" | "platform-admin" | Permission | readonly Permission[];

const PLATFORM_ADMIN_ROLE = "platform-admin";

/**
 * Lets a request through or throws, before anything else of it is looked at: 401 without a valid credential;
 * 403 on a platform path without the role; 400 for a malformed organization id, 404 for an organization that the
 * principal is no member of (missing or not: the same answer), 403 for a member without the permission.
 */
export async function admit(
  control: AccessControl,
  access: Access,
  request: { authorization: string | undefined; orgId: string | undefined },
): Promise<Visitor> {
  if (access === "anyone") return {};
  const principal = await control.authenticate(request.authorization);
  if (access === "signed-in") return { principal };
  if (access === "platform-admin") {
    requirePlatformAdmin(principal);
    return { principal };
  }
  const membership = await control.findMembership(principal, parseOrgId(request.orgId));
  if (membership === undefined) throw notFound("organization");
  requireAnyPermission(membership, typeof access === "string" ? [access] : access);
  return { principal, membership };
}

/** Throws 403, naming the permissions, unless the member's role holds one of them. */
export function requireAnyPermission(membership: Membership, permissions: readonly Permission[]): void {
  if (permissions.some((permission) => hasPermission(membership.role, permission))) return;
  throw new ApiError(
    "forbidden",
    `The role ${membership.role} does not have the permission ${permissions.join(" or ")}.`,
  );
}

function requirePlatformAdmin(principal: Principal): void {
  if (principal.roles.includes(PLATFORM_ADMIN_ROLE)) return;
  throw new ApiError("forbidden", `This operation needs the role ${PLATFORM_ADMIN_ROLE}.`);
}

function parseOrgId(orgId: string | undefined): string {
  const parsed = idSchema.safeParse(orgId);
  if (!parsed.success) throw invalidRequest("path", withPath(parsed.error.issues), { orgID: orgId });
  return parsed.data;
}

function withPath<T extends { path: PropertyKey[] }>(issues: readonly T[]): T[] {
  return issues.map((issue) => ({ ...issue, path: ["orgID"] }));
}
