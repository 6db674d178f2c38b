import { eq, sql } from "drizzle-orm";
import type { Queryable } from "../../db/client.ts";
import { organizations } from "../../organizations/index.ts";
import { billingProfiles } from "./table.ts";

/** The part of a profile that is stored outside the organization's own row. */
export interface ProfileAddress {
  name: string | null;
  street: string | null;
  postalCode: string | null;
  city: string | null;
  /** ISO 3166-1 alpha-2. */
  country: string | null;
  taxNumber: string | null;
  /** What the customer wants to see on its invoices. */
  reference: string | null;
  purchaseOrder: string | null;
}

/** Who an organization's invoices are for. */
export interface BillingProfile extends ProfileAddress {
  orgId: string;
  billingEmail: string | null;
  vatId: string | null;
  /** That of the organization, which rises with every change of either. */
  version: number;
}

/** The profile of an organization, also of a deleted one; undefined when there was never such an organization. */
export async function readProfile(db: Queryable, orgId: string): Promise<BillingProfile | undefined> {
  const { name, street, postalCode, city, country, taxNumber, reference, purchaseOrder } = billingProfiles;
  const [row] = await db
    .select({
      orgId: organizations.id,
      name,
      street,
      postalCode,
      city,
      country,
      taxNumber,
      reference,
      purchaseOrder,
      billingEmail: organizations.billingEmail,
      vatId: organizations.vatId,
      version: organizations.version,
    })
    .from(organizations)
    .leftJoin(billingProfiles, eq(billingProfiles.orgId, organizations.id))
    .where(eq(organizations.id, orgId));
  return row;
}

/** Sets the part of a profile that is stored outside the organization's own row. */
export async function upsertProfile(tx: Queryable, orgId: string, address: ProfileAddress): Promise<void> {
  const set = { ...address, updatedAt: sql`now()` };
  await tx
    .insert(billingProfiles)
    .values({ orgId, ...set })
    .onConflictDoUpdate({ target: billingProfiles.orgId, set });
}
