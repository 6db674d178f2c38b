import { isDeepStrictEqual } from "node:util";
import { and, eq, isNull, sql } from "drizzle-orm";
import { recordAudit } from "../audit/store.ts";
import { batchLookups, isOneOf, toUuidArray } from "../db/batch.ts";
import { prepareOnce, type Queryable } from "../db/client.ts";
import { uniqueViolationOf } from "../db/errors.ts";
import type { Deps } from "../deps.ts";
import { ApiError, notFound } from "../http/errors.ts";
import { requireMatch, versionTag } from "../http/etag.ts";
import type { Origin } from "../http/principal.ts";
import { presentAudit } from "./schema.ts";
import { type OrganizationRow, organizations } from "./table.ts";

export { ensureNamespace, namespaceJobs, organizationNamespace } from "./namespace.ts";
export { type OrganizationRow, organizations } from "./table.ts";

export interface NewOrganization {
  id: string;
  name: string;
  slug: string;
  billingEmail: string | null;
  vatId: string | null;
}

const findByIds = prepareOnce((db) =>
  db
    .select()
    .from(organizations)
    .where(and(isOneOf(organizations.id, "ids"), isNull(organizations.deletedAt)))
    .prepare("find_organizations"),
);
const findById = batchLookups(async (db, ids: readonly string[]) => {
  const rows = await findByIds(db).execute({ ids: toUuidArray(ids) });
  const found = new Map(rows.map((row) => [row.id, row]));
  return ids.map((id) => found.get(id));
});

/** The organization, unless it is deleted. */
export function findOrganization(deps: Deps, orgId: string): Promise<OrganizationRow | undefined> {
  return findById(deps.db, orgId);
}

/** How long a deletion holds the organization shut; one that takes longer has died, and another may begin. */
export const DELETION_LEASE = sql`interval '60 seconds'`;

/**
 * Takes the organization's row lock for a change inside it, until the transaction ends. Throws 404 when it is deleted,
 * 409 conflict while it is being deleted.
 */
export async function lockOrganization(tx: Queryable, orgId: string): Promise<OrganizationRow> {
  const [found] = await tx
    .select({
      row: organizations,
      isDeleting: sql<boolean>`coalesce(${organizations.deletingAt} > now() - ${DELETION_LEASE}, false)`,
    })
    .from(organizations)
    .where(and(eq(organizations.id, orgId), isNull(organizations.deletedAt)))
    .for("no key update");
  if (found === undefined) throw notFound("organization");
  if (!found.isDeleting) return found.row;
  throw new ApiError("conflict", "The organization is being deleted.", { retryAfterSeconds: 5 });
}

/**
 * Makes the organization, what `finish` adds to it (its owner), and the audit row, in one transaction.
 * Throws 409 already_exists for a taken slug.
 */
export async function createOrganization<T>(
  deps: Deps,
  origin: Origin,
  input: NewOrganization,
  finish: (tx: Queryable, row: OrganizationRow) => Promise<T>,
): Promise<T> {
  return refuseTakenSlug(input.slug, () =>
    deps.db.transaction(async (tx) => {
      const row = await insertOrganization(tx, input);
      await recordAudit(tx, origin, {
        action: "organization.create",
        orgId: row.id,
        target: { kind: "organization", id: row.id },
        after: presentAudit(row),
        result: "done",
      });
      return finish(tx, row);
    }),
  );
}

/** The settings that a change touches; `undefined` leaves one as it is. */
export interface OrganizationChange {
  name?: string | undefined;
  slug?: string | undefined;
  billingEmail?: string | null | undefined;
  vatId?: string | null | undefined;
}

/**
 * Changes settings under the row's lock, so that no concurrent change is lost. `examine` sees the record first and
 * may refuse. Throws 404, 412, 409 already_exists for a taken slug. A change of nothing writes nothing.
 */
export async function updateOrganization(
  deps: Deps,
  origin: Origin,
  target: { orgId: string; ifMatch: string | undefined; change: OrganizationChange },
  examine: (row: OrganizationRow) => void,
): Promise<OrganizationRow> {
  const { orgId, ifMatch, change } = target;
  return refuseTakenSlug(change.slug ?? "", () =>
    deps.db.transaction(async (tx) => {
      const before = await lockOrganization(tx, orgId);
      requireMatch(ifMatch, versionTag(before.version));
      examine(before);
      const after = { ...before, ...withoutUndefined(change) };
      if (isDeepStrictEqual(after, before)) return before;
      const { name, slug, billingEmail, vatId } = after;
      const [row] = await tx
        .update(organizations)
        .set({ name, slug, billingEmail, vatId, version: before.version + 1, updatedAt: sql`now()` })
        .where(eq(organizations.id, orgId))
        .returning();
      if (row === undefined) throw notFound("organization");
      await recordAudit(tx, origin, {
        action: "organization.update",
        orgId,
        target: { kind: "organization", id: orgId },
        before: presentAudit(before),
        after: presentAudit(row),
        result: "done",
      });
      return row;
    }),
  );
}

async function refuseTakenSlug<T>(slug: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (uniqueViolationOf(error) !== "organizations_slug") throw error;
    throw new ApiError("already_exists", `The slug ${slug} is taken.`, {
      details: [{ field: "slug", code: "duplicate", message: "is taken" }],
      cause: error,
    });
  }
}

function withoutUndefined(change: OrganizationChange): Partial<OrganizationRow> {
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
}

async function insertOrganization(tx: Queryable, values: NewOrganization): Promise<OrganizationRow> {
  const [row] = await tx.insert(organizations).values(values).returning();
  if (row === undefined) throw new Error("an insert returned no row");
  return row;
}
