import { and, eq, inArray, isNull, sql } from "drizzle-orm";
import { AUDIT_OF_CHANGED, recordAudit, toAuditValues } from "../audit/store.ts";
import type { Database, Queryable } from "../db/client.ts";
import { uniqueViolationOf } from "../db/errors.ts";
import type { Deps } from "../deps.ts";
import type { OrganizationRecord, Origin } from "../http/authentication/principal.ts";
import { requireMatch, versionTag } from "../http/contract/etag.ts";
import { ApiError, notFound } from "../http/errors.ts";
import { presentAudit } from "./schema.ts";
import { type OrganizationRow, organizations } from "./table.ts";

export { ensureNamespace, namespaceJobs, organizationNamespace } from "./namespace.ts";
export { readQuotas } from "./read-quotas.ts";
export { type PresentedOrganization, presentedColumns, recordColumns } from "./schema.ts";
export { type OrganizationRow, organizations } from "./table.ts";

export interface NewOrganization {
  id: string;
  name: string;
  slug: string;
  billingEmail: string | null;
  vatId: string | null;
}

/** The organization, unless it is deleted. */
export async function findOrganization(deps: Deps, orgId: string): Promise<OrganizationRow | undefined> {
  const [row] = await deps.db
    .select()
    .from(organizations)
    .where(and(eq(organizations.id, orgId), isNull(organizations.deletedAt)));
  return row;
}

/** Which of these organizations there are, or were: deleted ones too. */
export async function findKnownOrganizations(db: Queryable, orgIds: readonly string[]): Promise<Set<string>> {
  const rows = await db
    .select({ id: organizations.id })
    .from(organizations)
    .where(inArray(organizations.id, [...new Set(orgIds)]));
  return new Set(rows.map(({ id }) => id));
}

/** How long a deletion holds the organization shut; one that takes longer has died, and another may begin. */
export const DELETION_LEASE = sql`interval '60 seconds'`;
const isDeleting = sql<boolean>`coalesce(${organizations.deletingAt} > now() - ${DELETION_LEASE}, false)`;

/**
 * Takes the organization's row lock for a change inside it, until the transaction ends. Throws 404 when it is deleted,
 * 409 conflict while it is being deleted.
 */
export async function lockOrganization(tx: Queryable, orgId: string): Promise<OrganizationRow> {
  const [found] = await tx
    .select({
      row: organizations,
      isDeleting,
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

const SETTINGS = ["name", "slug", "billingEmail", "vatId"] as const;

/** The settings that a change touches; `undefined` leaves one as it is. */
export interface OrganizationChange {
  name?: string | undefined;
  slug?: string | undefined;
  billingEmail?: string | null | undefined;
  vatId?: string | null | undefined;
}

/** Writes the settings and the audit row in one statement, if the record still has the version that was read. */
const prepareChange = (db: Pick<Database, "$with" | "with" | "update">) => {
  const changed = db.$with("changed").as(
    db
      .update(organizations)
      .set({
        name: sql`${sql.placeholder("name")}`,
        slug: sql`${sql.placeholder("slug")}`,
        billingEmail: sql`${sql.placeholder("billingEmail")}`,
        vatId: sql`${sql.placeholder("vatId")}`,
        version: sql`${organizations.version} + 1`,
        updatedAt: sql`now()`,
      })
      .where(
        and(
          eq(organizations.id, sql.placeholder("id")),
          eq(organizations.version, sql.placeholder("version")),
          isNull(organizations.deletedAt),
          sql`not ${isDeleting}`,
        ),
      )
      .returning(),
  );
  const audited = db.$with("audited", {}).as(AUDIT_OF_CHANGED);
  return db.with(changed, audited).select().from(changed).prepare("change_organization");
};

/**
 * Changes settings on the very version that was read, so that no concurrent change is lost: at first without a lock,
 * and when another change came in between, under it. `examine` sees the record before and may refuse. Throws 404, 412,
 * 409 already_exists for a taken slug. A change of nothing writes nothing.
 */
export async function updateOrganization(
  deps: Deps,
  origin: Origin,
  target: { read: OrganizationRecord; ifMatch: string | undefined; change: OrganizationChange },
  examine: (row: OrganizationRecord) => void,
): Promise<OrganizationRecord> {
  const { read, ifMatch, change } = target;
  const decide = async (
    before: OrganizationRecord,
    write: (values: ReturnType<typeof toChangeValues>) => Promise<OrganizationRow[]>,
  ): Promise<OrganizationRecord | undefined> => {
    requireMatch(ifMatch, versionTag(before.version));
    examine(before);
    const after = { ...before, ...withoutUndefined(change) };
    if (isSameSettings(before, after)) return before;
    const [row] = await write(toChangeValues(origin, before, after));
    return row;
  };
  return refuseTakenSlug(change.slug ?? "", async () => {
    const done =
      read.deletingAt === null
        ? await decide(read, (values) => prepareChange(deps.db).execute(values))
        : undefined;
    if (done !== undefined) return done;
    return deps.db.transaction(async (tx) => {
      const row = await decide(await lockOrganization(tx, read.id), (values) =>
        prepareChange(tx).execute(values),
      );
      if (row === undefined) throw notFound("organization");
      return row;
    });
  });
}

function isSameSettings(one: OrganizationRecord, other: OrganizationRecord): boolean {
  return SETTINGS.every((name) => one[name] === other[name]);
}

function toChangeValues(origin: Origin, before: OrganizationRecord, after: OrganizationRecord) {
  const { id, version } = before;
  const { name, slug, billingEmail, vatId } = after;
  const audit = toAuditValues(origin, {
    action: "organization.update",
    orgId: id,
    target: { kind: "organization", id },
    before: presentAudit(before),
    after: presentAudit(after),
    result: "done",
  });
  return { id, version, name, slug, billingEmail, vatId, ...audit };
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

function withoutUndefined(change: OrganizationChange): Partial<OrganizationRecord> {
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
}

async function insertOrganization(tx: Queryable, values: NewOrganization): Promise<OrganizationRow> {
  const [row] = await tx.insert(organizations).values(values).returning();
  if (row === undefined) throw new Error("an insert returned no row");
  return row;
}
