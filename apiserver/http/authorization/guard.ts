import type { Queryable } from "../../db/client.ts";
import { DEFAULT_STAFF_ROLE } from "../authentication/issuer-config.ts";
import type { Principal } from "../authentication/principal.ts";
import { ApiError, notFound } from "../errors.ts";
import { hasPermission, type Membership, type Permission, scopeOf } from "./permissions.ts";

/** What the caller may do, as read in the transaction of a change; it stays true until that transaction ends. */
export interface ConfirmedAccess {
  membership: Membership;
  /** Throws 403 naming the permission. */
  requirePermission: (permission: Permission) => void;
}

/**
 * Who may call an operation; `user` is a person, never a token. A permission (or any one of several) needs `{orgID}` in
 * the path and a membership; the handler asks for more by `call.requirePermission`.
 */
export type Access = "signed-in" | "user" | "platform-admin" | Permission | readonly Permission[];

/** How the http layer identifies callers; app.ts makes it of the slices, so that http/ imports none. */
export interface AccessControl {
  /** Turns an Authorization header into a principal. Throws 401 unauthorized, or 503 when an issuer is unavailable. */
  authenticate(authorization: string | undefined): Promise<Principal>;
  /**
   * Uses up a stream ticket that was issued for this path and returns its principal. Throws 401 unauthorized for one that is
   * unknown, used, expired or for another path.
   */
  redeemStreamTicket(ticket: string, path: string): Promise<Principal>;
  /** Whether this very credential was accepted before; does no I/O. */
  isKnown(authorization: string): boolean;
  /** Whether it is an API token with the right checksum, which a guess lacks; does no I/O. */
  isWellFormed(authorization: string): boolean;
  /** The principal's membership of an organization that is not deleted; undefined when there is none. */
  findMembership(principal: Principal, orgId: string): Promise<Membership | undefined>;
  /**
   * Like findMembership, under the organization's row lock, which is held until the transaction ends; also undefined
   * for an API token whose secret has changed since it was presented. Throws 404 or 409 conflict for an organization
   * that is deleted or being deleted.
   */
  lockMembership(tx: Queryable, principal: Principal, orgId: string): Promise<Membership | undefined>;
  /** The issuer that a user id belongs to. */
  findIssuer(tx: Queryable, userId: string): Promise<string | undefined>;
  /** Takes the same lock for the platform's staff, who are no members. Throws the same 404 and 409. */
  lockOrganization(tx: Queryable, orgId: string): Promise<unknown>;
}

/** Whether an operation needs a membership of the organization in its path. */
export function needsMembership(access: Access): access is Permission | readonly Permission[] {
  return typeof access !== "string" || !["signed-in", "user", "platform-admin"].includes(access);
}

/**
 * Authorizes an authenticated principal; returns the membership for an operation inside an organization. Throws 403
 * for a platform path without the role, 404 for an organization that the principal is no member of (existing or not:
 * the same response), 403 for a member without the permission.
 */
export async function authorize(
  control: Pick<AccessControl, "findMembership">,
  access: Access,
  principal: Principal,
  orgId = "",
): Promise<Membership | undefined> {
  if (access === "signed-in") return undefined;
  if (access === "platform-admin") {
    if (isPlatformAdmin(principal)) return undefined;
    throw new ApiError("forbidden", `This operation needs the role ${DEFAULT_STAFF_ROLE}.`);
  }
  if (access === "user") {
    if (principal.kind === "user") return undefined;
    throw new ApiError("forbidden", "This operation is for people; an API token cannot call it.");
  }
  const membership = await control.findMembership(principal, orgId);
  if (membership === undefined) throw notFound("organization");
  requireAnyPermission(principal, membership, typeof access === "string" ? [access] : access);
  return membership;
}

/** Throws 403, naming the permissions, unless the member holds one of them. */
export function requireAnyPermission(
  principal: Principal,
  membership: Membership,
  permissions: readonly Permission[],
): void {
  if (permissions.some((permission) => membership.rights.has(permission))) return;
  throw new ApiError(
    "forbidden",
    `${describeHolder(principal, membership, permissions)} does not have ${describe(principal, permissions)}.`,
  );
}

function describeHolder(
  { kind }: Principal,
  { role, source }: Membership,
  permissions: readonly Permission[],
): string {
  if (kind === "token") return "This API token";
  const isOfRole = permissions.some((permission) => hasPermission(role, permission));
  return source === "group" && isOfRole
    ? "A membership by a group of the identity provider"
    : `The role ${role}`;
}

/** Whether the principal holds the realm role of the platform's staff. */
export function isPlatformAdmin(principal: Principal): boolean {
  return principal.roles.some((role) => role === DEFAULT_STAFF_ROLE);
}

/**
 * Authorizes once more, in the transaction of the change, for a right may end in the 30 s that a body can take. Locks the
 * organization's row, as every end of a right does. Throws what `confirmCredential` throws, 403 for a permission or API token that
 * has ended, 404 for a membership or an organization that has ended, and 409 conflict for an organization that is being deleted.
 */
export async function confirmAccess(
  control: Pick<AccessControl, "lockMembership">,
  access: Access,
  { principal, orgId }: { principal: Principal; orgId: string },
  tx: Queryable,
): Promise<ConfirmedAccess> {
  const membership = await control.lockMembership(tx, principal, orgId);
  if (membership === undefined) {
    if (principal.kind === "user") throw notFound("organization");
    throw new ApiError("forbidden", "This API token ended while the request was under way.");
  }
  requireCurrent(principal, membership.issuer);
  const requireAny = (permissions: readonly Permission[]) =>
    requireAnyPermission(principal, membership, permissions);
  if (needsMembership(access)) requireAny(typeof access === "string" ? [access] : access);
  return { membership, requirePermission: (permission) => requireAny([permission]) };
}

/** Authenticates once more, in the transaction of the change. Throws 401 for a token of a person that has ended. */
export async function confirmCredential(
  control: Pick<AccessControl, "findIssuer">,
  principal: Principal,
  tx: Queryable,
): Promise<void> {
  if (principal.kind === "user") requireCurrent(principal, await control.findIssuer(tx, principal.userId));
}

/** Throws 401 for a token of a person that has expired, or whose issuer the user's id does not belong to any more. */
function requireCurrent(principal: Principal, issuer: string | undefined): void {
  if (principal.kind === "token" || (issuer === principal.issuer && Date.now() < principal.expiresAtMs))
    return;
  throw new ApiError("unauthorized", "The token ended while the request was under way.", {
    headers: { "WWW-Authenticate": 'Bearer realm="marina"' },
  });
}

function describe(principal: Principal, permissions: readonly Permission[]): string {
  const scopes = new Set(permissions.flatMap((permission) => scopeOf(permission) ?? []));
  const hint = principal.kind === "token" && scopes.size > 0 ? ` (scope ${[...scopes].join(" or ")})` : "";
  return `the permission ${permissions.join(" or ")}${hint}`;
}
