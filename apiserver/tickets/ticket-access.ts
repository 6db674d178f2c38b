import type { Membership } from "../http/authorization/permissions.ts";
import { ApiError } from "../http/errors.ts";
import type { TicketScope } from "./store.ts";
import type { TicketCategory } from "./table.ts";

/** The only category of a member without the permission for all categories. */
const BILLING: TicketCategory = "billing";
const ALL_CATEGORIES = "tickets:all_categories";

/** The tickets that a member sees: all of the organization, or those about billing. */
export function ticketScopeOf({ orgId, rights }: Pick<Membership, "orgId" | "rights">): TicketScope {
  return rights.has(ALL_CATEGORIES) ? { orgId } : { orgId, onlyCategory: BILLING };
}

/** Throws 403 for a category that the member does not see. */
export function requireCategory({ onlyCategory }: TicketScope, category: TicketCategory): void {
  if (onlyCategory === undefined || category === onlyCategory) return;
  const message = `Tickets of another category than ${onlyCategory} need the permission ${ALL_CATEGORIES}.`;
  throw new ApiError("forbidden", message);
}
