import { z } from "@hono/zod-openapi";
import { pageSchema } from "../http/page.ts";
import type { OrganizationRow } from "./table.ts";

export const MAX_SLUG_LENGTH = 40;
export const MIN_SLUG_LENGTH = 3;

const nameSchema = z.string().min(1).max(100).openapi({ example: "Example Ltd" });
const slugSchema = z
  .string()
  .min(MIN_SLUG_LENGTH)
  .max(MAX_SLUG_LENGTH)
  .regex(/^[a-z0-9](-?[a-z0-9])*$/)
  .openapi({ example: "example-ltd" });
const billingEmailSchema = z.email().max(254).nullable();
const vatIdSchema = z.string().min(1).max(32).nullable();

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
    id: z.guid(),
    name: z.string(),
    slug: z.string(),
    billing_email: z.string().nullable(),
    vat_id: z.string().nullable(),
    plan: z.string().openapi({ description: "Always `starter`." }),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
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
