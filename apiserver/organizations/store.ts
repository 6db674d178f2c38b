import { and, eq, isNull, sql } from "drizzle-orm";
import { recordAudit } from "../audit/store.ts";
import { prepareOnce, type Queryable } from "../db/client.ts";
import { uniqueViolationOf } from "../db/errors.ts";
import type { Deps } from "../deps.ts";
import { ApiError } from "../http/errors.ts";
import type { Origin } from "../http/principal.ts";
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

const findById = prepareOnce((db) =>
  db
    .select()
    .from(organizations)
    .where(and(eq(organizations.id, sql.placeholder("id")), isNull(organizations.deletedAt)))
    .prepare("find_organization"),
);

/** The organization, unless it is deleted. */
export async function findOrganization(deps: Deps, orgId: string): Promise<OrganizationRow | undefined> {
  const [row] = await findById(deps.db).execute({ id: orgId });
  return row;
}

/**
 * Makes the organization, what `furnish` adds to it (its owner), and the audit row, in one transaction.
 * Throws 409 already_exists for a taken slug.
 */
export async function createOrganization(
  deps: Deps,
  origin: Origin,
  input: NewOrganization,
  furnish: (tx: Queryable, orgId: string) => Promise<void>,
): Promise<OrganizationRow> {
  try {
    return await deps.db.transaction(async (tx) => {
      const row = await insertOrganization(tx, input);
      await furnish(tx, row.id);
      await recordAudit(tx, origin, {
        action: "organization.create",
        orgId: row.id,
        target: { kind: "organization", id: row.id },
        after: { name: row.name, slug: row.slug, billing_email: row.billingEmail, vat_id: row.vatId },
        result: "done",
      });
      return row;
    });
  } catch (error) {
    if (uniqueViolationOf(error) !== "organizations_slug") throw error;
    throw new ApiError("already_exists", `The slug ${input.slug} is taken.`, {
      details: [{ field: "slug", code: "duplicate", message: "is taken" }],
      cause: error,
    });
  }
}

async function insertOrganization(tx: Queryable, values: NewOrganization): Promise<OrganizationRow> {
  const [row] = await tx.insert(organizations).values(values).returning();
  if (row === undefined) throw new Error("an insert returned no row");
  return row;
}
