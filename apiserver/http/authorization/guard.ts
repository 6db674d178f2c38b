import type { Caller, Membership, Origin, Principal } from "../authentication/principal.ts";
import { idSchema, invalidRequest } from "../contract/validate.ts";
import type { AccessControl } from "../env.ts";
import { ApiError, notFound } from "../errors.ts";
import { type Permission, scopeOf } from "./permissions.ts";

/**
 * Who may call an operation; `user` is a person, never a token. A permission (or several: any of them opens the door) needs `{orgID}` in the path and
 * a membership; the handler asks for more by `call.requirePermission`.
 */
export type Access = "anyone" | "signed-in" | "user" | "platform-admin" | Permission | readonly Permission[];

const PLATFORM_ADMIN_ROLE = "platform-admin";

/**
 * Lets a request through or throws, before anything else of it is looked at: 401 without a valid credential;
 * 403 on a platform path without the role; 400 for a malformed organization id, 404 for an organization that the
 * principal is no member of (missing or not: the same answer), 403 for a member without the permission.
 */
export async function admit(
  control: AccessControl,
  access: Access,
  request: { authorization: string | undefined; orgId: string | undefined } & Omit<Origin, "principal">,
  onRefusedStaff?: (principal: Principal) => Promise<void>,
): Promise<Caller> {
  if (access === "anyone") return {};
  const { authorization, orgId, ...circumstances } = request;
  const principal = await control.authenticate(authorization);
  if (access === "signed-in") return { principal };
  if (access === "platform-admin") {
    if (!isPlatformAdmin(principal)) {
      await onRefusedStaff?.(principal);
      throw new ApiError("forbidden", `This operation needs the role ${PLATFORM_ADMIN_ROLE}.`);
    }
    return { principal };
  }
  if (access === "user") {
    requirePerson(principal);
    return { principal };
  }
  const membership = await control.findMembership(principal, parseOrgId(orgId), {
    principal,
    ...circumstances,
  });
  if (membership === undefined) throw notFound("organization");
  requireAnyPermission(principal, membership, typeof access === "string" ? [access] : access);
  return { principal, membership };
}

/** Throws 403, naming the permissions, unless the member holds one of them. */
export function requireAnyPermission(
  principal: Principal,
  membership: Membership,
  permissions: readonly Permission[],
): void {
  if (permissions.some((permission) => membership.rights.has(permission))) return;
  const holder = principal.kind === "token" ? "This API token" : `The role ${membership.role}`;
  throw new ApiError("forbidden", `${holder} does not have ${describe(principal, permissions)}.`);
}

function isPlatformAdmin(principal: Principal): boolean {
  return principal.roles.some((role) => role === PLATFORM_ADMIN_ROLE);
}

function requirePerson(principal: Principal): void {
  if (principal.kind === "user") return;
  throw new ApiError("forbidden", "This operation is for people; an API token cannot call it.");
}

function describe(principal: Principal, permissions: readonly Permission[]): string {
  const scopes = new Set(permissions.flatMap((permission) => scopeOf(permission) ?? []));
  const hint = principal.kind === "token" && scopes.size > 0 ? ` (scope ${[...scopes].join(" or ")})` : "";
  return `the permission ${permissions.join(" or ")}${hint}`;
}

function parseOrgId(orgId: string | undefined): string {
  const parsed = idSchema.safeParse(orgId);
  if (!parsed.success) throw invalidRequest("path", withPath(parsed.error.issues), { orgID: orgId });
  return parsed.data;
}

function withPath<T extends { path: PropertyKey[] }>(issues: readonly T[]): T[] {
  return issues.map((issue) => ({ ...issue, path: ["orgID"] }));
}
