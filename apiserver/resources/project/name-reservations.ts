import { and, eq, gt, inArray, isNotNull, isNull, lt, ne, or, sql } from "drizzle-orm";
import type { Queryable } from "../../db/client.ts";
import { nameReservations } from "./table.ts";

/** How long a name stays reserved for a request whose object has not been observed. */
const LEASE_MINUTES = 10;

/**
 * Reserves a name (ignoring case) in a scope for an object that is about to be written: the organization's id for a
 * cluster, the cluster's id for a pool. False when another object has it. Reserving it again for the same object renews
 * the lease.
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
      setWhere: sql`${nameReservations.leasedUntil} < now()
        or (${nameReservations.objectId} = ${objectId} and ${nameReservations.leasedUntil} is not null)`,
    })
    .returning({ objectId: nameReservations.objectId });
  if (rows.length > 0) return true;
  return isHeldBy(tx, scope, name, objectId);
}

/** An object and the name with which it was observed, in its scope. */
export interface NameReservation {
  scope: string;
  name: string;
  objectId: string;
}

/**
 * Assigns names to observed objects and releases the names that they had before. An object whose name is taken gets none
 * (it was created by kubectl or GitOps, and is served all the same). Writes nothing when nothing changes. No two of them
 * may be for the same name, ignoring case.
 */
export async function confirmNames(tx: Queryable, names: readonly NameReservation[]): Promise<void> {
  if (names.length === 0) return;
  // In one order for all transactions, so that two of them never wait for each other.
  const rows = names
    .map(({ scope, name, objectId }) => ({ scope, nameKey: name.toLowerCase(), objectId, leasedUntil: null }))
    .sort((left, right) => (toKey(left) < toKey(right) ? -1 : 1));
  // Former names are released first: another of these objects may take them.
  const isFormerName = rows.map(({ objectId, scope, nameKey }) =>
    and(
      eq(nameReservations.objectId, objectId),
      or(ne(nameReservations.scope, scope), ne(nameReservations.nameKey, nameKey)),
    ),
  );
  await tx
    .delete(nameReservations)
    .where(
      and(
        or(...isFormerName),
        or(isNull(nameReservations.leasedUntil), lt(nameReservations.leasedUntil, sql`now()`)),
      ),
    );
  await tx
    .insert(nameReservations)
    .values(rows)
    .onConflictDoUpdate({
      target: [nameReservations.scope, nameReservations.nameKey],
      set: { objectId: sql`excluded.object_id`, leasedUntil: null },
      setWhere: sql`${nameReservations.leasedUntil} < now()
        or (${nameReservations.objectId} = excluded.object_id and ${nameReservations.leasedUntil} is not null)`,
    });
}

function toKey({ scope, nameKey }: { scope: string; nameKey: string }): string {
  return `${scope} ${nameKey}`;
}

/** Releases one name that was reserved for an object and never written. */
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

/** Releases every name that was reserved for an object and never written. */
export async function releaseLeases(tx: Queryable, objectId: string): Promise<void> {
  await tx
    .delete(nameReservations)
    .where(and(eq(nameReservations.objectId, objectId), isNotNull(nameReservations.leasedUntil)));
}

/** Releases every name of deleted objects. */
export async function releaseNames(tx: Queryable, objectIds: readonly string[]): Promise<void> {
  await tx.delete(nameReservations).where(inArray(nameReservations.objectId, [...objectIds]));
}

/** Whether the name is reserved by a request in progress. */
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
