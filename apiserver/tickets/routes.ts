import type { Deps } from "../deps.ts";
import type { Router } from "../http/contract/router.ts";
import { addAdminAttachmentRoutes, addAttachmentRoutes } from "./attachments/attachment-routes.ts";
import { createStoreAccess } from "./attachments/objects/use-store.ts";
import { addAdminMessageRoutes, addMessageRoutes } from "./message-routes.ts";
import { createTicketMetrics } from "./metrics.ts";
import { addAdminTicketRoutes, addOrganizationTicketRoutes } from "./ticket-routes.ts";

/**
 * Operations on tickets, their messages and attachments, for the members of an organization and for the platform's
 * staff.
 */
export function addTicketRoutes(router: Router<Deps>, deps: Deps): void {
  const metrics = createTicketMetrics(deps.metrics, deps);
  addOrganizationTicketRoutes(router);
  addMessageRoutes(router);
  addAdminTicketRoutes(router);
  addAdminMessageRoutes(router, metrics);
  const store = createStoreAccess(deps, deps.metrics);
  addAttachmentRoutes(router, store);
  addAdminAttachmentRoutes(router, store);
}
