import { and, asc, count, eq, gt, inArray, isNotNull, isNull } from "drizzle-orm";
import { NIL_ID } from "../../../shared/program/id.ts";
import type { Queryable } from "../../db/client.ts";
import type { PageRequest } from "../../http/contract/page.ts";
import { notFound } from "../../http/errors.ts";
import { clusterRecords } from "../../resources/project/table.ts";
import { type CredentialRow, registryCredentials } from "./table.ts";

/** The credentials of an organization's clusters that are not deleted, ordered by id; one row more than `limit`. */
export async function listCredentials(
  db: Queryable,
  orgId: string,
  { cursor = NIL_ID, limit }: PageRequest,
): Promise<CredentialRow[]> {
  return db
    .select()
    .from(registryCredentials)
    .where(and(isLive(db, orgId), gt(registryCredentials.id, cursor)))
    .orderBy(asc(registryCredentials.id))
    .limit(limit + 1);
}

/** How many of them there are. */
export async function countCredentials(tx: Queryable, orgId: string): Promise<number> {
  const [row] = await tx.select({ total: count() }).from(registryCredentials).where(isLive(tx, orgId));
  return row?.total ?? 0;
}

/** Adds a credential. */
export async function insertCredential(tx: Queryable, row: CredentialRow): Promise<void> {
  await tx.insert(registryCredentials).values(row);
}

/** Removes a credential and returns it. Throws 404. */
export async function removeCredential(tx: Queryable, orgId: string, id: string): Promise<CredentialRow> {
  const [row] = await tx
    .delete(registryCredentials)
    .where(and(isLive(tx, orgId), eq(registryCredentials.id, id)))
    .returning();
  if (row === undefined) throw notFound("credential");
  return row;
}

/** The credential that a password names, of whatever organization, while its cluster exists. */
export async function findLiveCredential(db: Queryable, id: string): Promise<CredentialRow | undefined> {
  const [row] = await db
    .select({ credential: registryCredentials })
    .from(registryCredentials)
    .innerJoin(
      clusterRecords,
      and(
        eq(clusterRecords.id, registryCredentials.clusterId),
        eq(clusterRecords.orgId, registryCredentials.orgId),
      ),
    )
    .where(and(eq(registryCredentials.id, id), isNull(clusterRecords.deletedAt)));
  return row?.credential;
}

/** Notes that a credential was used. */
export async function recordCredentialUse(
  db: Queryable,
  { id, orgId }: CredentialRow,
  at: Date,
): Promise<void> {
  await db
    .update(registryCredentials)
    .set({ lastUsedAt: at })
    .where(and(eq(registryCredentials.orgId, orgId), eq(registryCredentials.id, id)));
}

/** Deletes the credentials of clusters that are deleted. */
export async function purgeEndedCredentials(db: Queryable): Promise<void> {
  const ended = db
    .select({ id: clusterRecords.id })
    .from(clusterRecords)
    .where(isNotNull(clusterRecords.deletedAt));
  await db.delete(registryCredentials).where(inArray(registryCredentials.clusterId, ended));
}

function isLive(db: Queryable, orgId: string) {
  const clusters = db
    .select({ id: clusterRecords.id })
    .from(clusterRecords)
    .where(and(eq(clusterRecords.orgId, orgId), isNull(clusterRecords.deletedAt)));
  return and(eq(registryCredentials.orgId, orgId), inArray(registryCredentials.clusterId, clusters));
}
