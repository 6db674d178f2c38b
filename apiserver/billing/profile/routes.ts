import type { Deps } from "../../deps.ts";
import { addRoute } from "../../http/contract/add-route.ts";
import { isNotModified, versionTag } from "../../http/contract/etag.ts";
import type { Router } from "../../http/contract/router.ts";
import { requireProfile, setProfile } from "./changes.ts";
import { presentProfile } from "./present.ts";
import { billingProfileRecord, setBillingProfileBody } from "./schema.ts";

const tag = "Billing";
const RECORD = "/api/v1/organizations/{orgID}/billing/profile";

/** Operations on who an organization's invoices are for. */
export function addProfileRoutes(router: Router<Deps>): void {
  addRoute(
    router,
    {
      method: "get",
      path: RECORD,
      operationId: "getBillingProfile",
      tag,
      summary: "Get the billing profile",
      access: "billing:read",
      responses: {
        200: { description: "Who invoices are for.", body: billingProfileRecord, headers: ["ETag"] },
        304: { description: "Unchanged since the version in If-None-Match." },
      },
    },
    async (c, { deps, orgId }) => {
      const profile = await requireProfile(deps.db, orgId);
      const etag = versionTag(profile.version);
      if (isNotModified(c.req.header("if-none-match"), etag)) return c.body(null, 304, { ETag: etag });
      return c.json(presentProfile(profile), 200, { ETag: etag });
    },
  );

  addRoute(
    router,
    {
      method: "put",
      path: RECORD,
      operationId: "setBillingProfile",
      tag,
      summary: "Update the billing profile",
      description:
        "Partial: omitted fields are unchanged, null clears one. vat_id and billing_email are those of the organization.",
      access: "organization:update_billing",
      body: setBillingProfileBody,
      responses: {
        200: { description: "Who invoices are for.", body: billingProfileRecord, headers: ["ETag"] },
      },
      errors: ["conflict", "precondition_failed"],
    },
    async (c, { orgId, author, readBody, change }) => {
      const {
        org_id: _fixed,
        postal_code: postalCode,
        vat_id: vatId,
        tax_number: taxNumber,
        buyer_reference: reference,
        purchase_order: purchaseOrder,
        billing_email: billingEmail,
        ...rest
      } = await readBody();
      const given = { ...rest, postalCode, vatId, taxNumber, reference, purchaseOrder, billingEmail };
      const settings = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
      const profile = await change({
        // Under the organization's row lock, as every change of it.
        lock: (tx) => requireProfile(tx, orgId),
        tag: ({ version }) => versionTag(version),
        immutable: () => ({ org_id: orgId }),
        apply: (tx, before) => setProfile(tx, author, { orgId, before }, settings),
      });
      return c.json(presentProfile(profile), 200, { ETag: versionTag(profile.version) });
    },
  );
}
