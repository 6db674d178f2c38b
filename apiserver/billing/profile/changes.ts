import { recordAudit } from "../../audit/index.ts";
import type { Queryable } from "../../db/client.ts";
import type { Author } from "../../http/authentication/principal.ts";
import { notFound } from "../../http/errors.ts";
import { requireVatId, updateSettings } from "../../organizations/index.ts";
import { auditProfile } from "./present.ts";
import { type BillingProfile, type ProfileAddress, readProfile, updateAddress } from "./store.ts";

/** Fields that are left out are unchanged. */
export type ProfileChange = Partial<ProfileAddress & Pick<BillingProfile, "vatId" | "billingEmail">>;

/** Changes the profile of an organization, its VAT id and its e-mail address. Throws 422 for a VAT id of no country. */
export async function setProfile(
  tx: Queryable,
  author: Author,
  { orgId, before }: { orgId: string; before: BillingProfile },
  change: ProfileChange,
): Promise<BillingProfile> {
  requireVatId(before.vatId, change.vatId);
  const wanted = { ...before, ...change };
  if (JSON.stringify(auditProfile(before)) === JSON.stringify(auditProfile(wanted))) return before;
  const { vatId, billingEmail, name, street, postalCode, city, country } = wanted;
  const { taxNumber, reference, purchaseOrder } = wanted;
  const { version } = await updateSettings(tx, orgId, { vatId, billingEmail });
  const address = { name, street, postalCode, city, country };
  await updateAddress(tx, orgId, { ...address, taxNumber, reference, purchaseOrder });
  const after = { ...wanted, version };
  await recordAudit(tx, author, {
    action: "billing_profile.update",
    orgId,
    target: { kind: "billing_profile", id: orgId },
    before: auditProfile(before),
    after: auditProfile(after),
    result: "done",
  });
  return after;
}

/** The profile of an organization. Throws 404. */
export async function requireProfile(db: Queryable, orgId: string): Promise<BillingProfile> {
  const profile = await readProfile(db, orgId);
  if (profile === undefined) throw notFound("organization");
  return profile;
}
