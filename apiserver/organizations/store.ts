import { and, asc, eq, gt, inArray, isNotNull, isNull, type Placeholder, sql } from "drizzle-orm";
import type { Labels } from "../../shared/crd/labels.ts";
import { mapAmounts, type QuotaAmounts, type QuotaName } from "../../shared/crd/quota.ts";
import { isId, NIL_ID } from "../../shared/program/id.ts";
import type { Queryable } from "../db/client.ts";
import { uniqueViolationOf } from "../db/errors.ts";
import { prepareStatement } from "../db/statement.ts";
import type { Membership } from "../http/authorization/permissions.ts";
import type { PageRequest } from "../http/contract/page.ts";
import { ApiError, notFound } from "../http/errors.ts";
import { type OrganizationRow, organizationColumns, organizations } from "./table.ts";

const NEXT_VERSION = sql`${organizations.version} + 1`;

/** How long a deletion blocks changes in the organization; one that takes longer has crashed, and another may begin. */
const DELETION_LEASE = sql`interval '60 seconds'`;
const isDeleting = sql<boolean>`coalesce(${organizations.deletingAt} > now() - ${DELETION_LEASE}, false)`;

const selectOrganization = prepareStatement(["orgId"], (db, { orgId }) =>
  db.select(organizationColumns).from(organizations).where(isExisting(orgId)),
);

/** The organization, unless it is deleted. */
export async function findOrganization(db: Queryable, orgId: string): Promise<OrganizationRow | undefined> {
  const [row] = await selectOrganization(db, { orgId });
  return row;
}

/** The organization. Throws 404. */
export async function requireOrganization(db: Queryable, orgId: string): Promise<OrganizationRow> {
  const row = await findOrganization(db, orgId);
  if (row === undefined) throw notFound("organization");
  return row;
}

/** The organization of a membership, as it was read with that. */
export function organizationOfMembership({
  organization,
}: Pick<Membership, "organization">): OrganizationRow {
  return organization as OrganizationRow;
}

const selectIsDeletingLocked = prepareStatement(["orgId"], (tx, { orgId }) =>
  tx.select({ isDeleting }).from(organizations).where(isExisting(orgId)).for("no key update"),
);

/**
 * Takes the organization's row lock for a change inside it, until the transaction ends. Throws 404 when it is deleted,
 * 409 conflict while it is being deleted.
 */
export async function lockOrganization(tx: Queryable, orgId: string): Promise<void> {
  const [found] = await selectIsDeletingLocked(tx, { orgId });
  if (found === undefined) throw notFound("organization");
  if (found.isDeleting)
    throw new ApiError("conflict", "The organization is being deleted.", { retryAfterSeconds: 5 });
}

/**
 * Takes the same lock if no other transaction holds it now. Returns whether it does: not of an organization that is
 * deleted or being deleted.
 */
export async function tryLockOrganization(tx: Queryable, orgId: string): Promise<boolean> {
  const [found] = await tx
    .select({ isDeleting })
    .from(organizations)
    .where(isExisting(orgId))
    .for("no key update", { skipLocked: true });
  return found?.isDeleting === false;
}

/** All organizations, or the one with a slug, ordered by id; one row more than `limit`. */
export async function listOrganizations(
  db: Queryable,
  { slug, cursor = NIL_ID, limit }: PageRequest & { slug?: string | undefined },
): Promise<OrganizationRow[]> {
  return db
    .select(organizationColumns)
    .from(organizations)
    .where(
      and(
        isNull(organizations.deletedAt),
        gt(organizations.id, cursor),
        slug === undefined ? undefined : eq(organizations.slug, slug),
      ),
    )
    .orderBy(asc(organizations.id))
    .limit(limit + 1);
}

/** Which of these organizations exist or existed: deleted ones too. */
export async function findKnownOrganizations(db: Queryable, orgIds: readonly string[]): Promise<Set<string>> {
  const rows = await db
    .select({ id: organizations.id })
    .from(organizations)
    .where(inArray(organizations.id, [...new Set(orgIds)].filter(isId)));
  return new Set(rows.map(({ id }) => id));
}

export interface NewOrganization {
  id: string;
  name: string;
  slug: string;
  billingEmail: string | null;
  vatId: string | null;
  labels: Labels;
  createdBy: string;
}

/** Adds an organization; undefined when the slug is taken. */
export async function insertOrganization(
  tx: Queryable,
  values: NewOrganization,
): Promise<OrganizationRow | undefined> {
  const [row] = await tx
    .insert(organizations)
    .values(values)
    .onConflictDoNothing({ target: organizations.slug, where: isNull(organizations.deletedAt) })
    .returning(organizationColumns);
  return row;
}

/** Settings to change; `undefined` leaves one unchanged. */
export interface OrganizationChange {
  name?: string | undefined;
  slug?: string | undefined;
  billingEmail?: string | null | undefined;
  vatId?: string | null | undefined;
  labels?: Labels | undefined;
}

/** What an organization's invoices need of it, and what else is to change. */
type OrganizationUpdate = Pick<OrganizationChange, "name" | "slug" | "labels"> &
  Pick<OrganizationRow, "billingEmail" | "vatId">;

const updateOrganizationSettings = prepareStatement(
  ["orgId", "name", "slug", "billingEmail", "vatId", "labels"],
  (tx, { orgId, name, slug, billingEmail, vatId, labels }) =>
    tx
      .update(organizations)
      .set({
        name: sql`coalesce(${name}, ${organizations.name})`,
        slug: sql`coalesce(${slug}, ${organizations.slug})`,
        billingEmail: sql`${billingEmail}`,
        vatId: sql`${vatId}`,
        labels: sql`coalesce(${labels}::jsonb, ${organizations.labels})`,
        // The job writes the new name and slug to the Namespace.
        namespaceReadyAt: sql`case when (${organizations.name}, ${organizations.slug}) is not distinct from (coalesce(${name}, ${organizations.name}), coalesce(${slug}, ${organizations.slug})) then ${organizations.namespaceReadyAt} end`,
        version: NEXT_VERSION,
        updatedAt: sql`now()`,
      })
      .where(isExisting(orgId))
      .returning(organizationColumns),
);

/** Sets settings. Throws 409 already_exists for a taken slug. */
export async function updateSettings(
  tx: Queryable,
  orgId: string,
  { name, slug, billingEmail, vatId, labels }: OrganizationUpdate,
): Promise<OrganizationRow> {
  const values = {
    orgId,
    name: name ?? null,
    slug: slug ?? null,
    billingEmail,
    vatId,
    labels: labels === undefined ? null : JSON.stringify(labels),
  };
  const [row] = await updateOrganizationSettings(tx, values).catch((error: unknown) => {
    throw uniqueViolationOf(error) === "organizations_slug_key" ? slugTaken(slug ?? "", error) : error;
  });
  if (row === undefined) throw notFound("organization");
  return row;
}

/** The refusal of a slug that another organization has: 409 already_exists. */
export function slugTaken(slug: string, cause?: unknown): ApiError {
  return new ApiError("already_exists", `The slug ${slug} is taken.`, {
    details: [{ field: "slug", code: "duplicate", message: "is taken" }],
    cause,
  });
}

/** Begins a deletion: from now on, changes in the organization are refused. Returns when it began. */
export async function beginDeletion(tx: Queryable, orgId: string): Promise<Date> {
  const [row] = await tx
    .update(organizations)
    .set({ deletingAt: sql`now()` })
    .where(isExisting(orgId))
    .returning({ at: organizations.deletingAt });
  if (row?.at == null) throw notFound("organization");
  return row.at;
}

/** Ends the deletion that began then, without deleting. */
export async function cancelDeletion(db: Queryable, orgId: string, deletingAt: Date): Promise<void> {
  await db.update(organizations).set({ deletingAt: null }).where(isDeletingSince(orgId, deletingAt));
}

/**
 * Marks the organization as deleted; undefined when the deletion that began at `deletingAt` no longer blocks changes in it,
 * or another one began since.
 */
export async function markDeleted(
  tx: Queryable,
  orgId: string,
  deletingAt: Date,
): Promise<OrganizationRow | undefined> {
  const isBlocking = sql<boolean>`${organizations.deletingAt} > clock_timestamp() - ${DELETION_LEASE}`;
  // The row is locked before the clock is read: a change that held the lock may have been made after the lease.
  await tx
    .select({ id: organizations.id })
    .from(organizations)
    .where(isDeletingSince(orgId, deletingAt))
    .for("no key update");
  const [row] = await tx
    .update(organizations)
    .set({ deletedAt: sql`now()`, version: NEXT_VERSION })
    .where(and(isDeletingSince(orgId, deletingAt), isBlocking))
    .returning(organizationColumns);
  return row;
}

/** Which of these organizations are deleted; what is no id is none. */
export async function findDeletedOrganizations(
  db: Queryable,
  orgIds: readonly string[],
): Promise<Set<string>> {
  const rows = await db
    .select({ id: organizations.id })
    .from(organizations)
    .where(and(inArray(organizations.id, orgIds.filter(isId)), isNotNull(organizations.deletedAt)));
  return new Set(rows.map(({ id }) => id));
}

const { id, quotaNodePools, quotaNodes, quotaVcpus, quotaMemoryGB } = organizations;

/** The columns of the quotas, for `toQuotas`. */
export const quotaColumns = {
  orgId: id,
  clusters: organizations.quotaClusters,
  nodePools: quotaNodePools,
  nodes: quotaNodes,
  vcpus: quotaVcpus,
  memoryGB: quotaMemoryGB,
  version: organizations.quotaVersion,
  updatedAt: organizations.quotasUpdatedAt,
};

/** The quotas of an organization, also of a deleted one. Throws 404. */
export async function readQuotas(db: Queryable, orgId: string, defaults: QuotaAmounts): Promise<Quotas> {
  const [row] = await db.select(quotaColumns).from(organizations).where(eq(organizations.id, orgId));
  if (row === undefined) throw notFound("organization");
  return toQuotas(row, defaults);
}

function isExisting(orgId: string | Placeholder) {
  return and(eq(organizations.id, orgId), isNull(organizations.deletedAt));
}

function isDeletingSince(orgId: string, deletingAt: Date) {
  return and(eq(organizations.id, orgId), eq(organizations.deletingAt, deletingAt));
}

/** The quotas of one organization: what staff set, and what is in force. */
export interface Quotas {
  orgId: string;
  /** Null: the default. */
  configured: Readonly<Record<QuotaName, number | null>>;
  effective: QuotaAmounts;
  version: number;
  /** When one was last set; null: never. */
  updatedAt: Date | null;
}

/** The quotas of a row of `quotaColumns`. */
export function toQuotas(
  {
    orgId,
    version,
    updatedAt,
    ...configured
  }: Pick<Quotas, "orgId" | "version" | "updatedAt"> & Quotas["configured"],
  defaults: QuotaAmounts,
): Quotas {
  return {
    orgId,
    configured,
    effective: mapAmounts((name) => configured[name] ?? defaults[name]),
    version,
    updatedAt,
  };
}
