import { z } from "@hono/zod-openapi";
import { text } from "../../shared/crd/fields.ts";
import { labelsSchema } from "../../shared/crd/labels.ts";
import {
  emailSchema,
  idField,
  immutableField,
  MAX_EMAIL_LENGTH,
  nameField,
  readOnlyField,
  textField,
  timestampField,
  VAT_ID_PATTERN,
} from "../http/contract/fields.ts";
import { replacedLabelsSchema } from "../http/contract/label-selector.ts";
import { pageSchema } from "../http/contract/page.ts";
import { idSchema } from "../http/contract/validate.ts";

export const MAX_SLUG_LENGTH = 40;
export const MIN_SLUG_LENGTH = 3;

const MAX_NAME_LENGTH = 100;
const MAX_VAT_ID_LENGTH = 32;

const nameSchema = nameField(MAX_NAME_LENGTH, "1 to 100 characters; not unique.", "Example Ltd");
const SLUG_MESSAGE = `must be ${MIN_SLUG_LENGTH} to ${MAX_SLUG_LENGTH} lower-case letters and digits with single hyphens between them, as example-ltd`;
const slugSchema = z
  .string()
  .min(MIN_SLUG_LENGTH, { error: SLUG_MESSAGE })
  .max(MAX_SLUG_LENGTH, { error: SLUG_MESSAGE })
  .regex(/^[a-z0-9](-?[a-z0-9])*$/, { error: SLUG_MESSAGE })
  .openapi({
    example: "example-ltd",
    description: "3 to 40 lower-case letters, digits and single hyphens between them. Unique.",
  });
export const billingEmailSchema = emailSchema
  .nullable()
  .openapi({ description: "Where invoices go.", example: "billing@example.com" });
export const VAT_ID_MESSAGE =
  "must have the form of the VAT ids of a country of the European Union, as DE123456789, or of GB, CH or NO; any other number is the tax_number of the billing profile";
const VAT_ID_DESCRIPTION =
  "Of a country of the European Union, the United Kingdom (GB), Switzerland (CH) or Norway (NO): its prefix and number, in capitals; only the form is checked. Another number is the tax_number of the billing profile.";
/** A change may repeat a number of another form that was stored earlier: requireVatId refuses a new one. */
export const vatIdSchema = text(0, MAX_VAT_ID_LENGTH, VAT_ID_DESCRIPTION)
  .regex(VAT_ID_PATTERN, { error: VAT_ID_MESSAGE })
  .nullable()
  .openapi({ example: "DE123456789" });

export const createOrganizationBody = z
  .strictObject({
    name: nameSchema,
    slug: slugSchema.optional(),
    billing_email: billingEmailSchema.optional(),
    vat_id: vatIdSchema.optional(),
    labels: labelsSchema.optional(),
  })
  .openapi("CreateOrganization", { example: { name: "Example Ltd", slug: "example-ltd" } });

/** Omitted fields are unchanged. What a GET returns may be sent back. */
export const updateOrganizationBody = z
  .strictObject({
    name: nameSchema.optional(),
    slug: slugSchema.optional(),
    billing_email: billingEmailSchema.optional(),
    vat_id: vatIdSchema.optional(),
    labels: replacedLabelsSchema.optional(),
    id: immutableField(idSchema),
    plan: immutableField(z.string().max(32)),
    created_at: readOnlyField,
    updated_at: readOnlyField,
  })
  .openapi("UpdateOrganization", { example: { name: "Example Ltd", billing_email: null } });

export const organizationRecord = z
  .object({
    id: idField("The organization."),
    name: textField(MAX_NAME_LENGTH, "Display name."),
    slug: textField(MAX_SLUG_LENGTH, "Unique name for URLs and commands."),
    billing_email: textField(MAX_EMAIL_LENGTH, "Where invoices go.").nullable(),
    vat_id: textField(MAX_VAT_ID_LENGTH, "The organization's VAT identification number.").nullable(),
    labels: labelsSchema,
    plan: textField(40, "Always `starter`; it has nothing to do with the plan of a cluster."),
    created_at: timestampField("When the organization was created."),
    updated_at: timestampField("When a setting was last changed."),
  })
  .openapi("Organization", {
    example: {
      id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11",
      name: "Example Ltd",
      slug: "example-ltd",
      billing_email: null,
      vat_id: null,
      labels: { department: "research" },
      plan: "starter",
      created_at: "2026-11-21T09:00:00.000Z",
      updated_at: "2026-11-21T09:00:00.000Z",
    },
  });

export const organizationPage = pageSchema(organizationRecord, "OrganizationPage");
