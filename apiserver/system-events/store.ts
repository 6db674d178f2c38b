import { and, asc, desc, eq, gt, inArray, isNull, max, min, sql } from "drizzle-orm";
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
  await announceAll(tx, [...new Set(written.map((row) => row.clusterId))]);
}

/** Wakes the readers of a cluster's stream when the transaction commits, to look whether the cluster is still there. */
export async function announce(tx: Queryable, clusterId: string): Promise<void> {
  await announceAll(tx, [clusterId]);
}

/** In one statement, for other writers wait until this transaction ends. */
async function announceAll(tx: Queryable, clusterIds: readonly string[]): Promise<void> {
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

/** The status that the stream told last of a cluster or, with a node pool id, of a pool; undefined when none is kept. */
export async function findLastStatus(
  db: Queryable,
  { clusterId, nodePoolId }: EventPlace,
): Promise<string | undefined> {
  const [row] = await db
    .select({ status: sql<string>`${systemEvents.payload} ->> 'status'` })
    .from(systemEvents)
    .where(
      and(
        eq(systemEvents.clusterId, clusterId),
        eq(systemEvents.kind, "status"),
        nodePoolId === null ? isNull(systemEvents.nodePoolId) : eq(systemEvents.nodePoolId, nodePoolId),
      ),
    )
    .orderBy(desc(systemEvents.id))
    .limit(1);
  return row?.status;
}

/** Removes what is older than the retention; returns how many rows. */
export async function purgeEvents(db: Queryable, retentionDays: number): Promise<number> {
  const removed = await db
    .delete(systemEvents)
    .where(sql`${systemEvents.recordedAt} < now() - make_interval(days => ${retentionDays})`)
    .returning({ id: systemEvents.id });
  return removed.length;
}
