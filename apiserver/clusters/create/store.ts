import { and, asc, eq, ne, sql } from "drizzle-orm";
import type { Queryable } from "../../db/client.ts";
import type { Origin } from "../../http/authentication/principal.ts";
import type { NewCluster } from "./new-cluster.ts";
import { type ClusterIntent, clusterIntents } from "./table.ts";

/**
 * Records what a create is about to do. The request of an earlier attempt at the same cluster is kept: its intent is
 * returned with that request, and opened again when it had been abandoned.
 */
export async function openClusterIntent(
  tx: Queryable,
  request: NewCluster,
  origin: Origin,
): Promise<ClusterIntent> {
  const rows = await tx
    .insert(clusterIntents)
    .values({ clusterId: request.clusterId, orgId: request.orgId, state: "pending", request, origin })
    .onConflictDoUpdate({
      target: clusterIntents.clusterId,
      set: {
        state: sql`case when ${clusterIntents.state} = 'done' then 'done' else 'pending' end`,
        startedAt: sql`now()`,
      },
    })
    .returning();
  const intent = rows[0];
  if (intent === undefined) throw new Error("an upsert returned no row");
  return intent;
}

/** Closes a pending intent, in the transaction that records its outcome; false when it was closed before. */
export async function closeIntent(
  tx: Queryable,
  clusterId: string,
  state: "done" | "abandoned",
): Promise<boolean> {
  const rows = await tx
    .update(clusterIntents)
    .set({ state })
    .where(and(eq(clusterIntents.clusterId, clusterId), eq(clusterIntents.state, "pending")))
    .returning({ clusterId: clusterIntents.clusterId });
  return rows.length > 0;
}

/**
 * Locks a stale intent until the end of the transaction: a repeated request waits. False for one that is closed, or that
 * was opened again since.
 */
export async function lockStaleIntent(
  tx: Queryable,
  clusterId: string,
  olderThanSeconds: number,
): Promise<boolean> {
  const rows = await tx
    .select({ clusterId: clusterIntents.clusterId })
    .from(clusterIntents)
    .where(and(eq(clusterIntents.clusterId, clusterId), isStale(olderThanSeconds)))
    .for("update");
  return rows.length > 0;
}

function isStale(olderThanSeconds: number) {
  return and(
    eq(clusterIntents.state, "pending"),
    sql`${clusterIntents.startedAt} < now() - make_interval(secs => ${olderThanSeconds})`,
  );
}

/** Whether a cluster of the organization is being created right now, or was left unfinished. */
export async function hasPendingCreates(db: Queryable, orgId: string): Promise<boolean> {
  const [row] = await db
    .select({ clusterId: clusterIntents.clusterId })
    .from(clusterIntents)
    .where(and(eq(clusterIntents.orgId, orgId), eq(clusterIntents.state, "pending")))
    .limit(1);
  return row !== undefined;
}

/** Pending intents that no request can be working on any more, the oldest first. */
export async function listStaleClusterIntents(
  db: Queryable,
  olderThanSeconds: number,
  limit: number,
): Promise<ClusterIntent[]> {
  return db
    .select()
    .from(clusterIntents)
    .where(isStale(olderThanSeconds))
    .orderBy(asc(clusterIntents.startedAt))
    .limit(limit);
}

/** An Idempotency-Key is kept for 24 h: older creates cannot be repeated. */
const KEPT_HOURS = 48;

/** Deletes intents that were closed long ago. */
export async function purgeIntents(db: Queryable): Promise<void> {
  await db
    .delete(clusterIntents)
    .where(
      and(
        ne(clusterIntents.state, "pending"),
        sql`${clusterIntents.startedAt} < now() - make_interval(hours => ${KEPT_HOURS})`,
      ),
    );
}
