import { z } from "@hono/zod-openapi";
import type { OrganizationRecord } from "../http/authentication/principal.ts";
import { idField, textField, timestampField } from "../http/contract/fields.ts";
import { observedField } from "../http/contract/immutable-fields.ts";
import { pageSchema } from "../http/contract/page.ts";
import { idSchema } from "../http/contract/validate.ts";
import { type OrganizationRow, organizations } from "./table.ts";
import { VAT_ID_PATTERN } from "./vat-id.ts";

export const MAX_SLUG_LENGTH = 40;
export const MIN_SLUG_LENGTH = 3;

const MAX_NAME_LENGTH = 100;
const MAX_EMAIL_LENGTH = 254;
const MAX_VAT_ID_LENGTH = 32;

const nameSchema = z
  .string()
  .min(1)
  .max(MAX_NAME_LENGTH)
  .openapi({ example: "Example Ltd", description: "1 to 100 characters; not unique." });
const slugSchema = z
  .string()
  .min(MIN_SLUG_LENGTH)
  .max(MAX_SLUG_LENGTH)
  .regex(/^[a-z0-9](-?[a-z0-9])*$/)
  .openapi({
    example: "example-ltd",
    description: "3 to 40 lower-case letters, digits and single hyphens between them. Unique.",
  });
const billingEmailSchema = z
  .email()
  .max(MAX_EMAIL_LENGTH)
  .nullable()
  .openapi({ description: "Where invoices go.", example: "billing@example.com" });
const vatIdSchema = z.string().max(MAX_VAT_ID_LENGTH).regex(VAT_ID_PATTERN).nullable().openapi({
  example: "DE123456789",
  description: "In the form of its country, without spaces and in capitals. Only the form is checked.",
});

export const createOrganizationSchema = z
  .strictObject({
    name: nameSchema,
    slug: slugSchema.optional(),
    billing_email: billingEmailSchema.optional(),
    vat_id: vatIdSchema.optional(),
  })
  .openapi("CreateOrganization", { example: { name: "Example Ltd", slug: "example-ltd" } });

/** Omitted fields stay as they are. What a GET returns may be sent back. */
export const updateOrganizationSchema = z
  .strictObject({
    name: nameSchema.optional(),
    slug: slugSchema.optional(),
    billing_email: billingEmailSchema.optional(),
    vat_id: vatIdSchema.optional(),
    id: idSchema.optional().openapi({ description: "Fixed: only the present value is accepted." }),
    plan: z
      .string()
      .max(32)
      .optional()
      .openapi({ description: "Fixed: only the present value is accepted." }),
    created_at: observedField,
    updated_at: observedField,
  })
  .openapi("UpdateOrganization", { example: { name: "Example Ltd", billing_email: null } });

export type UpdateOrganization = z.output<typeof updateOrganizationSchema>;
export type CreateOrganization = z.output<typeof createOrganizationSchema>;

export const organizationSchema = z
  .object({
    id: idField("The organization."),
    name: textField(MAX_NAME_LENGTH, "Name shown to people."),
    slug: textField(MAX_SLUG_LENGTH, "Unique name for addresses and commands."),
    billing_email: textField(MAX_EMAIL_LENGTH, "Where invoices go.").nullable(),
    vat_id: textField(MAX_VAT_ID_LENGTH, "The organization's VAT identification number.").nullable(),
    plan: textField(40, "Always `starter`; it has nothing to do with the plan of a cluster."),
    created_at: timestampField("When the organization was created."),
    updated_at: timestampField("When it was changed last."),
  })
  .openapi("Organization", {
    example: {
      id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11",
      name: "Example Ltd",
      slug: "example-ltd",
      billing_email: null,
      vat_id: null,
      plan: "starter",
      created_at: "2026-11-21T09:00:00.000Z",
      updated_at: "2026-11-21T09:00:00.000Z",
    },
  });

export const organizationPageSchema = pageSchema(organizationSchema, "OrganizationPage");

/** The fields of an organization that the audit log holds. */
export function presentAudit(row: OrganizationRecord) {
  return { name: row.name, slug: row.slug, billing_email: row.billingEmail, vat_id: row.vatId };
}

/** What the wire form of an organization is made of. */
export const presentedColumns = {
  id: organizations.id,
  name: organizations.name,
  slug: organizations.slug,
  billingEmail: organizations.billingEmail,
  vatId: organizations.vatId,
  plan: organizations.plan,
  createdAt: organizations.createdAt,
  updatedAt: organizations.updatedAt,
};
/** The same, and what a change of it has to know. */
export const recordColumns = {
  ...presentedColumns,
  version: organizations.version,
  deletingAt: organizations.deletingAt,
};
export type PresentedOrganization = Pick<OrganizationRow, keyof typeof presentedColumns>;

/** The wire form of an organization. */
export function presentOrganization(row: PresentedOrganization): z.output<typeof organizationSchema> {
  return {
    id: row.id,
    name: row.name,
    slug: row.slug,
    billing_email: row.billingEmail,
    vat_id: row.vatId,
    plan: row.plan,
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
  };
}
