import { and, eq, isNull, sql } from "drizzle-orm";
import type { QuotaAmounts } from "../../shared/crd/quota.ts";
import type { Queryable } from "../db/client.ts";
import { notFound } from "../http/errors.ts";
import { type Quotas, quotaColumns, toQuotas } from "./store.ts";
import { organizations } from "./table.ts";

/** What the Namespace of an organization shows. */
export interface PublishedOrganization {
  name: string;
  slug: string;
  quotas: Quotas;
}

/** What an organization's Namespace shows, and whether it is recorded as up to date. Throws 404, also for a deleted one. */
export async function readPublished(
  db: Queryable,
  orgId: string,
  defaults: QuotaAmounts,
): Promise<PublishedOrganization & { isNamespaceReady: boolean }> {
  const [row] = await selectPublished(db).where(
    and(eq(organizations.id, orgId), isNull(organizations.deletedAt)),
  );
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
      name: organizations.name,
      slug: organizations.slug,
      readyAt: organizations.namespaceReadyAt,
      quotas: quotaColumns,
    })
    .from(organizations)
    .$dynamic();
}

function toPublished(
  { name, slug, quotas }: Awaited<ReturnType<typeof selectPublished>>[number],
  defaults: QuotaAmounts,
): PublishedOrganization {
  return { name, slug, quotas: toQuotas(quotas, defaults) };
}

/** Ids of the organizations whose Namespace is not known to be up to date. */
export async function listWithoutNamespace(db: Queryable): Promise<string[]> {
  const rows = await db
    .select({ id: organizations.id })
    .from(organizations)
    .where(and(isNull(organizations.namespaceReadyAt), isNull(organizations.deletedAt)));
  return rows.map(({ id }) => id);
}

/** Records that the Namespace is up to date, unless the organization was renamed or got other quotas meanwhile. */
export async function markNamespaceReady(
  db: Queryable,
  { name, slug, quotas }: PublishedOrganization,
): Promise<void> {
  await db
    .update(organizations)
    .set({ namespaceReadyAt: sql`now()` })
    .where(
      and(
        eq(organizations.id, quotas.orgId),
        eq(organizations.name, name),
        eq(organizations.slug, slug),
        eq(organizations.quotaVersion, quotas.version),
      ),
    );
}

/**
 * Sets the quotas of an organization that exists, which the job then writes to its Namespace; null is the platform's
 * default. Returns them.
 */
export async function updateQuotas(
  tx: Queryable,
  { orgId, defaults }: { orgId: string; defaults: QuotaAmounts },
  { configured, version }: Pick<Quotas, "configured" | "version">,
): Promise<Quotas> {
  const { clusters, nodePools, nodes, vcpus, memoryGB } = configured;
  const [row] = await tx
    .update(organizations)
    .set({
      quotaClusters: clusters,
      quotaNodePools: nodePools,
      quotaNodes: nodes,
      quotaVcpus: vcpus,
      quotaMemoryGB: memoryGB,
      quotaVersion: version,
      quotasUpdatedAt: sql`now()`,
      namespaceReadyAt: null,
    })
    .where(and(eq(organizations.id, orgId), isNull(organizations.deletedAt)))
    .returning(quotaColumns);
  if (row === undefined) throw notFound("organization");
  return toQuotas(row, defaults);
}
