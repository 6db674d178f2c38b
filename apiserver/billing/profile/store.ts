import { eq } from "drizzle-orm";
import type { Queryable } from "../../db/client.ts";
import { organizations } from "../../organizations/index.ts";

/** The part of a profile that only invoices need. */
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
  /** The version of the organization, which rises with every change of the profile too. */
  version: number;
}

/** The profile of an organization, also of a deleted one; undefined when there was never such an organization. */
export async function readProfile(db: Queryable, orgId: string): Promise<BillingProfile | undefined> {
  const { id, version, billingName: name, street, postalCode, city, country } = organizations;
  const { taxNumber, buyerReference: reference, purchaseOrder, vatId, billingEmail } = organizations;
  const address = { name, street, postalCode, city, country, taxNumber, reference, purchaseOrder };
  const [row] = await db
    .select({ orgId: id, ...address, billingEmail, vatId, version })
    .from(organizations)
    .where(eq(organizations.id, orgId));
  return row;
}

/** Sets the part of a profile that only invoices need. */
export async function updateAddress(
  tx: Queryable,
  orgId: string,
  { name: billingName, reference: buyerReference, ...address }: ProfileAddress,
): Promise<void> {
  await tx
    .update(organizations)
    .set({ ...address, billingName, buyerReference })
    .where(eq(organizations.id, orgId));
}
