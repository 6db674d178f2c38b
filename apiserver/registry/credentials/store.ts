import { and, asc, count, eq, gt, inArray, isNotNull, isNull } from "drizzle-orm";
import { NIL_ID } from "../../../shared/program/id.ts";
import type { Queryable } from "../../db/client.ts";
import type { PageRequest } from "../../http/contract/page.ts";
import { ApiError, describeExcess, notFound, type QuotaFigures } from "../../http/errors.ts";
import { clusterRecords } from "../../resources/project/table.ts";
import { type CredentialRow, registryCredentials } from "./table.ts";

/** The limit of one organization: ten for each of a hundred clusters. */
const MAX_CREDENTIALS = 1000;

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

/** The credentials of an organization's clusters that are not deleted, as one of its stores. */
export async function readCredentialStore(
  db: Queryable,
  orgId: string,
): Promise<{ registry_credentials: QuotaFigures }> {
  const [row] = await db.select({ used: count() }).from(registryCredentials).where(isLive(db, orgId));
  return { registry_credentials: { limit: MAX_CREDENTIALS, used: row?.used ?? 0 } };
}

/** Call it under the organization's row lock. Throws 422 quota_exceeded for one credential too many. */
export async function requireCredentialCapacity(tx: Queryable, orgId: string): Promise<void> {
  const { registry_credentials: figures } = await readCredentialStore(tx, orgId);
  if (figures.used < figures.limit) return;
  throw new ApiError("quota_exceeded", `The organization has ${figures.used} credentials; delete one.`, {
    details: [describeExcess("registry_credentials", figures)],
  });
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
