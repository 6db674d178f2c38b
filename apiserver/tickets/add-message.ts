import { recordAudit } from "../audit/index.ts";
import type { Queryable } from "../db/client.ts";
import { emitWebhookEvents } from "../events/emit.ts";
import type { Author } from "../http/authentication/principal.ts";
import { ApiError } from "../http/errors.ts";
import { attachmentScope, takeAttachments } from "./attachments/changes.ts";
import { authorIdOf, awaitingAfter, type ChangeTiming, recordTicketChange, toEvent } from "./changes.ts";
import { respondBy } from "./respond-by.ts";
import { resolvedAtAfter, statusAfterMessage } from "./states.ts";
import { insertMessage, updateTicketRow } from "./store.ts";
import type { AuthorType, TicketMessageRow, TicketRow, TicketStatus } from "./table.ts";

export interface NewMessage {
  id: string;
  body: string;
  /** Attachments that it takes. */
  attachmentIds: readonly string[];
}

/** A response of the staff for which a tenant has waited. */
export interface GivenResponse {
  severity: TicketRow["severity"];
  isFirst: boolean;
  seconds: number;
}

export interface AddedMessage {
  message: TicketMessageRow;
  /** Absent for a message that no one has waited for. */
  response?: GivenResponse;
}

/**
 * Adds a public message to a locked ticket. One of the tenant moves a waiting ticket to `open`; the first one of the
 * provider is the first response. Throws 409 conflict for a closed ticket, and 422 for attachments that it cannot take.
 */
export async function addMessage(
  tx: Queryable,
  author: Author,
  before: TicketRow,
  { id, body, attachmentIds }: NewMessage,
  { by, at, targets }: ChangeTiming & { by: AuthorType },
): Promise<AddedMessage> {
  const status = requireWritable(by, before.status);
  const message = await insert(tx, author, before, { id, body, authorType: by, internal: false, at });
  const scope = attachmentScope(author, before, by);
  await takeAttachments(tx, scope, attachmentIds, { messageId: id, internal: false });
  const isFirst = by === "provider" && before.firstResponseAt === null;
  const firstResponseAt = isFirst ? at : before.firstResponseAt;
  const awaitingSince = by === "provider" ? null : (awaitingAfter(before, status, at) ?? at);
  const row = await updateTicketRow(tx, before, {
    status,
    firstResponseAt,
    awaitingSince,
    resolvedAt: resolvedAtAfter(before, status, at),
    respondBy: respondBy(targets, { ...before, status, firstResponseAt, awaitingSince }),
    updatedAt: at,
    lastMessageNumber: message.number,
    version: before.version + 1,
  });
  await recordTicketChange(tx, author, "ticket.add_message", row, {
    before: { status: before.status },
    after: { status, message_id: id, author_type: by, ...auditAttachments(attachmentIds) },
  });
  await emitWebhookEvents(tx, [toEvent(row, by)]);
  if (by === "tenant" || before.awaitingSince === null) return { message };
  const seconds = (at.getTime() - before.awaitingSince.getTime()) / 1000;
  return { message, response: { severity: before.severity, isFirst, seconds } };
}

/**
 * Adds a note that only the staff sees to a locked ticket. It changes nothing that a tenant can see and emits nothing,
 * and its audit row is in no organization's log. Throws 409 conflict for a closed ticket.
 */
export async function addInternalNote(
  tx: Queryable,
  author: Author,
  before: TicketRow,
  { id, body, attachmentIds }: NewMessage,
  at: Date,
): Promise<AddedMessage> {
  requireWritable("provider", before.status);
  const message = await insert(tx, author, before, { id, body, authorType: "provider", internal: true, at });
  const scope = attachmentScope(author, before, "provider");
  await takeAttachments(tx, scope, attachmentIds, { messageId: id, internal: true });
  await updateTicketRow(tx, before, { lastMessageNumber: message.number });
  await recordAudit(tx, author, {
    action: "ticket.add_note",
    orgId: null,
    target: { kind: "ticket", id: before.id },
    after: { message_id: id, ...auditAttachments(attachmentIds) },
    result: "done",
  });
  return { message };
}

function insert(
  tx: Queryable,
  author: Author,
  { id: ticketId, orgId, lastMessageNumber }: TicketRow,
  {
    at,
    ...message
  }: Omit<NewMessage, "attachmentIds"> & { authorType: AuthorType; internal: boolean; at: Date },
): Promise<TicketMessageRow> {
  return insertMessage(tx, {
    ...message,
    orgId,
    ticketId,
    number: lastMessageNumber + 1,
    authorId: authorIdOf(author),
    createdAt: at,
  });
}

function auditAttachments(ids: readonly string[]) {
  return ids.length === 0 ? {} : { attachment_ids: ids };
}

function requireWritable(by: AuthorType, status: TicketStatus): TicketStatus {
  const after = statusAfterMessage(by, status);
  if (after !== undefined) return after;
  throw new ApiError("conflict", "The ticket is closed; nothing more can be written in it.");
}
