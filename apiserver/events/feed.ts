import { and, asc, eq, gt, inArray, type SQL, sql } from "drizzle-orm";
import type { Queryable } from "../db/client.ts";
import { feedEventCounters, feedEvents, type StatusPayload, type SystemEventPayload } from "./table.ts";

/** The NOTIFY channel on which ids of clusters with new events are announced. */
export const FEED_CHANNEL = "system_events";

/** Whose events: an organization's, of one cluster. */
export interface FeedKey {
  orgId: string;
  clusterId: string;
}

interface EventSubject extends FeedKey {
  nodePoolId: string | null;
}

export interface NewStatusEvent extends EventSubject {
  kind: "status";
  payload: StatusPayload;
}

export interface NewSystemEvent extends EventSubject {
  kind: "system-event";
  /** uid and count of the Kubernetes Event that it comes from. */
  eventUid: string;
  eventCount: number;
  payload: SystemEventPayload;
}

export type NewFeedEvent = NewStatusEvent | NewSystemEvent;

/** A stored event. */
export type EventRow = typeof feedEvents.$inferSelect;
/** The part of an event that readers get. */
export type FeedEntry = Pick<EventRow, "id" | "clusterId" | "nodePoolId" | "kind" | "payload">;

/**
 * Appends events and notifies readers when the transaction commits. An event with the same uid and count as a stored
 * one is skipped, and its id is not given again. Writers of one cluster are serialized from here to their commit, so that
 * its ids become visible in order: call it once in a transaction, after every other lock is taken.
 */
export async function appendFeedEvents(tx: Queryable, events: readonly NewFeedEvent[]): Promise<void> {
  if (events.length === 0) return;
  const inserted = await tx
    .insert(feedEvents)
    .values(await assignIds(tx, events))
    .onConflictDoNothing({ target: [feedEvents.eventUid, feedEvents.eventCount] })
    .returning({ clusterId: feedEvents.clusterId });
  await notifyReaders(tx, [...new Set(inserted.map(({ clusterId }) => clusterId))]);
}

/** Gives each event the next id of its cluster, in the order of the events; locks the counters, in one order, until the commit. */
async function assignIds(tx: Queryable, events: readonly NewFeedEvent[]) {
  const added = Map.groupBy(events, ({ clusterId }) => clusterId);
  const inOrder = [...added].toSorted(([one], [other]) => (one < other ? -1 : 1));
  const counters = await tx
    .insert(feedEventCounters)
    .values(inOrder.map(([clusterId, { length }]) => ({ clusterId, lastId: length })))
    .onConflictDoUpdate({
      target: feedEventCounters.clusterId,
      set: { lastId: sql`${feedEventCounters.lastId} + excluded.last_id` },
    })
    .returning();
  const next = new Map(
    counters.map(({ clusterId, lastId }) => [clusterId, lastId - (added.get(clusterId)?.length ?? 0)]),
  );
  return events.map((event) => {
    const id = (next.get(event.clusterId) ?? 0) + 1;
    next.set(event.clusterId, id);
    return { ...event, id };
  });
}

/**
 * Notifies the readers of these clusters when the transaction commits, so that they read new events and check whether
 * the cluster still exists. One statement, since other writers may be waiting for this transaction.
 */
export async function notifyReaders(tx: Queryable, clusterIds: readonly string[]): Promise<void> {
  if (clusterIds.length === 0) return;
  await tx.execute(sql`select pg_notify(${FEED_CHANNEL}, value)
    from json_array_elements_text(${JSON.stringify(clusterIds)}::text::json)`);
}

/** Events of one cluster after a position, ordered by id. */
export async function listEventsAfter(
  db: Queryable,
  { orgId, clusterId }: FeedKey,
  position: number,
  limit: number,
): Promise<EventRow[]> {
  return db
    .select()
    .from(feedEvents)
    .where(and(isOf(orgId), eq(feedEvents.clusterId, clusterId), gt(feedEvents.id, position)))
    .orderBy(asc(feedEvents.id))
    .limit(limit);
}

/** A position of one cluster's events from which to read on. */
export interface EventPosition extends FeedKey {
  /** Id of the last event that was read. */
  after: number;
}

/**
 * The next events at several positions in one query, at most `perPosition` at each and `limit` in all, ordered by the
 * index `n` of the position and by id.
 */
export async function listNextEvents(
  db: Queryable,
  positions: readonly EventPosition[],
  { perPosition, limit }: { perPosition: number; limit: number },
): Promise<{ n: number; event: FeedEntry }[]> {
  const next = db
    .select()
    .from(feedEvents)
    .where(
      and(
        isOf(sql`position.org_id`),
        eq(feedEvents.clusterId, sql`position.cluster_id`),
        gt(feedEvents.id, sql`position.after`),
      ),
    )
    .orderBy(asc(feedEvents.id))
    .limit(perPosition)
    .as("next");
  const json = JSON.stringify(
    positions.map(({ orgId, clusterId, after }, n) => ({ n, org_id: orgId, cluster_id: clusterId, after })),
  );
  return db
    .select({
      n: sql<number>`position.n`,
      event: {
        id: next.id,
        clusterId: next.clusterId,
        nodePoolId: next.nodePoolId,
        kind: next.kind,
        payload: next.payload,
      },
    })
    .from(
      sql`json_to_recordset(${json}::text::json) as position(n int, org_id uuid, cluster_id uuid, after bigint)`,
    )
    .crossJoinLateral(next)
    .orderBy(sql`position.n`, next.id)
    .limit(limit);
}

/** The oldest and the newest id of a cluster's events. */
export interface EventRange {
  /** 0 when there is no event any more. */
  oldest: number;
  /** The id of the latest event, also when it was deleted because of its age; 0 before the first one. */
  newest: number;
}

/** The range of each of these clusters. */
export async function findEventRanges(
  db: Queryable,
  clusterIds: readonly string[],
): Promise<Map<string, EventRange>> {
  const rows = await db.execute<{ id: string; oldest: string | null; newest: string | null }>(
    sql`select cluster.id, counter.last_id as newest,
      (select min(event.id) from ${feedEvents} as event where event.cluster_id = cluster.id) as oldest
      from (select value::uuid as id from json_array_elements_text(${JSON.stringify(clusterIds)}::text::json)) as cluster
      left join ${feedEventCounters} as counter on counter.cluster_id = cluster.id`,
  );
  return new Map(
    rows.map(({ id, oldest, newest }) => [id, { oldest: Number(oldest ?? 0), newest: Number(newest ?? 0) }]),
  );
}

/** Which of these Kubernetes Events are stored, with each count, as `<uid> <count>`. */
export async function findHarvested(db: Queryable, eventUids: readonly string[]): Promise<Set<string>> {
  if (eventUids.length === 0) return new Set();
  const rows = await db
    .select({ uid: feedEvents.eventUid, count: feedEvents.eventCount })
    .from(feedEvents)
    .where(inArray(feedEvents.eventUid, [...eventUids]));
  return new Set(rows.map(({ uid, count }) => `${uid} ${count}`));
}

/** Since when each of these Kubernetes Events is known: by the later of two clocks, that of its record and that of its source. */
export async function findEventTimes(
  db: Queryable,
  eventUids: readonly string[],
): Promise<Map<string | null, Date>> {
  if (eventUids.length === 0) return new Map();
  const { eventUid, recordedAt, payload } = feedEvents;
  const rows = await db
    .select({ eventUid, recordedAt, seenAt: sql<string>`${payload} ->> 'firstSeenAt'` })
    .from(feedEvents)
    .where(inArray(eventUid, [...eventUids]));
  return new Map(
    rows.map((row) => [row.eventUid, new Date(Math.max(row.recordedAt.getTime(), Date.parse(row.seenAt)))]),
  );
}

/** The last recorded status of each cluster or, with a node pool id, of each node pool, in the same order. */
export async function findLastStatuses(
  db: Queryable,
  subjects: readonly EventSubject[],
): Promise<(string | undefined)[]> {
  if (subjects.length === 0) return [];
  const last = sql`select payload ->> 'status' as status from ${feedEvents}
    where ${isOf(sql`subject.org_id`)} and cluster_id = subject.cluster_id and kind = 'status'
      and node_pool_id is not distinct from subject.node_pool_id
    order by id desc limit 1`;
  const rows = subjects.map(
    ({ orgId, clusterId, nodePoolId }, n) =>
      sql`(${n}::int, ${orgId}::uuid, ${clusterId}::uuid, ${nodePoolId}::uuid)`,
  );
  const found = await db.execute<{ status: string | null }>(
    sql`select last.status from (values ${sql.join(rows, sql`, `)}) as subject (n, org_id, cluster_id, node_pool_id)
      left join lateral (${last}) as last on true order by subject.n`,
  );
  return found.map(({ status }) => status ?? undefined);
}

/** A row of an earlier version belongs to the organization that has its cluster now. */
function isOf(orgId: string | SQL): SQL {
  return sql`(${feedEvents.orgId} = ${orgId} or ${feedEvents.orgId} is null)`;
}

/** Deletes events that are older than the retention. */
export async function purgeFeedEvents(db: Queryable, retentionDays: number): Promise<void> {
  await db
    .delete(feedEvents)
    .where(sql`${feedEvents.recordedAt} < now() - make_interval(days => ${retentionDays})`);
}
