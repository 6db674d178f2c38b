import { z } from "@hono/zod-openapi";
import { idField, textField, timestampField } from "../http/fields.ts";
import { pageSchema } from "../http/page.ts";
import type { OrganizationRow } from "./table.ts";

export const MAX_SLUG_LENGTH = 40;
export const MIN_SLUG_LENGTH = 3;

const MAX_NAME_LENGTH = 100;
const MAX_EMAIL_LENGTH = 254;
const MAX_VAT_ID_LENGTH = 32;

const nameSchema = z
  .string()
  .min(1)
  .max(MAX_NAME_LENGTH)
  .openapi({ description: "Name shown to people.", example: "Example Ltd" });
const slugSchema = z
  .string()
  .min(MIN_SLUG_LENGTH)
  .max(MAX_SLUG_LENGTH)
  .regex(/^[a-z0-9](-?[a-z0-9])*$/)
  .openapi({ example: "example-ltd" });
const billingEmailSchema = z
  .email()
  .max(MAX_EMAIL_LENGTH)
  .nullable()
  .openapi({ description: "Where invoices go.", example: "billing@example.com" });
const vatIdSchema = z
  .string()
  .min(1)
  .max(MAX_VAT_ID_LENGTH)
  .nullable()
  .openapi({ description: "The organization's VAT identification number.", example: "DE123456789" });

export const createOrganizationSchema = z
  .strictObject({
    name: nameSchema,
    slug: slugSchema.optional().openapi({ description: "Unique; made from the name when absent." }),
    billing_email: billingEmailSchema.optional(),
    vat_id: vatIdSchema.optional(),
  })
  .openapi("CreateOrganization", { example: { name: "Example Ltd", slug: "example-ltd" } });

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

/** The wire form of an organization. */
export function presentOrganization(row: OrganizationRow): z.output<typeof organizationSchema> {
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
