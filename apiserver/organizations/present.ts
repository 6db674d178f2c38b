import type { z } from "@hono/zod-openapi";
import type { organizationRecord } from "./schema.ts";
import type { OrganizationRow } from "./table.ts";

/** The wire form of an organization. */
export function presentOrganization(row: OrganizationRow): z.output<typeof organizationRecord> {
  return {
    id: row.id,
    name: row.name,
    slug: row.slug,
    billing_email: row.billingEmail,
    vat_id: row.vatId,
    labels: row.labels,
    plan: row.plan,
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
  };
}

/** The fields of an organization that the audit log keeps. */
export function auditOrganization(row: OrganizationRow) {
  const { name, slug, billing_email, vat_id, labels } = presentOrganization(row);
  return { name, slug, billing_email, vat_id, labels };
}
