import {
  and,
  asc,
  eq,
  getTableColumns,
  gt,
  gte,
  isNull,
  lt,
  lte,
  notInArray,
  or,
  type SQL,
  sql,
} from "drizzle-orm";
import { NIL_ID } from "../../shared/program/id.ts";
import type { Database, Queryable } from "../db/client.ts";
import { measureRows } from "../db/columns.ts";
import { prepareStatement } from "../db/statement.ts";
import { MAX_PAGE_BYTES } from "../http/contract/page.ts";
import { SERVICE_ACCOUNT_PREFIX } from "./present.ts";
import { type AuditRow, auditLog, auditPositions, awaitedDeletions, refusedRequests } from "./table.ts";

const LOCK_NAME = "marina:audit-positions";
const POSITION_BATCH = 1000;

export type NewAuditRow = typeof auditLog.$inferInsert;

const insertEntry = prepareStatement(
  [
    "id",
    "actor",
    "action",
    "orgId",
    "targetKind",
    "targetId",
    "before",
    "after",
    "requestId",
    "clientRequestId",
    "sourceAddress",
    "result",
  ],
  // For a field without a value SQL null is stored, and not the null of JSON.
  (tx, { actor, before, after, ...texts }) =>
    tx
      .insert(auditLog)
      .values({ ...texts, actor: sql`${actor}`, before: sql`${before}`, after: sql`${after}` }),
);

/** Adds one entry. */
export async function insertAuditEntry(tx: Queryable, entry: NewAuditRow): Promise<void> {
  const { id, action, targetKind, targetId, result } = entry;
  const { orgId = null, requestId = null, clientRequestId = null, sourceAddress = null } = entry;
  const [actor, before, after] = [entry.actor, entry.before, entry.after].map((fields) =>
    fields == null ? null : JSON.stringify(fields),
  );
  const texts = {
    id,
    action,
    orgId,
    targetKind,
    targetId,
    requestId,
    clientRequestId,
    sourceAddress,
    result,
  };
  await insertEntry(tx, { ...texts, actor: actor ?? null, before: before ?? null, after: after ?? null });
}

/** Adds entries. */
export async function insertAuditEntries(tx: Queryable, rows: NewAuditRow[]): Promise<void> {
  if (rows.length > 0) await tx.insert(auditLog).values(rows);
}

interface AuditFilter {
  /** The organization whose log it is; absent, all of them. */
  orgId?: string | undefined;
  /** Id of the entry after which to continue. */
  cursor?: string | undefined;
  limit: number;
  /** User id, token id, field manager or name. */
  actor?: string | undefined;
  action?: string | undefined;
  /** The target's id. */
  target?: string | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
}

/**
 * Entries in the order in which they became visible, one more than `limit`, or as many as fill a page. A reader that
 * continues after the last entry it saw misses none: one that is committed late gets a late position, whatever its time.
 */
export async function listAuditEntries(
  db: Database,
  filter: AuditFilter,
): Promise<(AuditRow & { isFollowed: boolean })[]> {
  await assignPositions(db);
  const page = db
    .select({
      ...getTableColumns(auditLog),
      ...measureRows(auditLog.position, [auditLog.before, auditLog.after]),
    })
    .from(auditLog)
    .where(
      and(
        gt(auditLog.position, filter.cursor === undefined ? sql`0` : positionOf(filter.cursor)),
        filter.orgId === undefined ? undefined : eq(auditLog.orgId, filter.orgId),
        filter.actor === undefined ? undefined : isActor(filter.actor, filter.orgId === undefined),
        filter.action === undefined ? undefined : eq(auditLog.action, filter.action),
        filter.target === undefined ? undefined : eq(auditLog.targetId, filter.target),
        filter.from === undefined ? undefined : gte(auditLog.at, filter.from),
        filter.to === undefined ? undefined : lt(auditLog.at, filter.to),
      ),
    )
    .orderBy(asc(auditLog.position))
    .limit(filter.limit + 1)
    .as("page");
  return db.select().from(page).where(lte(page.bytesBefore, MAX_PAGE_BYTES)).orderBy(asc(page.position));
}

/**
 * Gives committed entries their position, ordered by id. This is the only place that takes the lock, and it holds no
 * other one: writers never wait for each other or for a reader.
 */
export async function assignPositions(db: Database): Promise<void> {
  for (;;) {
    const [pending] = await db
      .select({ id: auditLog.id })
      .from(auditLog)
      .where(isNull(auditLog.position))
      .limit(1);
    if (pending === undefined) return;
    await db.transaction(async (tx) => {
      await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${LOCK_NAME}, 0))`);
      await tx.execute(sql`
        update ${auditLog} set position = assigned.position
        from (
          select id, at, nextval(${auditPositions.seqName}) as position
          from (select id, at from ${auditLog} where position is null order by id limit ${POSITION_BATCH}) as pending
        ) as assigned
        where ${auditLog.id} = assigned.id and ${auditLog.at} = assigned.at`);
    });
  }
}

interface SoughtEntry {
  orgId: string;
  action: string;
  targetId: string;
  result?: AuditRow["result"];
  /** An id that was made before the entry. */
  afterId?: string;
  /** Fields of its actor. */
  actor?: Readonly<Record<string, string>>;
  /** Fields of its target before the change. */
  before?: Readonly<Record<string, unknown>>;
}

/** Whether an organization's log has such an entry (default: one that says done), or will have it, of a deletion. */
export async function isAudited(
  db: Queryable,
  { orgId, action, targetId, result = "done", afterId = NIL_ID, actor, before }: SoughtEntry,
): Promise<boolean> {
  const has = (column: SQL, fields: object | undefined) =>
    fields === undefined ? sql`true` : sql`${column} @> ${JSON.stringify(fields)}::jsonb`;
  const [row] = await db.execute<{ found: boolean }>(sql`
    select exists (select from ${auditLog} as entry
        where entry.org_id = ${orgId} and entry.action = ${action} and entry.target_id = ${targetId}
          and entry.result = ${result} and entry.id > ${afterId}
          and ${has(sql`entry.actor`, actor)} and ${has(sql`entry.before`, before)})
      or exists (select from ${awaitedDeletions} as waiting
        where waiting.org_id = ${orgId} and waiting.target_id = ${targetId}
          and waiting.entry ->> 'action' = ${action}) as found`);
  return row?.found === true;
}

/**
 * The targets of an organization's entries with this action and actor in the last days, each once; with `field`, what
 * that field says after the change instead.
 */
export async function findTargetsOf(
  db: Queryable,
  orgId: string,
  filter: {
    action: string;
    actor: { userId: string } | { tokenId: string };
    withinDays: number;
    field?: string;
  },
): Promise<string[]> {
  const { field } = filter;
  const target = field === undefined ? auditLog.targetId : sql<string>`${auditLog.after} ->> ${field}`;
  const rows = await db
    .select({ target })
    .from(auditLog)
    .where(
      and(
        eq(auditLog.orgId, orgId),
        eq(auditLog.action, filter.action),
        gte(auditLog.at, sql`now() - make_interval(days => ${filter.withinDays})`),
        sql`${auditLog.actor} @> ${JSON.stringify(filter.actor)}::jsonb`,
      ),
    )
    .groupBy(sql`1`);
  return rows.flatMap((row) => row.target ?? []);
}

/** Any UUID is a position: that of the entry with this id, else of the last one before it. */
function positionOf(id: string): SQL {
  return sql`coalesce(
    (select position from ${auditLog} where id = ${id}),
    (select position from ${auditLog} where id < ${id} and position is not null order by id desc limit 1),
    0)`;
}

/** Staff, and persons in the Kubernetes API, can only be searched across organizations: tenants see no name of them. */
function isActor(actor: string, canBeStaff: boolean): SQL | undefined {
  const has = (field: string) => sql`${auditLog.actor} @> ${JSON.stringify({ [field]: actor })}::jsonb`;
  const isNamed = or(has("userId"), has("tokenId"), has("manager"), has("name"));
  if (canBeStaff) return isNamed;
  const hidden = actor.startsWith(SERVICE_ACCOUNT_PREFIX) ? ["staff"] : ["staff", "kubernetes_user"];
  return and(isNamed, notInArray(sql`${auditLog.actor} ->> 'kind'`, hidden));
}

/**
 * So many months lie ready: an API server that did not run for that long still finds a partition for its first entry.
 */
const MONTHS_AHEAD = 12;

/** Makes sure that there is a partition for every month from that of `now` to twelve months later. */
export async function addAuditPartitions(db: Database, now: Date): Promise<void> {
  await db.execute(sql`select audit_log_add_partitions(${now.toISOString()}::timestamptz, ${MONTHS_AHEAD})`);
}

/**
 * Drops the partitions whose newest possible entry is more than `retentionDays` old, and returns their names. The
 * database refuses less than 30 days.
 */
export async function dropOldAuditPartitions(db: Database, retentionDays: number): Promise<string[]> {
  const rows = await db.execute<{ partition: string }>(
    sql`select audit_log_drop_partitions(${retentionDays}) as partition`,
  );
  return rows.map(({ partition }) => partition);
}

/** The earliest time of which the log can have an entry: the start of its oldest partition. */
export async function findLogStart(db: Database): Promise<Date> {
  const [row] = await db.execute<{ day: string }>(sql`
    select to_char(to_date(min(tablename), 'YYYY_MM'), 'YYYY-MM-DD') as day
    from pg_tables where schemaname = 'audit_log_partitions'`);
  return new Date(row?.day ?? 0);
}

type RefusedRequests = typeof refusedRequests.$inferSelect;

/** Counts one request; returns how many there were in this hour. */
export async function countRefusedRequest(
  tx: Queryable,
  request: Omit<RefusedRequests, "count">,
): Promise<number> {
  const { hour, actorId, operationId } = refusedRequests;
  const [row] = await tx
    .insert(refusedRequests)
    .values({ ...request, count: 1 })
    .onConflictDoUpdate({
      target: [hour, actorId, operationId],
      set: { count: sql`${refusedRequests.count} + 1` },
    })
    .returning({ count: refusedRequests.count });
  return row?.count ?? 1;
}

/** Removes and returns the counts of all hours before `before`. */
export async function takeRefusedRequests(tx: Queryable, before: Date): Promise<RefusedRequests[]> {
  return tx.delete(refusedRequests).where(lt(refusedRequests.hour, before)).returning();
}
