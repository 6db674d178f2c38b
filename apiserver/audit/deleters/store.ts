import { count, eq, getTableColumns, inArray, lt, sql } from "drizzle-orm";
import { createId } from "../../../shared/program/id.ts";
import type { Database, Queryable } from "../../db/client.ts";
import type { QuotaFigures } from "../../http/errors.ts";
import { awaitedDeletions, deletionRequests } from "../table.ts";
import type { DeletionRequest, ExternalDeletion } from "./find-deleters.ts";

/** Rows of one organization that are kept: beyond, the deleters of its objects are unknown. */
const MAX_REQUESTS = 10_000;
const KEPT_HOURS = 24;

/** After this time a name is used: before it, another replica of the Kubernetes API may report an earlier request. */
const NAMED_AFTER_SECONDS = 10;
/** A name that has not come by then is not waited for. */
const UNKNOWN_AFTER_SECONDS = 180;
const PAGE_SIZE = 500;

/**
 * Keeps requests. Those of a user for one name within a minute are kept as one that lasts from the first to the last:
 * a user who repeats them leaves the limit to the others of the organization, and at worst cannot be distinguished from
 * another user.
 */
export async function insertDeletionRequests(
  db: Database,
  requests: readonly DeletionRequest[],
): Promise<void> {
  if (requests.length === 0) return;
  const rows = requests.map((request) => ({
    org_id: request.orgId,
    resource: request.resource,
    name: request.name,
    username: request.username,
    impersonator: request.impersonator,
    received_at: request.receivedAt,
    completed_at: request.completedAt,
  }));
  const { receivedAt, completedAt } = deletionRequests;
  // In one order, or two processes that are sent the same would wait for each other.
  await db.execute(sql`
    with given as materialized (
      select * from json_to_recordset(${JSON.stringify(rows)}::text::json)
        as given (org_id uuid, resource text, name text, username text, impersonator text,
          received_at timestamptz, completed_at timestamptz)),
    below_limit as materialized (
      select org_id from (select distinct org_id from given) as organization
      where (select count(*) from (select from ${deletionRequests} as kept
          where kept.org_id = organization.org_id limit ${MAX_REQUESTS}) as counted) < ${MAX_REQUESTS})
    insert into ${deletionRequests}
      (org_id, resource, name, username, impersonator, minute, received_at, completed_at)
    select org_id, resource, name, username, impersonator, date_trunc('minute', completed_at) as minute,
      min(received_at), max(completed_at)
    from given join below_limit using (org_id)
    group by 1, 2, 3, 4, 5, 6
    order by 1, 2, 3, 4, 5, 6
    on conflict on constraint deletion_requests_pk do update set
      received_at = least(${receivedAt}, excluded.received_at),
      completed_at = greatest(${completedAt}, excluded.completed_at)`);
}

/** The requests that are kept of an organization, as one of its stores. */
export async function readDeletionStore(
  db: Queryable,
  orgId: string,
): Promise<{ kubernetes_deletions_per_day: QuotaFigures }> {
  const kept = db
    .select({ name: deletionRequests.name })
    .from(deletionRequests)
    .where(eq(deletionRequests.orgId, orgId))
    .limit(MAX_REQUESTS)
    .as("kept");
  const [row] = await db.select({ used: count() }).from(kept);
  return { kubernetes_deletions_per_day: { limit: MAX_REQUESTS, used: row?.used ?? 0 } };
}

/** Forgets requests that no deletion will be compared with any more. */
export async function purgeDeletionRequests(db: Database, now: Date): Promise<void> {
  const before = sql`${now.toISOString()}::timestamptz - make_interval(hours => ${KEPT_HOURS})`;
  await db.delete(deletionRequests).where(lt(deletionRequests.completedAt, before));
}

/** Keeps deletions until their deleters are known, or are not waited for any more. */
export async function insertAwaitedDeletions(
  tx: Queryable,
  deletions: readonly ExternalDeletion[],
): Promise<void> {
  if (deletions.length === 0) return;
  await tx
    .insert(awaitedDeletions)
    .values(
      deletions.map((deletion) => ({ id: createId(), targetId: deletion.entry.target.id, ...deletion })),
    );
}

type AwaitedDeletion = ExternalDeletion & { id: string };

/**
 * A page of the deletions of all organizations whose entries may be due, the oldest first: with `isOverdue` those that
 * are not waited for any more, and those that a request may have made.
 */
export async function listDueDeletions(
  db: Database,
  now: Date,
): Promise<(AwaitedDeletion & { isOverdue: boolean })[]> {
  const before = (seconds: number) =>
    sql`${awaitedDeletions.seenAt} <= ${now.toISOString()}::timestamptz - make_interval(secs => ${seconds})`;
  return db
    .select({
      ...getTableColumns(awaitedDeletions),
      isOverdue: sql<boolean>`${before(UNKNOWN_AFTER_SECONDS)}`,
    })
    .from(awaitedDeletions)
    .where(
      sql`${before(NAMED_AFTER_SECONDS)} and (${before(UNKNOWN_AFTER_SECONDS)} or exists (${requestsOf()}))`,
    )
    .orderBy(awaitedDeletions.seenAt)
    .limit(PAGE_SIZE);
}

/** The requests that may have deleted these objects. */
export async function findRequestsOf(
  db: Database,
  deletions: readonly AwaitedDeletion[],
): Promise<DeletionRequest[]> {
  if (deletions.length === 0) return [];
  return db
    .selectDistinct({
      orgId: deletionRequests.orgId,
      resource: deletionRequests.resource,
      name: deletionRequests.name,
      username: deletionRequests.username,
      impersonator: deletionRequests.impersonator,
      receivedAt: deletionRequests.receivedAt,
      completedAt: deletionRequests.completedAt,
    })
    .from(deletionRequests)
    .innerJoin(awaitedDeletions, eq(awaitedDeletions.orgId, deletionRequests.orgId))
    .where(
      sql`${inArray(
        awaitedDeletions.id,
        deletions.map(({ id }) => id),
      )} and ${isOfDeletion}`,
    );
}

/** Takes these deletions; returns the ids of those that no process has taken before. */
export async function takeDeletions(
  tx: Queryable,
  deletions: readonly AwaitedDeletion[],
): Promise<Set<string>> {
  if (deletions.length === 0) return new Set();
  const ids = deletions.map(({ id }) => id);
  const rows = await tx
    .delete(awaitedDeletions)
    .where(inArray(awaitedDeletions.id, ids))
    .returning({ id: awaitedDeletions.id });
  return new Set(rows.map(({ id }) => id));
}

/** As `findDeleters`, which decides, by an index. */
const isOfDeletion = sql`${deletionRequests.orgId} = ${awaitedDeletions.orgId}
  and ${deletionRequests.resource} = ${awaitedDeletions.resource}
  and ${deletionRequests.name} in ('', ${awaitedDeletions.name})
  and ${deletionRequests.completedAt} >= coalesce(${awaitedDeletions.requestedAt}, ${awaitedDeletions.createdAt})
  and ${deletionRequests.receivedAt} <= coalesce(
    ${awaitedDeletions.requestedAt} + interval '999 milliseconds', ${awaitedDeletions.seenAt} + interval '5 seconds')`;

function requestsOf() {
  return sql`select from ${deletionRequests} where ${isOfDeletion}`;
}
