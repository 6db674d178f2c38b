import type { z } from "@hono/zod-openapi";
import type { billingProfileRecord } from "./schema.ts";
import type { BillingProfile } from "./store.ts";

/** The wire form of a profile. */
export function presentProfile(profile: BillingProfile): z.output<typeof billingProfileRecord> {
  return { org_id: profile.orgId, ...auditProfile(profile) };
}

/** The fields of a profile that the audit log keeps. */
export function auditProfile(profile: BillingProfile) {
  return {
    name: profile.name,
    street: profile.street,
    postal_code: profile.postalCode,
    city: profile.city,
    country: profile.country,
    vat_id: profile.vatId,
    tax_number: profile.taxNumber,
    buyer_reference: profile.reference,
    purchase_order: profile.purchaseOrder,
    billing_email: profile.billingEmail,
  };
}
