import { and, asc, eq, gt, gte, isNull, lt, or, type SQL, sql } from "drizzle-orm";
import type { Deps } from "../deps.ts";
import type { PeriodicJob } from "../jobs/periodic.ts";
import { type AuditRow, auditLog } from "./table.ts";

const LOCK_NAME = "marina:audit-positions";
const PLACE_BATCH = 1000;
const PLACE_EVERY_MS = 30_000;

export interface AuditQuery {
  /** The organization whose log it is; absent, all of them. */
  orgId?: string | undefined;
  /** Id of the row after which to go on. */
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
 * Audit rows in the order in which they became visible, one more than `limit`. Whoever goes on from the last row seen
 * misses nothing: a row that is committed late gets a late place, whatever its time.
 */
export async function listAudit(deps: Pick<Deps, "db">, query: AuditQuery): Promise<AuditRow[]> {
  await placeRows(deps);
  return deps.db
    .select()
    .from(auditLog)
    .where(
      and(
        gt(auditLog.position, query.cursor === undefined ? sql`0` : positionOf(query.cursor)),
        query.orgId === undefined ? undefined : eq(auditLog.orgId, query.orgId),
        query.actor === undefined ? undefined : isActor(query.actor, query.orgId === undefined),
        query.action === undefined ? undefined : eq(auditLog.action, query.action),
        query.target === undefined ? undefined : eq(auditLog.targetId, query.target),
        query.from === undefined ? undefined : gte(auditLog.at, query.from),
        query.to === undefined ? undefined : lt(auditLog.at, query.to),
      ),
    )
    .orderBy(asc(auditLog.position))
    .limit(query.limit + 1);
}

/** Rows get their place soon even when nobody reads, so that the first reader has little to do. */
export function auditJobs(deps: Pick<Deps, "db">): PeriodicJob[] {
  return [{ name: "audit-positions", everyMs: PLACE_EVERY_MS, run: () => placeRows(deps) }];
}

/**
 * Gives committed rows their place, in the order of their ids. Only here a lock is held, and no other one with it:
 * writers never wait for each other or for a reader.
 */
async function placeRows({ db }: Pick<Deps, "db">): Promise<void> {
  for (;;) {
    const [waiting] = await db
      .select({ id: auditLog.id })
      .from(auditLog)
      .where(isNull(auditLog.position))
      .limit(1);
    if (waiting === undefined) return;
    await db.transaction(async (tx) => {
      await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${LOCK_NAME}, 0))`);
      await tx.execute(sql`
        update ${auditLog} set position = place.position
        from (
          select id, (select coalesce(max(position), 0) from ${auditLog}) + row_number() over (order by id) as position
          from (select id from ${auditLog} where position is null order by id limit ${PLACE_BATCH}) as waiting
        ) as place
        where ${auditLog.id} = place.id`);
    });
  }
}

/** Any UUID is a position: that of the row with this id, else of the last one before it. */
function positionOf(id: string): SQL {
  return sql`coalesce(
    (select position from ${auditLog} where id = ${id}),
    (select max(position) from ${auditLog} where id < ${id}),
    0)`;
}

/** Staff can only be looked for across organizations: to a tenant they have no id. */
function isActor(actor: string, mayBeStaff: boolean): SQL | undefined {
  const field = (name: string) => sql`${auditLog.actor} ->> ${name} = ${actor}`;
  const isNamed = or(field("userId"), field("tokenId"), field("manager"), field("name"));
  return mayBeStaff ? isNamed : and(isNamed, sql`${auditLog.actor} ->> 'kind' <> 'staff'`);
}
