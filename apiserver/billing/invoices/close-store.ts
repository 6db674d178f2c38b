import { and, asc, eq, gt, isNotNull, isNull, sql } from "drizzle-orm";
import { createId, NIL_ID } from "../../../shared/program/id.ts";
import type { Queryable } from "../../db/client.ts";
import type { PageRequest } from "../../http/contract/page.ts";
import { type Month, periodOf } from "../month.ts";
import { usageIntervals } from "../usage/table.ts";
import { invoices, monthCloses, type WaitingReason, waitingInvoices } from "./table.ts";

export type WaitingInvoice = typeof waitingInvoices.$inferSelect;

/** Asks for the close of a month, once more if it was closed before. */
export async function requestClose(tx: Queryable, period: string, requestedAt: Date): Promise<void> {
  await tx
    .insert(monthCloses)
    .values({ period, requestedAt })
    .onConflictDoUpdate({ target: monthCloses.period, set: { requestedAt, finishedAt: null } });
}

/** Asks for the close of a month that was never asked for. */
export async function requestFirstClose(db: Queryable, period: string, requestedAt: Date): Promise<void> {
  await db.insert(monthCloses).values({ period, requestedAt }).onConflictDoNothing();
}

/** The closes that are not finished, the oldest month first. */
export async function listOpenCloses(db: Queryable): Promise<{ period: string; requestedAt: Date }[]> {
  return db
    .select({ period: monthCloses.period, requestedAt: monthCloses.requestedAt })
    .from(monthCloses)
    .where(isNull(monthCloses.finishedAt))
    .orderBy(asc(monthCloses.period));
}

/**
 * At most `limit` organizations after `cursor` that used anything in a time, by id; deleted ones too. `missed` are the first days of
 * those `earlier` months in which one used something, and of which it neither has an invoice nor waits for one.
 */
export async function listOrganizationsToClose(
  db: Queryable,
  { earlier, ...time }: { from: Date; to: Date; earlier: readonly Month[] },
  { cursor = NIL_ID, limit }: PageRequest,
): Promise<{ orgId: string; missed: string[] }[]> {
  const isUsedIn = ({ from, to }: { from: Date; to: Date }) =>
    sql`used.started_at < ${to.toISOString()}::timestamptz
      and coalesce(used.ended_at, 'infinity'::timestamptz) > ${from.toISOString()}::timestamptz`;
  const missed = earlier.map((month) => {
    const isOfMonth = sql`one.org_id = page.org_id and one.period = ${periodOf(month)}::date`;
    return sql`case when exists (select from ${usageIntervals} as used
        where used.organization_id = page.org_id and ${isUsedIn({ from: month.start, to: month.end })})
      and not exists (select from ${invoices} as one where ${isOfMonth})
      and not exists (select from ${waitingInvoices} as one where ${isOfMonth}) then ${periodOf(month)} end`;
  });
  return db.execute<{ orgId: string; missed: string[] }>(sql`
    select page.org_id as "orgId", array_remove(array[${sql.join(missed, sql`, `)}]::text[], null) as missed
    from (select used.organization_id as org_id from ${usageIntervals} as used
      where used.organization_id > ${cursor} and ${isUsedIn(time)}
      group by used.organization_id order by used.organization_id limit ${limit}) as page
    order by page.org_id`);
}

/** Whether a close of a month is finished, and none is under way. */
export async function isClosed(db: Queryable, period: string): Promise<boolean> {
  const rows = await db
    .select({ period: monthCloses.period })
    .from(monthCloses)
    .where(and(eq(monthCloses.period, period), isNotNull(monthCloses.finishedAt)));
  return rows.length > 0;
}

/** Records that a close is finished, unless it was asked for again meanwhile. */
export async function finishClose(
  db: Queryable,
  { period, requestedAt }: { period: string; requestedAt: Date },
  finishedAt: Date,
): Promise<void> {
  await db
    .update(monthCloses)
    .set({ finishedAt })
    .where(and(eq(monthCloses.period, period), eq(monthCloses.requestedAt, requestedAt)));
}

/** Records that a month of an organization cannot be invoiced yet. */
export async function upsertWaiting(
  tx: Queryable,
  waiting: { orgId: string; period: string; reason: WaitingReason; amountCents: bigint; since: Date },
): Promise<void> {
  const { reason, amountCents } = waiting;
  await tx
    .insert(waitingInvoices)
    .values({ id: createId(), ...waiting })
    .onConflictDoUpdate({
      target: [waitingInvoices.orgId, waitingInvoices.period],
      set: { reason, amountCents },
    });
}

/** Forgets that a month of an organization waits. */
export async function deleteWaiting(tx: Queryable, orgId: string, period: string): Promise<void> {
  await tx
    .delete(waitingInvoices)
    .where(and(eq(waitingInvoices.orgId, orgId), eq(waitingInvoices.period, period)));
}

/** A page of what waits, the oldest first; one row more than `limit`. */
export async function listWaiting(db: Queryable, { cursor, limit }: PageRequest): Promise<WaitingInvoice[]> {
  return db
    .select()
    .from(waitingInvoices)
    .where(cursor === undefined ? undefined : gt(waitingInvoices.id, cursor))
    .orderBy(asc(waitingInvoices.id))
    .limit(limit + 1);
}
