import { z } from "@hono/zod-openapi";
import {
  idField,
  immutableField,
  MAX_EMAIL_LENGTH,
  nameField,
  textField,
} from "../../http/contract/fields.ts";
import { idSchema } from "../../http/contract/validate.ts";
import { billingEmailSchema, vatIdSchema } from "../../organizations/index.ts";
import { findCountryFault } from "../country.ts";

const MAX_LENGTH = 200;
const MAX_VAT_ID_LENGTH = 32;
/** One line of the page, as a VAT id. */
const MAX_TAX_NUMBER_LENGTH = 32;
const MAX_REFERENCE_LENGTH = 100;

const DESCRIPTIONS = {
  name: "The legal name; without it and a country no invoice is issued.",
  street: "Street and number.",
  postal_code: "Postal code.",
  city: "City.",
  tax_number: "A tax number that is no VAT identification number.",
  buyer_reference: "What the customer wants to see on its invoices, as a cost centre (EN 16931, BT-10).",
  purchase_order: "The number of the customer's purchase order, which later invoices say (EN 16931, BT-13).",
  country: "ISO 3166-1 alpha-2: GR for Greece, GB for the United Kingdom.",
};

const EXAMPLE = {
  name: "Example Ltd",
  street: "Main Street 1",
  postal_code: "10115",
  city: "Berlin",
  country: "DE",
  vat_id: "DE123456789",
  tax_number: null,
  buyer_reference: "Department 7",
  purchase_order: "PO-2026-1234",
  billing_email: "billing@example.com",
};

export const billingProfileRecord = z
  .object({
    org_id: idField("The organization."),
    name: textField(MAX_LENGTH, DESCRIPTIONS.name).nullable(),
    street: textField(MAX_LENGTH, DESCRIPTIONS.street).nullable(),
    postal_code: textField(MAX_LENGTH, DESCRIPTIONS.postal_code).nullable(),
    city: textField(MAX_LENGTH, DESCRIPTIONS.city).nullable(),
    country: textField(2, DESCRIPTIONS.country).nullable(),
    vat_id: textField(MAX_VAT_ID_LENGTH, "The organization's VAT identification number.").nullable(),
    tax_number: textField(MAX_TAX_NUMBER_LENGTH, DESCRIPTIONS.tax_number).nullable(),
    buyer_reference: textField(MAX_REFERENCE_LENGTH, DESCRIPTIONS.buyer_reference).nullable(),
    purchase_order: textField(MAX_REFERENCE_LENGTH, DESCRIPTIONS.purchase_order).nullable(),
    billing_email: textField(MAX_EMAIL_LENGTH, "Where invoices go.").nullable(),
  })
  .openapi("BillingProfile", {
    example: { org_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11", ...EXAMPLE },
  });

/** Omitted fields are unchanged. What a GET returns may be sent back. */
export const setBillingProfileBody = z
  .strictObject({
    name: nameField(MAX_LENGTH, DESCRIPTIONS.name, EXAMPLE.name).nullable().optional(),
    street: nameField(MAX_LENGTH, DESCRIPTIONS.street, EXAMPLE.street).nullable().optional(),
    postal_code: nameField(MAX_LENGTH, DESCRIPTIONS.postal_code, EXAMPLE.postal_code).nullable().optional(),
    city: nameField(MAX_LENGTH, DESCRIPTIONS.city, EXAMPLE.city).nullable().optional(),
    country: z
      .string()
      .max(2)
      .superRefine((code, context) => {
        const message = findCountryFault(code);
        if (message === undefined) return;
        context.addIssue({ code: "custom", message, params: { code: "invalid_format" } });
      })
      .nullable()
      .optional()
      .openapi({ pattern: "^[A-Z]{2}$", description: DESCRIPTIONS.country, example: EXAMPLE.country }),
    vat_id: vatIdSchema.optional(),
    tax_number: nameField(MAX_TAX_NUMBER_LENGTH, DESCRIPTIONS.tax_number).nullable().optional(),
    buyer_reference: nameField(MAX_REFERENCE_LENGTH, DESCRIPTIONS.buyer_reference, EXAMPLE.buyer_reference)
      .nullable()
      .optional(),
    purchase_order: nameField(MAX_REFERENCE_LENGTH, DESCRIPTIONS.purchase_order, EXAMPLE.purchase_order)
      .nullable()
      .optional(),
    billing_email: billingEmailSchema.optional(),
    org_id: immutableField(idSchema),
  })
  .openapi("SetBillingProfile", { example: EXAMPLE });
