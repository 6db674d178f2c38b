import { and, asc, eq, gt, inArray, max, min, sql } from "drizzle-orm";
import type { Queryable } from "../db/client.ts";
import { type StatusPayload, type SystemEventPayload, systemEvents } from "./table.ts";

export type { StatusPayload, SystemEventPayload } from "./table.ts";

/** The channel on which the ids of clusters with something new are announced. */
export const SYSTEM_EVENTS_CHANNEL = "system_events";

interface EventPlace {
  clusterId: string;
  nodePoolId: string | null;
}

export interface NewStatusEvent extends EventPlace {
  kind: "status";
  payload: StatusPayload;
}

export interface NewSystemEvent extends EventPlace {
  kind: "system-event";
  /** uid and count of the Kubernetes Event that it comes from. */
  eventUid: string;
  eventCount: number;
  payload: SystemEventPayload;
}

export type NewEvent = NewStatusEvent | NewSystemEvent;

/** A row of the stream as it is stored. */
export type EventRow = typeof systemEvents.$inferSelect;

/**
 * Appends to the streams and wakes their readers when the transaction commits. An event with the same uid and count
 * as a stored one is left out. Writers go one after another from here to their commit, so that ids become visible in
 * order: call it last in a transaction, after every other lock is taken.
 */
export async function appendEvents(tx: Queryable, events: readonly NewEvent[]): Promise<void> {
  if (events.length === 0) return;
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended('marina system-events', 0))`);
  const written = await tx
    .insert(systemEvents)
    .values([...events])
    .onConflictDoNothing()
    .returning({ clusterId: systemEvents.clusterId });
  await announce(tx, [...new Set(written.map(({ clusterId }) => clusterId))]);
}

/**
 * Wakes the readers of these clusters' streams when the transaction commits, to read on and to look whether the
 * cluster is still there. In one statement, for other writers may wait until this transaction ends.
 */
export async function announce(tx: Queryable, clusterIds: readonly string[]): Promise<void> {
  if (clusterIds.length === 0) return;
  await tx.execute(sql`select pg_notify(${SYSTEM_EVENTS_CHANNEL}, value)
    from json_array_elements_text(${JSON.stringify(clusterIds)}::text::json)`);
}

/** Events of one cluster after a position, in their order. */
export async function listEventsAfter(
  db: Queryable,
  clusterId: string,
  position: number,
  limit: number,
): Promise<EventRow[]> {
  return db
    .select()
    .from(systemEvents)
    .where(and(eq(systemEvents.clusterId, clusterId), gt(systemEvents.id, position)))
    .orderBy(asc(systemEvents.id))
    .limit(limit);
}

/** The oldest and newest position of all streams; both 0 when there is none. */
export async function findEventRange(db: Queryable): Promise<{ oldest: number; newest: number }> {
  const rows = await db
    .select({ oldest: min(systemEvents.id), newest: max(systemEvents.id) })
    .from(systemEvents);
  return { oldest: rows[0]?.oldest ?? 0, newest: rows[0]?.newest ?? 0 };
}

/** Which of these (uid, count) pairs of Kubernetes Events are stored, each as `<uid> <count>`. */
export async function findHarvested(db: Queryable, eventUids: readonly string[]): Promise<Set<string>> {
  if (eventUids.length === 0) return new Set();
  const rows = await db
    .select({ uid: systemEvents.eventUid, count: systemEvents.eventCount })
    .from(systemEvents)
    .where(inArray(systemEvents.eventUid, [...eventUids]));
  return new Set(rows.map(({ uid, count }) => `${uid} ${count}`));
}

/** Which status the streams told last of each cluster or, with a node pool id, of each pool, in the same order. */
export async function findLastStatuses(
  db: Queryable,
  places: readonly EventPlace[],
): Promise<(string | undefined)[]> {
  if (places.length === 0) return [];
  const last = sql`select payload ->> 'status' as status from ${systemEvents}
    where cluster_id = place.cluster_id and kind = 'status' and node_pool_id is not distinct from place.node_pool_id
    order by id desc limit 1`;
  const rows = places.map(
    ({ clusterId, nodePoolId }, n) => sql`(${n}::int, ${clusterId}::uuid, ${nodePoolId}::uuid)`,
  );
  const found = await db.execute<{ status: string | null }>(
    sql`select last.status from (values ${sql.join(rows, sql`, `)}) as place (n, cluster_id, node_pool_id)
      left join lateral (${last}) as last on true order by place.n`,
  );
  return found.map(({ status }) => status ?? undefined);
}

/** Removes what is older than the retention; returns how many rows. */
export async function purgeEvents(db: Queryable, retentionDays: number): Promise<number> {
  const removed = await db
    .delete(systemEvents)
    .where(sql`${systemEvents.recordedAt} < now() - make_interval(days => ${retentionDays})`)
    .returning({ id: systemEvents.id });
  return removed.length;
}
