import { and, eq, gt, lt, sql } from "drizzle-orm";
import type { Queryable } from "../db/client.ts";
import { type StreamTicketHolder, streamTickets } from "./table.ts";

/** Adds a stream ticket; returns when it expires. */
export async function insertStreamTicket(
  db: Queryable,
  ticket: { hash: string; path: string; holder: StreamTicketHolder; lifetimeSeconds: number },
): Promise<Date> {
  const { lifetimeSeconds, ...values } = ticket;
  const expiresAt = sql`date_trunc('milliseconds', now()) + make_interval(secs => ${lifetimeSeconds})`;
  const [row] = await db
    .insert(streamTickets)
    .values({ ...values, expiresAt })
    .returning({ expiresAt: streamTickets.expiresAt });
  if (row === undefined) throw new Error("an insert returned no row");
  return row.expiresAt;
}

/** Deletes a stream ticket for a path and returns its holder; undefined when there is none or it has expired. */
export async function takeStreamTicket(
  db: Queryable,
  { hash, path }: { hash: string; path: string },
): Promise<StreamTicketHolder | undefined> {
  const [row] = await db
    .delete(streamTickets)
    .where(
      and(
        eq(streamTickets.hash, hash),
        eq(streamTickets.path, path),
        gt(streamTickets.expiresAt, sql`now()`),
      ),
    )
    .returning({ holder: streamTickets.holder });
  return row?.holder;
}

/** Deletes expired stream tickets. */
export async function purgeStreamTickets(db: Queryable): Promise<void> {
  await db.delete(streamTickets).where(lt(streamTickets.expiresAt, sql`now()`));
}
