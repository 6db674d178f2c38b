import { and, eq, isNull, sql } from "drizzle-orm";
import type { QuotaAmounts } from "../../shared/crd/quota.ts";
import type { Queryable } from "../db/client.ts";
import { notFound } from "../http/errors.ts";
import { type Quotas, toQuotas } from "./quotas.ts";
import { organizationQuotas, organizations } from "./table.ts";

/** What the Namespace of an organization shows. */
export interface PublishedOrganization {
  name: string;
  slug: string;
  quotas: Quotas;
}

/** What its Namespace shows of an organization, deleted ones too, and whether it is recorded to be up to date. Throws 404. */
export async function readPublished(
  db: Queryable,
  orgId: string,
  defaults: QuotaAmounts,
): Promise<PublishedOrganization & { isNamespaceReady: boolean }> {
  const [row] = await selectPublished(db).where(eq(organizations.id, orgId));
  if (row === undefined) throw notFound("organization");
  return { ...toPublished(row, defaults), isNamespaceReady: row.readyAt !== null };
}

/** What the Namespaces of all organizations that are not deleted show. */
export async function readAllPublished(
  db: Queryable,
  defaults: QuotaAmounts,
): Promise<PublishedOrganization[]> {
  const rows = await selectPublished(db).where(isNull(organizations.deletedAt));
  return rows.map((row) => toPublished(row, defaults));
}

function selectPublished(db: Queryable) {
  return db
    .select({
      orgId: organizations.id,
      name: organizations.name,
      slug: organizations.slug,
      readyAt: organizations.namespaceReadyAt,
      quotas: organizationQuotas,
    })
    .from(organizations)
    .leftJoin(organizationQuotas, eq(organizationQuotas.orgId, organizations.id))
    .$dynamic();
}

function toPublished(
  { orgId, name, slug, quotas }: Awaited<ReturnType<typeof selectPublished>>[number],
  defaults: QuotaAmounts,
): PublishedOrganization {
  return { name, slug, quotas: toQuotas(orgId, quotas, defaults) };
}

/** Ids of the organizations whose Namespace is not known to be up to date. */
export async function listWithoutNamespace(db: Queryable): Promise<string[]> {
  const rows = await db
    .select({ id: organizations.id })
    .from(organizations)
    .where(and(isNull(organizations.namespaceReadyAt), isNull(organizations.deletedAt)));
  return rows.map(({ id }) => id);
}

/** Records that the Namespace is up to date, unless the organization was renamed meanwhile. */
export async function markNamespaceReady(
  db: Queryable,
  { name, slug, quotas: { orgId } }: PublishedOrganization,
): Promise<void> {
  await db
    .update(organizations)
    .set({ namespaceReadyAt: sql`now()` })
    .where(and(eq(organizations.id, orgId), eq(organizations.name, name), eq(organizations.slug, slug)));
}

/** Has the Namespace updated by the next run of the job. */
export async function markNamespaceStale(tx: Queryable, orgId: string): Promise<void> {
  await tx.update(organizations).set({ namespaceReadyAt: null }).where(eq(organizations.id, orgId));
}
