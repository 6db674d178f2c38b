import { and, count, eq, gt, isNull, ne, sql, sum } from "drizzle-orm";
import type { Queryable } from "../db/client.ts";
import { sendTogether } from "../db/statement.ts";
import { ticketAttachments } from "./attachments/table.ts";
import type { TicketLimits } from "./config.ts";
import { type TicketRow, ticketMessages, tickets } from "./table.ts";

/** What counts in some of the limits. */
export type TicketUse = Partial<Record<keyof TicketLimits, number>>;

/** The limits of an organization: the others are of one ticket. */
export type OrganizationTicketUse = Omit<
  Required<TicketUse>,
  "messagesPerTicket" | "attachmentsPerTicket" | "attachmentBytesPerTicket"
>;

/** What the members of an organization have in tickets, and have added since a moment. */
export async function readTicketUse(
  db: Queryable,
  orgId: string,
  since: Date,
): Promise<OrganizationTicketUse> {
  const opening = db
    .select({
      open: sql<number>`count(*) filter (where ${ne(tickets.status, "closed")})::int`,
      recent: sql<number>`count(*) filter (where ${gt(tickets.createdAt, since)})::int`,
    })
    .from(tickets)
    .where(eq(tickets.orgId, orgId));
  const writing = db
    .select({ recent: count() })
    .from(ticketMessages)
    .where(
      and(
        eq(ticketMessages.orgId, orgId),
        gt(ticketMessages.createdAt, since),
        eq(ticketMessages.authorType, "tenant"),
      ),
    );
  const attaching = db
    .select({
      recent: sql<number>`count(*) filter (where ${gt(ticketAttachments.createdAt, since)})::int`,
      bytes: sql<number>`coalesce(sum(${ticketAttachments.sizeBytes}) filter (where ${isNull(ticketAttachments.discardedAt)}), 0)::float8`,
    })
    .from(ticketAttachments)
    .where(and(eq(ticketAttachments.orgId, orgId), eq(ticketAttachments.authorType, "tenant")));
  const [[opened], [written], [attached]] = await sendTogether(opening, writing, attaching);
  return {
    openTickets: opened?.open ?? 0,
    ticketsPerDay: opened?.recent ?? 0,
    messagesPerDay: written?.recent ?? 0,
    attachmentsPerDay: attached?.recent ?? 0,
    attachmentBytes: attached?.bytes ?? 0,
  };
}

/** What the members of its organization have added to one ticket; nothing of the staff's, which they do not see. */
export async function readUseOfTicket(
  db: Queryable,
  { id, orgId }: Pick<TicketRow, "id" | "orgId">,
): Promise<TicketUse> {
  const [written] = await db
    .select({ messages: count() })
    .from(ticketMessages)
    .where(
      and(
        eq(ticketMessages.orgId, orgId),
        eq(ticketMessages.ticketId, id),
        eq(ticketMessages.authorType, "tenant"),
      ),
    );
  const [attached] = await db
    .select({ files: count(), bytes: sum(ticketAttachments.sizeBytes).mapWith(Number) })
    .from(ticketAttachments)
    .where(and(eq(ticketAttachments.orgId, orgId), eq(ticketAttachments.ticketId, id), isOfTenant()));
  return {
    messagesPerTicket: written?.messages ?? 0,
    attachmentsPerTicket: attached?.files ?? 0,
    attachmentBytesPerTicket: attached?.bytes ?? 0,
  };
}

function isOfTenant() {
  return and(eq(ticketAttachments.authorType, "tenant"), isNull(ticketAttachments.discardedAt));
}
