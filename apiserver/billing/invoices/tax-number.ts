import { isVatId } from "../../http/contract/vat-id.ts";

/** The numbers by which tax authorities know a party. */
export interface TaxNumbers {
  vatId?: string | null | undefined;
  taxNumber?: string | null | undefined;
}

/** The tax number of a party that is no VAT id: the field made for it, or what stands in place of a VAT id without being one. */
export function taxNumberOf({ vatId, taxNumber }: TaxNumbers): string | null {
  if (taxNumber !== null && taxNumber !== undefined) return taxNumber;
  return vatId !== null && vatId !== undefined && !isVatId(vatId) ? vatId : null;
}
