import {
  and,
  asc,
  count,
  desc,
  eq,
  getTableColumns,
  gt,
  gte,
  inArray,
  isNull,
  lt,
  lte,
  ne,
  or,
  type SQL,
  sql,
} from "drizzle-orm";
import type { Database, Queryable } from "../db/client.ts";
import { measureRows } from "../db/columns.ts";
import { MAX_PAGE_BYTES, type PageRequest } from "../http/contract/page.ts";
import { notFound } from "../http/errors.ts";
import {
  type TicketCategory,
  type TicketMessageRow,
  type TicketRow,
  type TicketSeverity,
  type TicketStatus,
  ticketMessages,
  tickets,
} from "./table.ts";

/** Which tickets of which organization a caller sees. */
export interface TicketScope {
  orgId: string;
  /** Only this category; absent: all of them. */
  onlyCategory?: TicketCategory | undefined;
}

interface TicketFilter {
  status?: TicketStatus | undefined;
  severity?: TicketSeverity | undefined;
  category?: TicketCategory | undefined;
}

/** Tickets of an organization, the newest first; one row more than `limit`. */
export async function listTickets(
  db: Queryable,
  scope: TicketScope,
  filter: TicketFilter & { cluster_id?: string | undefined } & PageRequest,
): Promise<TicketRow[]> {
  const { cluster_id: clusterId, cursor, limit } = filter;
  return db
    .select()
    .from(tickets)
    .where(
      and(
        isVisible(scope),
        cursor === undefined ? undefined : lt(tickets.id, cursor),
        matches(filter),
        clusterId === undefined ? undefined : eq(tickets.clusterId, clusterId),
      ),
    )
    .orderBy(desc(tickets.id))
    .limit(limit + 1);
}

interface AdminTicketFilter extends TicketFilter {
  org_id?: string | undefined;
  /** The id of a user, or null for tickets without one. */
  assigned?: string | null | undefined;
  overdue?: boolean | undefined;
}

/** Tickets of all organizations, the newest first; one row more than `limit`. */
export async function listAllTickets(
  db: Queryable,
  filter: AdminTicketFilter & PageRequest,
  now: Date,
): Promise<TicketRow[]> {
  const { cursor, limit } = filter;
  return db
    .select()
    .from(tickets)
    .where(and(cursor === undefined ? undefined : lt(tickets.id, cursor), matchesAll(filter, now)))
    .orderBy(desc(tickets.id))
    .limit(limit + 1);
}

/**
 * Like listAllTickets, for tickets with these words in one message, in the syntax of `websearch_to_tsquery`. Words are
 * compared without case and without a dictionary, so that names and numbers match exactly. The page is read from the
 * messages alone: rare words by their index, common ones from the newest ticket on.
 */
export async function searchAllTickets(
  db: Database,
  words: string,
  filter: AdminTicketFilter & PageRequest,
  now: Date,
): Promise<TicketRow[]> {
  const { cursor, limit } = filter;
  const conditions = matchesAll(filter, now);
  const found = db
    .select({ id: ticketMessages.ticketId })
    .from(ticketMessages)
    .where(
      and(
        sql`${ticketMessages.search} @@ websearch_to_tsquery('simple', ${words})`,
        cursor === undefined ? undefined : lt(ticketMessages.ticketId, cursor),
        conditions &&
          inArray(ticketMessages.ticketId, db.select({ id: tickets.id }).from(tickets).where(conditions)),
      ),
    )
    .groupBy(ticketMessages.ticketId)
    .orderBy(desc(ticketMessages.ticketId))
    .limit(limit + 1);
  return db.transaction(async (tx) => {
    // Planned for these very words: which way is fast depends on how many messages have a word.
    await tx.execute(
      sql`select set_config('plan_cache_mode', 'force_custom_plan', true), set_config('jit', 'off', true)`,
    );
    return tx.select().from(tickets).where(inArray(tickets.id, found)).orderBy(desc(tickets.id));
  });
}

/** One ticket that the caller sees. Throws 404. */
export async function requireTicket(db: Queryable, scope: TicketScope, id: string): Promise<TicketRow> {
  const [row] = await db
    .select()
    .from(tickets)
    .where(and(isVisible(scope), eq(tickets.id, id)));
  if (row === undefined) throw notFound("ticket");
  return row;
}

/** Like requireTicket, with a row lock until the transaction ends. Throws 404. */
export async function lockTicket(tx: Queryable, scope: TicketScope, id: string): Promise<TicketRow> {
  const [row] = await tx
    .select()
    .from(tickets)
    .where(and(isVisible(scope), eq(tickets.id, id)))
    .for("no key update");
  if (row === undefined) throw notFound("ticket");
  return row;
}

/** The organization of any ticket, for the platform's staff. Throws 404. */
export async function requireOrganizationOf(db: Queryable, id: string): Promise<string> {
  const [row] = await db.select({ orgId: tickets.orgId }).from(tickets).where(eq(tickets.id, id));
  if (row === undefined) throw notFound("ticket");
  return row.orgId;
}

/** Adds a ticket. */
export async function insertTicket(tx: Queryable, values: typeof tickets.$inferInsert): Promise<TicketRow> {
  const [row] = await tx.insert(tickets).values(values).returning();
  if (row === undefined) throw new Error("an insert returned no row");
  return row;
}

/** Changes a locked ticket. Throws 404. */
export async function updateTicketRow(
  tx: Queryable,
  { id, orgId }: Pick<TicketRow, "id" | "orgId">,
  values: Partial<Omit<TicketRow, "id" | "orgId" | "createdAt">>,
): Promise<TicketRow> {
  const [row] = await tx
    .update(tickets)
    .set(values)
    .where(and(eq(tickets.orgId, orgId), eq(tickets.id, id)))
    .returning();
  if (row === undefined) throw notFound("ticket");
  return row;
}

/** The tickets of an organization that are not closed, at most `limit`, with a lock on their rows. */
export async function lockOpenTickets(tx: Queryable, orgId: string, limit: number): Promise<TicketRow[]> {
  return tx
    .select()
    .from(tickets)
    .where(and(eq(tickets.orgId, orgId), ne(tickets.status, "closed")))
    .orderBy(tickets.id)
    .limit(limit)
    .for("no key update");
}

function isVisible({ orgId, onlyCategory }: TicketScope): SQL | undefined {
  return and(
    eq(tickets.orgId, orgId),
    onlyCategory === undefined ? undefined : eq(tickets.category, onlyCategory),
  );
}

function matches({ status, severity, category }: TicketFilter): SQL | undefined {
  return and(
    status === undefined ? undefined : eq(tickets.status, status),
    severity === undefined ? undefined : eq(tickets.severity, severity),
    category === undefined ? undefined : eq(tickets.category, category),
  );
}

function matchesAll(filter: AdminTicketFilter, now: Date): SQL | undefined {
  const { org_id: orgId, assigned, overdue } = filter;
  return and(
    matches(filter),
    orgId === undefined ? undefined : eq(tickets.orgId, orgId),
    isAssigned(assigned),
    overdue === undefined ? undefined : isOverdueAt(overdue, now),
  );
}

function isAssigned(assigned: string | null | undefined): SQL | undefined {
  if (assigned === undefined) return undefined;
  return assigned === null ? isNull(tickets.assignedTo) : eq(tickets.assignedTo, assigned);
}

function isOverdueAt(overdue: boolean, now: Date): SQL | undefined {
  return overdue ? lt(tickets.respondBy, now) : or(isNull(tickets.respondBy), gte(tickets.respondBy, now));
}

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
 * Messages of a ticket, the oldest first; one row more than `limit`, or as many as fill a page. Without the internal
 * ones, these do not even count as positions of a cursor.
 */
export async function listMessages(
  db: Queryable,
  { id, orgId }: Pick<TicketRow, "id" | "orgId">,
  { internal }: { internal: boolean },
  { cursor, limit }: PageRequest,
): Promise<(TicketMessageRow & { isFollowed: boolean })[]> {
  const isShown = and(
    eq(ticketMessages.orgId, orgId),
    eq(ticketMessages.ticketId, id),
    internal ? undefined : eq(ticketMessages.internal, false),
  );
  const page = db
    .select({ ...columns, ...measureRows(ticketMessages.number, [ticketMessages.body]) })
    .from(ticketMessages)
    .where(
      and(isShown, cursor === undefined ? undefined : gt(ticketMessages.number, numberOf(cursor, isShown))),
    )
    .orderBy(asc(ticketMessages.number))
    .limit(limit + 1)
    .as("page");
  return db.select().from(page).where(lte(page.bytesBefore, MAX_PAGE_BYTES)).orderBy(asc(page.number));
}

/** Any UUID is a position: that of the message with this id, else of the last one with a smaller id. */
function numberOf(id: string, isShown: SQL | undefined): SQL {
  return sql`coalesce(
    (select ${ticketMessages.number} from ${ticketMessages} where ${isShown} and ${ticketMessages.id} = ${id}),
    (select max(${ticketMessages.number}) from ${ticketMessages} where ${isShown} and ${ticketMessages.id} < ${id}),
    0)`;
}

/** How many tickets of each severity are overdue, over all organizations; those without one are left out. */
export async function countOverdue(db: Queryable, now: Date): Promise<Map<TicketSeverity, number>> {
  const rows = await db
    .select({ severity: tickets.severity, total: count() })
    .from(tickets)
    .where(lt(tickets.respondBy, now))
    .groupBy(tickets.severity);
  return new Map(rows.map(({ severity, total }) => [severity, total]));
}
