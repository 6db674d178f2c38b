import { and, asc, eq, gt, inArray, isNotNull, isNull, lt, or, type SQL } from "drizzle-orm";
import type { Queryable } from "../../db/client.ts";
import type { PageRequest } from "../../http/contract/page.ts";
import { notFound } from "../../http/errors.ts";
import type { AuthorType } from "../table.ts";
import { type AttachmentRow, ticketAttachments } from "./table.ts";

/** A ticket, and who looks at its attachments. */
export interface AttachmentScope {
  orgId: string;
  ticketId: string;
  /** As `principalKey`: this caller sees its own uploads before a message has them. */
  uploader: string;
  /** The tenant's side sees nothing of internal messages. */
  side: AuthorType;
}

/** Adds an attachment that is to be uploaded; undefined when an earlier attempt of the same request has. */
export async function insertAttachment(
  tx: Queryable,
  values: typeof ticketAttachments.$inferInsert,
): Promise<AttachmentRow | undefined> {
  const [row] = await tx.insert(ticketAttachments).values(values).onConflictDoNothing().returning();
  return row;
}

/** The attachments that the caller sees, the oldest first; one row more than `limit`. */
export async function listAttachments(
  db: Queryable,
  scope: AttachmentScope,
  { cursor, limit }: PageRequest,
): Promise<AttachmentRow[]> {
  return db
    .select()
    .from(ticketAttachments)
    .where(and(isVisible(scope), cursor === undefined ? undefined : gt(ticketAttachments.id, cursor)))
    .orderBy(asc(ticketAttachments.id))
    .limit(limit + 1);
}

/** One that the caller sees. */
export async function findAttachment(
  db: Queryable,
  scope: AttachmentScope,
  id: string,
): Promise<AttachmentRow | undefined> {
  const [row] = await db
    .select()
    .from(ticketAttachments)
    .where(and(isVisible(scope), eq(ticketAttachments.id, id)));
  return row;
}

/** One that the caller sees. Throws 404. */
export async function requireAttachment(
  db: Queryable,
  scope: AttachmentScope,
  id: string,
): Promise<AttachmentRow> {
  const row = await findAttachment(db, scope, id);
  if (row === undefined) throw notFound("attachment");
  return row;
}

/** Marks an upload of the caller as completed; undefined when it is so already, or is being removed. */
export async function completeAttachment(
  tx: Queryable,
  scope: AttachmentScope,
  id: string,
  at: Date,
): Promise<AttachmentRow | undefined> {
  const [row] = await tx
    .update(ticketAttachments)
    .set({ completedAt: at })
    .where(and(isUnbound(scope), eq(ticketAttachments.id, id), isNull(ticketAttachments.completedAt)))
    .returning();
  return row;
}

/** Gives completed uploads of the caller to a message of it; returns the ids of those that it could take. */
export async function bindAttachments(
  tx: Queryable,
  scope: AttachmentScope,
  ids: readonly string[],
  message: { messageId: string; internal: boolean },
): Promise<Set<string>> {
  const rows = await tx
    .update(ticketAttachments)
    .set(message)
    .where(
      and(
        isUnbound(scope),
        inArray(ticketAttachments.id, [...ids]),
        isNotNull(ticketAttachments.completedAt),
      ),
    )
    .returning({ id: ticketAttachments.id });
  return new Set(rows.map(({ id }) => id));
}

function inTicket({ orgId, ticketId }: AttachmentScope): SQL | undefined {
  return and(eq(ticketAttachments.orgId, orgId), eq(ticketAttachments.ticketId, ticketId));
}

/** Own uploads that no message has. */
function isUnbound(scope: AttachmentScope): SQL | undefined {
  return and(
    inTicket(scope),
    eq(ticketAttachments.uploader, scope.uploader),
    eq(ticketAttachments.authorType, scope.side),
    isNull(ticketAttachments.messageId),
    isNull(ticketAttachments.discardedAt),
  );
}

function isVisible(scope: AttachmentScope): SQL | undefined {
  const isShown = scope.side === "provider" ? undefined : eq(ticketAttachments.internal, false);
  return or(and(inTicket(scope), isNotNull(ticketAttachments.messageId), isShown), isUnbound(scope));
}

/** What the sweeper needs to know of an attachment. */
export type SweptAttachment = Pick<AttachmentRow, "id" | "orgId" | "ticketId" | "createdAt">;
const { id, orgId, ticketId, createdAt } = ticketAttachments;
const SWEPT = { id, orgId, ticketId, createdAt };

/** Which attachments the sweeper gets at once: `limit` of those announced before `before`, the oldest first, behind `after`. */
export interface SweptPage {
  before: Date;
  after: SweptAttachment | undefined;
  limit: number;
}

/**
 * Marks unused attachments of all organizations whose objects are there, so that no message can use them later. Returns them the oldest
 * first.
 */
export async function discardUnbound(db: Queryable, at: Date, page: SweptPage): Promise<SweptAttachment[]> {
  const unbound = db
    .select({ id })
    .from(ticketAttachments)
    .where(and(isNull(ticketAttachments.messageId), isSwept(page)))
    .orderBy(asc(createdAt), asc(id))
    .limit(page.limit)
    .for("update", { skipLocked: true });
  const rows = await db
    .update(ticketAttachments)
    .set({ discardedAt: at })
    .where(and(inArray(id, unbound), isNull(ticketAttachments.messageId)))
    .returning(SWEPT);
  return rows.toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime() || (a.id < b.id ? -1 : 1));
}

function isSwept({ before, after }: SweptPage): SQL | undefined {
  const isBehind =
    after && or(gt(createdAt, after.createdAt), and(eq(createdAt, after.createdAt), gt(id, after.id)));
  return and(eq(ticketAttachments.uploadRemoved, false), lt(createdAt, before), isBehind);
}

/** Deletes attachments of all organizations that were announced before `before` and whose objects are removed unused. */
export async function deleteDiscarded(
  db: Queryable,
  before: Date,
  limit: number,
): Promise<Pick<AttachmentRow, "id">[]> {
  const discarded = db
    .select({ id: ticketAttachments.id })
    .from(ticketAttachments)
    .where(
      and(
        isNull(ticketAttachments.messageId),
        isNotNull(ticketAttachments.discardedAt),
        eq(ticketAttachments.uploadRemoved, true),
        lt(ticketAttachments.createdAt, before),
      ),
    )
    .orderBy(asc(ticketAttachments.createdAt))
    .limit(limit);
  return db
    .delete(ticketAttachments)
    .where(inArray(ticketAttachments.id, discarded))
    .returning({ id: ticketAttachments.id });
}

/** Attachments in messages whose uploaded object is still there, the oldest first. */
export async function listUploadsToRemove(db: Queryable, page: SweptPage): Promise<SweptAttachment[]> {
  return db
    .select(SWEPT)
    .from(ticketAttachments)
    .where(and(isNotNull(ticketAttachments.messageId), isSwept(page)))
    .orderBy(asc(createdAt), asc(id))
    .limit(page.limit);
}

/** Records that the uploaded object is removed. */
export async function markUploadRemoved(db: Queryable, { orgId, id }: SweptAttachment): Promise<void> {
  await db
    .update(ticketAttachments)
    .set({ uploadRemoved: true })
    .where(and(eq(ticketAttachments.orgId, orgId), eq(ticketAttachments.id, id)));
}
