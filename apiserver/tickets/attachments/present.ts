import type { z } from "@hono/zod-openapi";
import type { attachmentRecord, newAttachmentRecord } from "./schema.ts";
import type { AttachmentRow } from "./table.ts";

/** An attachment that is announced, with the request that uploads it. */
export type NewAttachment = z.output<typeof newAttachmentRecord>;

/** The wire form of an attachment, for tenants and staff alike. */
export function presentAttachment(row: AttachmentRow): z.output<typeof attachmentRecord> {
  return {
    id: row.id,
    ticket_id: row.ticketId,
    message_id: row.messageId,
    created_by: row.createdBy,
    filename: row.filename,
    content_type: row.contentType,
    size_bytes: row.sizeBytes,
    sha256: row.sha256,
    completed_at: row.completedAt?.toISOString() ?? null,
    created_at: row.createdAt.toISOString(),
  };
}
