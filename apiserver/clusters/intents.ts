import { and, asc, eq, ne, sql } from "drizzle-orm";
import type { Queryable } from "../db/client.ts";
import type { Origin } from "../http/authentication/principal.ts";
import type { NewCluster } from "./new-cluster.ts";
import { type ClusterIntent, clusterIntents } from "./table.ts";

/**
 * Records what a create is about to do. An earlier attempt at the same cluster keeps the wish that it fixed: it is
 * returned as it stands, and opened again when it had been given up.
 */
export async function openIntent(tx: Queryable, wish: NewCluster, origin: Origin): Promise<ClusterIntent> {
  const rows = await tx
    .insert(clusterIntents)
    .values({ clusterId: wish.clusterId, orgId: wish.orgId, state: "pending", wish, origin })
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

/** Closes a pending intent; false when somebody else did. Its transaction is the one that says what came of it. */
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
 * Locks an intent until the end of the transaction: a repetition of its request waits. False for one that is settled, or
 * that was opened again since.
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

/** Whether something is being created in the organization right now, or was left half done. */
export async function hasPendingCreates(db: Queryable, orgId: string): Promise<boolean> {
  const [row] = await db
    .select({ clusterId: clusterIntents.clusterId })
    .from(clusterIntents)
    .where(and(eq(clusterIntents.orgId, orgId), eq(clusterIntents.state, "pending")))
    .limit(1);
  return row !== undefined;
}

/** Pending intents that no request can be working on any more, the oldest first. */
export async function findStaleIntents(
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

/** An Idempotency-Key is kept for 24 h: nobody comes back for what was settled before. */
const KEPT_HOURS = 48;

/** Forgets intents that were settled long ago. */
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
