import type { Deps } from "../../deps.ts";
import { addRoute } from "../../http/contract/add-route.ts";
import { isNotModified, readPreconditions, versionTag } from "../../http/contract/etag.ts";
import { requireUnchanged } from "../../http/contract/fields.ts";
import type { Router } from "../../http/contract/router.ts";
import { requireProfile, setProfile } from "./changes.ts";
import { presentProfile } from "./present.ts";
import { billingProfileRecord, setBillingProfileBody } from "./schema.ts";

const tag = "Billing";
const RECORD = "/api/v1/organizations/{orgID}/billing/profile";

/** Operations on who an organization's invoices are for. */
export function addProfileRoutes(router: Router, deps: Deps): void {
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
    async (c, { orgId }) => {
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
    async (c, { orgId, origin, readBody }) => {
      const {
        org_id,
        postal_code: postalCode,
        vat_id: vatId,
        billing_email: billingEmail,
        ...rest
      } = await readBody();
      requireUnchanged({ org_id: orgId }, { org_id });
      const given = { ...rest, postalCode, vatId, billingEmail };
      const change = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
      const target = { orgId, preconditions: readPreconditions(c) };
      const profile = await deps.db.transaction((tx) => setProfile(tx, origin, target, change));
      return c.json(presentProfile(profile), 200, { ETag: versionTag(profile.version) });
    },
  );
}
