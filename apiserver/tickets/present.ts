import type { z } from "@hono/zod-openapi";
import { isOverdue } from "./respond-by.ts";
import type { adminTicketMessageRecord, ticketMessageRecord, ticketRecord } from "./schema.ts";
import type { TicketMessageRow, TicketRow } from "./table.ts";

/** The wire form of a ticket, for tenants and staff alike. */
export function presentTicket(row: TicketRow, now: Date): z.output<typeof ticketRecord> {
  return {
    id: row.id,
    org_id: row.orgId,
    cluster_id: row.clusterId,
    subject: row.subject,
    category: row.category,
    severity: row.severity,
    status: row.status,
    created_by: row.createdBy,
    assigned_to: row.assignedTo,
    first_response_at: toText(row.firstResponseAt),
    resolved_at: toText(row.resolvedAt),
    respond_by: toText(row.respondBy),
    overdue: isOverdue(row, now),
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
  };
}

/** The wire form of a public message. Throws for an internal one. */
export function presentMessage(row: TicketMessageRow): z.output<typeof ticketMessageRecord> {
  if (row.internal) throw new Error("an internal note has no public form");
  return presentFields(row);
}

/** The wire form of any message, for the platform's staff. */
export function presentAdminMessage(row: TicketMessageRow): z.output<typeof adminTicketMessageRecord> {
  return { ...presentFields(row), internal: row.internal };
}

/** The fields of a ticket that the audit log keeps. */
export function auditTicket(row: TicketRow) {
  const { clusterId, subject, category, severity, status, assignedTo } = row;
  return { cluster_id: clusterId, subject, category, severity, status, assigned_to: assignedTo };
}

/** The entity tag of a ticket. The second part changes with time, and no If-Match compares it. */
export function ticketTag(row: TicketRow, now: Date): string {
  return `"${row.version}-${isOverdue(row, now) ? 1 : 0}"`;
}

function presentFields(row: TicketMessageRow) {
  return {
    id: row.id,
    ticket_id: row.ticketId,
    author_id: row.authorId,
    author_type: row.authorType,
    body: row.body,
    created_at: row.createdAt.toISOString(),
  };
}

function toText(time: Date | null): string | null {
  return time?.toISOString() ?? null;
}
