import { ROLES } from "../http/authorization/permissions.ts";
import type { SecurityRows } from "../testing/security-rows.ts";

export const SECURITY_ROWS: SecurityRows = {
  createTicket: [["owner", "admin", "member", "billing"], "tickets:write"],
  listTickets: [ROLES, "tickets:*"],
  getTicket: [ROLES, "tickets:*"],
  updateTicket: [["owner", "admin", "member", "billing"], "tickets:write"],
  listTicketMessages: [ROLES, "tickets:*"],
  createTicketMessage: [["owner", "admin", "member", "billing"], "tickets:write"],
  createTicketAttachment: [["owner", "admin", "member", "billing"], "tickets:write"],
  completeTicketAttachment: [["owner", "admin", "member", "billing"], "tickets:write"],
  listTicketAttachments: [ROLES, "tickets:*"],
  getTicketAttachment: [ROLES, "tickets:*"],
  listAdminTickets: "staff",
  getAdminTicket: "staff",
  updateAdminTicket: "staff",
  listAdminTicketMessages: "staff",
  createAdminTicketMessage: "staff",
  createAdminTicketAttachment: "staff",
  completeAdminTicketAttachment: "staff",
  listAdminTicketAttachments: "staff",
  getAdminTicketAttachment: "staff",
};
