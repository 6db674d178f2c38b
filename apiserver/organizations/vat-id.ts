import { isVatId } from "../http/contract/fields.ts";
import { invalidField } from "../http/errors.ts";
import { VAT_ID_MESSAGE } from "./schema.ts";

/** Throws 422 for a changed VAT id that has the form of no country; undefined and null are none. */
export function requireVatId(before: string | null, after: string | null | undefined): void {
  if (after === undefined || after === null || after === before || isVatId(after)) return;
  throw invalidField("vat_id", "invalid_format", VAT_ID_MESSAGE);
}
