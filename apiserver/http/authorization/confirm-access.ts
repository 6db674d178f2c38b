import type { Queryable } from "../../db/client.ts";
import type { Principal } from "../authentication/principal.ts";
import { ApiError } from "../errors.ts";
import { type Access, type AccessControl, needsMembership, requireAnyPermission } from "./guard.ts";
import type { Membership } from "./membership.ts";
import type { Permission } from "./permissions.ts";

/** What the caller may do, as read in the transaction of a change; it stays true until that transaction ends. */
export interface ConfirmedAccess {
  membership: Membership;
  /** Throws 403 naming the permission. */
  requirePermission: (permission: Permission) => void;
}

/**
 * Authorizes once more, in the transaction of the change: a body can take 30 s to arrive, in which a membership or a
 * token may end. Takes the organization's row lock, which every end of a right takes too. Throws 403 for a right that has
 * ended, and 404 or 409 conflict for an organization that has ended or is ending.
 */
export async function confirmAccess(
  control: Pick<AccessControl, "lockMembership">,
  access: Access,
  caller: { principal: Principal; orgId: string },
  tx: Queryable,
): Promise<ConfirmedAccess> {
  const { principal, orgId } = caller;
  const membership = await control.lockMembership(tx, principal, orgId);
  if (membership === undefined) {
    const what = principal.kind === "token" ? "This API token" : "Your membership of the organization";
    throw new ApiError("forbidden", `${what} ended while the request was under way.`);
  }
  const requireAny = (permissions: readonly Permission[]) =>
    requireAnyPermission(principal, membership, permissions);
  if (needsMembership(access)) requireAny(typeof access === "string" ? [access] : access);
  return { membership, requirePermission: (permission) => requireAny([permission]) };
}
