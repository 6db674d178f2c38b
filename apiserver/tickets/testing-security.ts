import type { SecurityRows } from "../testing/security-rows.ts";

export const SECURITY_ROWS: SecurityRows = {
  createTicket: ["oamb", "tickets:write"],
  listTickets: ["oambv", "tickets:*"],
  getTicket: ["oambv", "tickets:*"],
  updateTicket: ["oamb", "tickets:write"],
  listTicketMessages: ["oambv", "tickets:*"],
  createTicketMessage: ["oamb", "tickets:write"],
  createTicketAttachment: ["oamb", "tickets:write"],
  completeTicketAttachment: ["oamb", "tickets:write"],
  listTicketAttachments: ["oambv", "tickets:*"],
  getTicketAttachment: ["oambv", "tickets:*"],
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
