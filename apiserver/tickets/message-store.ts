import { and, asc, eq, getTableColumns, gt, type SQL, sql } from "drizzle-orm";
import type { Queryable } from "../db/client.ts";
import type { PageRequest } from "../http/contract/page.ts";
import { type TicketMessageRow, type TicketRow, ticketMessages } from "./table.ts";

const { search: _, ...columns } = getTableColumns(ticketMessages);

/** Adds a message to a locked ticket. */
export async function insertMessage(
  tx: Queryable,
  values: typeof ticketMessages.$inferInsert,
): Promise<TicketMessageRow> {
  const [row] = await tx.insert(ticketMessages).values(values).returning(columns);
  if (row === undefined) throw new Error("an insert returned no row");
  return row;
}

/**
 * Messages of a ticket, the oldest first; one row more than `limit`. Without the internal ones, these do not even count
 * as positions of a cursor.
 */
export async function listMessages(
  db: Queryable,
  { id, orgId }: Pick<TicketRow, "id" | "orgId">,
  { internal }: { internal: boolean },
  { cursor, limit }: PageRequest,
): Promise<TicketMessageRow[]> {
  const isShown = and(
    eq(ticketMessages.orgId, orgId),
    eq(ticketMessages.ticketId, id),
    internal ? undefined : eq(ticketMessages.internal, false),
  );
  return db
    .select(columns)
    .from(ticketMessages)
    .where(
      and(isShown, cursor === undefined ? undefined : gt(ticketMessages.number, numberOf(cursor, isShown))),
    )
    .orderBy(asc(ticketMessages.number))
    .limit(limit + 1);
}

/** Any UUID is a position: that of the message with this id, else of the last one with a smaller id. */
function numberOf(id: string, isShown: SQL | undefined): SQL {
  return sql`coalesce(
    (select ${ticketMessages.number} from ${ticketMessages} where ${isShown} and ${ticketMessages.id} = ${id}),
    (select max(${ticketMessages.number}) from ${ticketMessages} where ${isShown} and ${ticketMessages.id} < ${id}),
    0)`;
}
