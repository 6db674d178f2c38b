import { recordAudit } from "../../audit/index.ts";
import type { Queryable } from "../../db/client.ts";
import type { Deps } from "../../deps.ts";
import { type Author, principalKey } from "../../http/authentication/principal.ts";
import { ApiError, type ErrorDetail, validationFailed } from "../../http/errors.ts";
import { authorIdOf } from "../changes.ts";
import type { AuthorType, TicketRow } from "../table.ts";
import type { UseStore } from "./objects/use-store.ts";
import { type NewAttachment, presentAttachment } from "./present.ts";
import type { AttachmentType } from "./schema.ts";
import {
  type AttachmentScope,
  bindAttachments,
  completeAttachment,
  findAttachment,
  insertAttachment,
  requireAttachment,
} from "./store.ts";
import { finalKey, signUpload, uploadKey } from "./stored-file.ts";
import type { AttachmentRow } from "./table.ts";

export interface AnnouncedFile {
  filename: string;
  contentType: AttachmentType;
  sizeBytes: number;
  sha256: string;
}

/** What the caller of a request sees of the attachments of a ticket. */
export function attachmentScope(
  { principal }: Pick<Author, "principal">,
  { id: ticketId, orgId }: Pick<TicketRow, "id" | "orgId">,
  side: AuthorType,
): AttachmentScope {
  return { orgId, ticketId, uploader: principalKey(principal), side };
}

/** Adds an attachment to a locked ticket, to be uploaded. Throws 409 conflict for a closed ticket. */
export async function announceAttachment(
  tx: Queryable,
  author: Author,
  ticket: TicketRow,
  scope: AttachmentScope,
  { id, at, ...file }: AnnouncedFile & { id: string; at: Date },
): Promise<AttachmentRow> {
  requireOpen(ticket);
  const { side, ...place } = scope;
  const added = await insertAttachment(tx, {
    id,
    ...place,
    authorType: side,
    createdBy: authorIdOf(author),
    ...file,
    createdAt: at,
  });
  return added ?? requireAttachment(tx, scope, id);
}

/** An attachment that is announced already, with a new request that uploads it. Throws 503. */
export async function findAnnounced(
  { db, now }: Pick<Deps, "db" | "now">,
  useStore: UseStore,
  scope: AttachmentScope,
  id: string,
): Promise<NewAttachment | undefined> {
  const row = await findAttachment(db, scope, id);
  return row && { ...presentAttachment(row), upload: await signUpload(useStore, row, now()) };
}

/**
 * Compares what was uploaded with what was announced, and copies it to its final key. Throws 409 conflict for what is
 * completed already, not uploaded, or different, and 503.
 */
export async function moveUpload(useStore: UseStore, row: AttachmentRow): Promise<void> {
  if (row.completedAt !== null) throw alreadyCompleted();
  const isMoved = await useStore(async (store) => {
    const found = await store.head(uploadKey(row));
    if (found === undefined) return false;
    const isSame =
      found.sizeBytes === row.sizeBytes &&
      found.contentType === row.contentType &&
      found.sha256 === row.sha256;
    if (!isSame)
      throw new ApiError("conflict", "What was uploaded is not what was announced; announce it anew.");
    return store.copy(uploadKey(row), finalKey(row), found.etag);
  });
  if (!isMoved) throw new ApiError("conflict", "Nothing has been uploaded yet.");
}

/**
 * Marks a moved upload as completed. Throws 409 conflict for a closed ticket and when it was completed or removed
 * meanwhile.
 */
export async function confirmAttachment(
  tx: Queryable,
  author: Author,
  ticket: TicketRow,
  scope: AttachmentScope,
  { id, at }: { id: string; at: Date },
): Promise<AttachmentRow> {
  requireOpen(ticket);
  const row = await completeAttachment(tx, scope, id, at);
  if (row === undefined) throw alreadyCompleted();
  const { filename, contentType, sizeBytes, sha256 } = row;
  await recordAudit(tx, author, {
    action: "ticket.add_attachment",
    // One of the staff may end in an internal note, so that it is in no organization's log.
    orgId: scope.side === "tenant" ? scope.orgId : null,
    target: { kind: "ticket", id: scope.ticketId },
    after: { attachment_id: id, filename, content_type: contentType, size_bytes: sizeBytes, sha256 },
    result: "done",
  });
  return row;
}

/** Gives attachments to a new message. Throws 422 for those that it cannot have. */
export async function takeAttachments(
  tx: Queryable,
  scope: AttachmentScope,
  ids: readonly string[],
  message: { messageId: string; internal: boolean },
): Promise<void> {
  if (ids.length === 0) return;
  const taken = await bindAttachments(tx, scope, ids, message);
  const [first, ...others] = ids.flatMap((id, index): ErrorDetail[] =>
    taken.has(id)
      ? []
      : [
          {
            field: `attachment_ids[${index}]`,
            code: "not_found",
            message: "must be a completed attachment of this ticket, of the same caller, that no message has",
          },
        ],
  );
  if (first !== undefined) throw validationFailed([first, ...others]);
}

function requireOpen({ status }: TicketRow): void {
  if (status !== "closed") return;
  throw new ApiError("conflict", "The ticket is closed; nothing more can be attached to it.");
}

function alreadyCompleted(): ApiError {
  return new ApiError("conflict", "The attachment is completed already, or was removed.");
}
