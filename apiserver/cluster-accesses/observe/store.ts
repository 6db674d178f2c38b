import { and, eq, isNull, sql } from "drizzle-orm";
import type { Queryable } from "../../db/client.ts";
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

/** Records the end of an access; undefined for one that is unknown or has ended before. */
export async function markEnded(tx: Queryable, uid: string): Promise<ObservedAccess | undefined> {
  const [row] = await tx
    .update(observedAccesses)
    .set({ endedAt: sql`now()` })
    .where(and(eq(observedAccesses.uid, uid), isNull(observedAccesses.endedAt)))
    .returning();
  return row;
}

/** The accesses that have not ended, as far as was seen. */
export async function listUnended(
  db: Queryable,
): Promise<Pick<ObservedAccess, "uid" | "namespace" | "name">[]> {
  const { uid, namespace, name } = observedAccesses;
  return db.select({ uid, namespace, name }).from(observedAccesses).where(isNull(observedAccesses.endedAt));
}

/** Forgets accesses that ended long ago. */
export async function purgeEnded(db: Queryable): Promise<void> {
  await db
    .delete(observedAccesses)
    .where(sql`${observedAccesses.endedAt} < now() - make_interval(days => ${KEPT_DAYS})`);
}
