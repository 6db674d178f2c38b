import { and, eq, gt, isNotNull, isNull, lt, ne, or, type SQL, sql } from "drizzle-orm";
import type { Queryable } from "../db/client.ts";
import { nameReservations } from "./table.ts";

/** How long a name stays taken for a request whose object nobody has seen. */
const LEASE_MINUTES = 10;

/**
 * Takes a name (letter case aside) in a scope for an object that is about to be written: the organization's id for a
 * cluster, the cluster's id for a pool. False when another object holds it. Taking it again for the same object
 * renews the lease.
 */
export async function reserveName(
  tx: Queryable,
  scope: string,
  name: string,
  objectId: string,
): Promise<boolean> {
  const leasedUntil = sql`now() + make_interval(mins => ${LEASE_MINUTES})`;
  const rows = await tx
    .insert(nameReservations)
    .values({ scope, nameKey: name.toLowerCase(), objectId, leasedUntil })
    .onConflictDoUpdate({
      target: [nameReservations.scope, nameReservations.nameKey],
      set: { objectId, leasedUntil: sql`excluded.leased_until` },
      setWhere: isExpiredOrLeasedBy(objectId),
    })
    .returning({ objectId: nameReservations.objectId });
  if (rows.length > 0) return true;
  return isHeldBy(tx, scope, name, objectId);
}

/**
 * Makes the name of an object that was seen its own, and lets go of a name that it had before. An object whose name
 * another one holds is left without (it came by kubectl or GitOps, and is served all the same). Writes nothing when
 * all is as it should be.
 */
export async function confirmName(
  tx: Queryable,
  scope: string,
  name: string,
  objectId: string,
): Promise<void> {
  const nameKey = name.toLowerCase();
  await tx
    .insert(nameReservations)
    .values({ scope, nameKey, objectId, leasedUntil: null })
    .onConflictDoUpdate({
      target: [nameReservations.scope, nameReservations.nameKey],
      set: { objectId, leasedUntil: null },
      setWhere: isExpiredOrLeasedBy(objectId),
    });
  await tx
    .delete(nameReservations)
    .where(
      and(
        eq(nameReservations.objectId, objectId),
        ne(nameReservations.nameKey, nameKey),
        or(isNull(nameReservations.leasedUntil), isExpired()),
      ),
    );
}

/** Lets go of one name that was reserved for an object and never written. */
export async function releaseName(
  tx: Queryable,
  scope: string,
  name: string,
  objectId: string,
): Promise<void> {
  await tx
    .delete(nameReservations)
    .where(
      and(
        eq(nameReservations.scope, scope),
        eq(nameReservations.nameKey, name.toLowerCase()),
        eq(nameReservations.objectId, objectId),
        isNotNull(nameReservations.leasedUntil),
      ),
    );
}

/** Lets go of every name that was reserved for an object and never written. */
export async function releaseLeases(tx: Queryable, objectId: string): Promise<void> {
  await tx
    .delete(nameReservations)
    .where(and(eq(nameReservations.objectId, objectId), isNotNull(nameReservations.leasedUntil)));
}

/** Lets go of every name of an object that is gone. */
export async function releaseNames(tx: Queryable, objectId: string): Promise<void> {
  await tx.delete(nameReservations).where(eq(nameReservations.objectId, objectId));
}

/** Whether the name is taken by a request that has not come to its end. */
export async function isNameInFlight(tx: Queryable, scope: string, name: string): Promise<boolean> {
  const rows = await tx
    .select({ objectId: nameReservations.objectId })
    .from(nameReservations)
    .where(
      and(
        eq(nameReservations.scope, scope),
        eq(nameReservations.nameKey, name.toLowerCase()),
        gt(nameReservations.leasedUntil, sql`now()`),
      ),
    );
  return rows.length > 0;
}

async function isHeldBy(tx: Queryable, scope: string, name: string, objectId: string): Promise<boolean> {
  const rows = await tx
    .select({ objectId: nameReservations.objectId })
    .from(nameReservations)
    .where(and(eq(nameReservations.scope, scope), eq(nameReservations.nameKey, name.toLowerCase())));
  return rows[0]?.objectId === objectId;
}

function isExpiredOrLeasedBy(objectId: string): SQL {
  return sql`${nameReservations.leasedUntil} < now()
    or (${nameReservations.objectId} = ${objectId} and ${nameReservations.leasedUntil} is not null)`;
}

function isExpired() {
  return lt(nameReservations.leasedUntil, sql`now()`);
}
