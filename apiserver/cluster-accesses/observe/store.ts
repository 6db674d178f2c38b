import { and, count, eq, isNull, sql } from "drizzle-orm";
import type { Queryable } from "../../db/client.ts";
import type { QuotaFigures } from "../../http/errors.ts";
import { type ObservedAccess, observedAccesses } from "../table.ts";

/** Longer than a watch can be closed without a new list. */
const KEPT_DAYS = 7;

export type NewObservedAccess = Omit<ObservedAccess, "endedAt">;

/** Records an access that is seen for the first time; false for one that is known. */
export async function insertObserved(tx: Queryable, access: NewObservedAccess): Promise<boolean> {
  const rows = await tx
    .insert(observedAccesses)
    .values(access)
    .onConflictDoNothing()
    .returning({ uid: observedAccesses.uid });
  return rows.length > 0;
}

export type RecordedAccess = Pick<ObservedAccess, "namespace" | "clusterName" | "subject" | "expiresAt">;

/** An access that was seen with this id; of several the one that ends first. */
export async function findRecorded(
  db: Queryable,
  orgId: string,
  id: string,
): Promise<RecordedAccess | undefined> {
  const { namespace, clusterName, subject, expiresAt } = observedAccesses;
  const [row] = await db
    .select({ namespace, clusterName, subject, expiresAt })
    .from(observedAccesses)
    .where(and(eq(observedAccesses.orgId, orgId), eq(observedAccesses.id, id)))
    .orderBy(expiresAt)
    .limit(1);
  return row;
}

/** Records the end of an access; undefined for one that is unknown or has ended before. */
export async function markEnded(tx: Queryable, uid: string): Promise<ObservedAccess | undefined> {
  const [row] = await tx
    .update(observedAccesses)
    .set({ endedAt: sql`now()` })
    .where(and(eq(observedAccesses.uid, uid), isNull(observedAccesses.endedAt)))
    .returning();
  return row;
}

/** An access that has not ended, as far as was recorded. */
export async function findUnended(db: Queryable, uid: string): Promise<ObservedAccess | undefined> {
  const [row] = await db
    .select()
    .from(observedAccesses)
    .where(and(eq(observedAccesses.uid, uid), isNull(observedAccesses.endedAt)));
  return row;
}

type PlacedAccess = Pick<ObservedAccess, "uid" | "namespace" | "name">;

/** The accesses that have not ended, as far as was recorded; with `of`, those of one id of an organization. */
export async function listUnended(
  db: Queryable,
  of?: Pick<ObservedAccess, "orgId" | "id">,
): Promise<PlacedAccess[]> {
  const { uid, namespace, name, orgId, id, endedAt } = observedAccesses;
  const ofId = of === undefined ? undefined : and(eq(orgId, of.orgId), eq(id, of.id));
  return db
    .select({ uid, namespace, name })
    .from(observedAccesses)
    .where(and(isNull(endedAt), ofId));
}

/**
 * The accesses of an organization that have not ended, as far as was recorded, as one of its stores. The Kubernetes API
 * refuses one more than `limit`.
 */
export async function readAccessStore(
  db: Queryable,
  orgId: string,
  limit: number,
): Promise<{ accesses: QuotaFigures }> {
  const isOne = and(eq(observedAccesses.orgId, orgId), isNull(observedAccesses.endedAt));
  const [row] = await db.select({ used: count() }).from(observedAccesses).where(isOne);
  return { accesses: { limit, used: row?.used ?? 0 } };
}

/** Forgets accesses that ended long ago. */
export async function purgeEnded(db: Queryable): Promise<void> {
  await db
    .delete(observedAccesses)
    .where(sql`${observedAccesses.endedAt} < now() - make_interval(days => ${KEPT_DAYS})`);
}
