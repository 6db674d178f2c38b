import { type AuditEntry, recordAudit } from "../audit/index.ts";
import type { Queryable } from "../db/client.ts";
import { emitWebhookEvents, type NewWebhookEvent, newEvent } from "../events/emit.ts";
import type { Author } from "../http/authentication/principal.ts";
import { ApiError, invalidField } from "../http/errors.ts";
import { isKnownStaff } from "../members/index.ts";
import { hasRecentCluster } from "../resources/project/index.ts";
import type { ResponseTargets } from "./config.ts";
import { ticketUpdated } from "./event-schema.ts";
import { auditTicket } from "./present.ts";
import { isWithStaff, respondBy } from "./respond-by.ts";
import { mayMove, resolvedAtAfter } from "./states.ts";
import { insertMessage, insertTicket, lockOpenTickets, updateTicketRow } from "./store.ts";
import type { AuthorType, TicketCategory, TicketRow, TicketSeverity, TicketStatus } from "./table.ts";

/** For how long after its end a ticket can be opened about a cluster. */
const DELETED_CLUSTER_DAYS = 90;
const CLOSED_AT_ONCE = 500;

/** What a change depends on besides the ticket. */
export interface ChangeTiming {
  at: Date;
  targets: ResponseTargets;
}

export interface NewTicket {
  id: string;
  messageId: string;
  clusterId: string | null;
  subject: string;
  category: TicketCategory;
  severity: TicketSeverity;
  body: string;
}

/**
 * Opens a ticket with its first message. Throws 422 for a cluster that the organization does not have.
 */
export async function createTicket(
  tx: Queryable,
  author: Author,
  orgId: string,
  { messageId, body, ...ticket }: NewTicket,
  { at, targets }: ChangeTiming,
): Promise<TicketRow> {
  await requireCluster(tx, orgId, ticket.clusterId);
  const awaited = { status: "open", firstResponseAt: null, awaitingSince: at } as const;
  const row = await insertTicket(tx, {
    orgId,
    ...ticket,
    ...awaited,
    createdBy: authorIdOf(author),
    respondBy: respondBy(targets, { ...ticket, ...awaited }),
    createdAt: at,
    updatedAt: at,
    lastMessageNumber: 1,
  });
  await insertMessage(tx, {
    id: messageId,
    orgId,
    ticketId: row.id,
    number: 1,
    authorId: authorIdOf(author),
    authorType: "tenant",
    internal: false,
    subject: row.subject,
    body,
    createdAt: at,
  });
  await recordTicketChange(tx, author, "ticket.create", row, { after: auditTicket(row) });
  await emitWebhookEvents(tx, [toEvent(row, "tenant")]);
  return row;
}

export interface TicketChange {
  status?: TicketStatus | undefined;
  severity?: TicketSeverity | undefined;
  category?: TicketCategory | undefined;
  assignedTo?: string | null | undefined;
}

/**
 * Changes a locked ticket; what is as it was writes nothing. Throws 409 conflict for a status that this side may not
 * give it, and 422 for an assignee who is not known as staff.
 */
export async function changeTicket(
  tx: Queryable,
  author: Author,
  before: TicketRow,
  change: TicketChange,
  { by, at, targets }: ChangeTiming & { by: AuthorType },
): Promise<TicketRow> {
  const {
    status = before.status,
    severity = before.severity,
    category = before.category,
    assignedTo = before.assignedTo,
  } = change;
  const isSame =
    status === before.status &&
    severity === before.severity &&
    category === before.category &&
    assignedTo === before.assignedTo;
  if (isSame) return before;
  requireMove(by, before.status, status);
  if (assignedTo !== before.assignedTo) await requireStaff(tx, assignedTo);
  const awaitingSince = awaitingAfter(before, status, at);
  const row = await updateTicketRow(tx, before, {
    status,
    severity,
    category,
    assignedTo,
    awaitingSince,
    resolvedAt: resolvedAtAfter(before, status, at),
    respondBy: respondBy(targets, { ...before, status, severity, awaitingSince }),
    updatedAt: at,
    version: before.version + 1,
  });
  await recordTicketChange(tx, author, "ticket.update", row, {
    before: auditTicket(before),
    after: auditTicket(row),
  });
  if (status !== before.status) await emitWebhookEvents(tx, [toEvent(row, "")]);
  return row;
}

/** Closes the tickets of an organization that is being deleted; they stay readable for the platform's staff. */
export async function closeTicketsOf(tx: Queryable, author: Author, orgId: string, at: Date): Promise<void> {
  for (;;) {
    const open = await lockOpenTickets(tx, orgId, CLOSED_AT_ONCE);
    const closed: TicketRow[] = [];
    for (const before of open) {
      const row = await updateTicketRow(tx, before, {
        status: "closed",
        respondBy: null,
        updatedAt: at,
        version: before.version + 1,
      });
      await recordTicketChange(tx, author, "ticket.update", row, {
        before: auditTicket(before),
        after: auditTicket(row),
      });
      closed.push(row);
    }
    await emitWebhookEvents(
      tx,
      closed.map((row) => toEvent(row, "")),
    );
    if (open.length < CLOSED_AT_ONCE) return;
  }
}

/** The user who wrote something; null for an API token. */
export function authorIdOf({ principal }: Author): string | null {
  return principal.kind === "user" ? principal.userId : null;
}

/** The event of a change of a ticket; the author of the message that it is about, empty without one. */
export function toEvent(row: TicketRow, author: AuthorType | ""): NewWebhookEvent {
  return newEvent(ticketUpdated, {
    orgId: row.orgId,
    occurredAt: row.updatedAt,
    data: {
      ticket_id: row.id,
      status: row.status,
      severity: row.severity,
      category: row.category,
      last_message_author_type: author,
      updated_at: row.updatedAt.toISOString(),
    },
  });
}

/** Writes the audit row of what was done to a ticket, in the log of its organization. */
export async function recordTicketChange(
  tx: Queryable,
  author: Author,
  action: string,
  { id, orgId }: Pick<TicketRow, "id" | "orgId">,
  change: Pick<AuditEntry, "before" | "after">,
): Promise<void> {
  await recordAudit(tx, author, { action, orgId, target: { kind: "ticket", id }, ...change, result: "done" });
}

/** When the wait for an answer began: at `at` for a ticket that comes back to the staff, else unchanged. */
export function awaitingAfter(
  { status, awaitingSince }: Pick<TicketRow, "status" | "awaitingSince">,
  to: TicketStatus,
  at: Date,
): Date | null {
  return awaitingSince !== null && isWithStaff(to) && !isWithStaff(status) ? at : awaitingSince;
}

function requireMove(by: AuthorType, from: TicketStatus, to: TicketStatus): void {
  if (mayMove(by, from, to)) return;
  throw new ApiError("conflict", `A ticket that is ${from} cannot become ${to} by this request.`);
}

async function requireCluster(tx: Queryable, orgId: string, clusterId: string | null): Promise<void> {
  if (clusterId === null || (await hasRecentCluster(tx, orgId, clusterId, DELETED_CLUSTER_DAYS))) return;
  const message = `must be a cluster of the organization, or one deleted within ${DELETED_CLUSTER_DAYS} days`;
  throw invalidField("cluster_id", "not_found", message);
}

async function requireStaff(tx: Queryable, userId: string | null): Promise<void> {
  if (userId === null || (await isKnownStaff(tx, userId))) return;
  throw invalidField("assigned_to", "not_found", "must be a known user of the platform's staff, or null");
}
