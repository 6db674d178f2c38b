import { isVatId } from "../../http/contract/fields.ts";
import { type Buyer, taxNumberOf } from "./document-columns.ts";
import type { Invoice } from "./store.ts";

/**
 * BG-4: its VAT id is BT-31, another tax number BT-32. Where no VAT id may stand (BR-O-02) or there is none, its number
 * is its identifier (BR-CO-26).
 */
export function toSeller(party: Invoice["supplier"], isTaxed: boolean) {
  const [vatId, taxNumber] = [vatIdOf(party), taxNumberOf(party)];
  const registrations = [
    ...(isTaxed && vatId !== null ? [toRegistration("VA", vatId)] : []),
    ...(taxNumber === null ? [] : [toRegistration("FC", taxNumber)]),
  ];
  const identifier = isTaxed && vatId !== null ? null : (vatId ?? taxNumber);
  return toParty(party, { identifier, registrations });
}

/**
 * BG-7: its VAT id is BT-48, unless nothing is subject to VAT (BR-O-02). EN 16931 has no field for another tax number
 * of a buyer but the identifier (BT-46).
 */
export function toBuyer(party: Buyer, isTaxed: boolean) {
  const vatId = isTaxed ? vatIdOf(party) : null;
  const registrations = vatId === null ? [] : [toRegistration("VA", vatId)];
  return toParty(party, { identifier: taxNumberOf(party), registrations });
}

function toParty(
  party: Omit<Buyer, "vatId" | "taxNumber">,
  { identifier, registrations }: { identifier: string | null; registrations: readonly object[] },
) {
  return {
    ...(identifier !== null && { "ram:ID": identifier }),
    "ram:Name": party.name,
    "ram:PostalTradeAddress": {
      ...(party.postalCode !== null && { "ram:PostcodeCode": party.postalCode }),
      ...(party.street !== null && { "ram:LineOne": party.street }),
      ...(party.city !== null && { "ram:CityName": party.city }),
      "ram:CountryID": party.country,
    },
    ...(party.email !== null && {
      "ram:URIUniversalCommunication": { "ram:URIID": { "@_schemeID": "EM", "#text": party.email } },
    }),
    ...(registrations.length > 0 && { "ram:SpecifiedTaxRegistration": registrations }),
  };
}

function toRegistration(scheme: "VA" | "FC", number: string) {
  return { "ram:ID": { "@_schemeID": scheme, "#text": number } };
}

/** The VAT id of a party; null for a number of another form. */
function vatIdOf({ vatId }: { vatId?: string | null | undefined }): string | null {
  return isGiven(vatId) && isVatId(vatId) ? vatId : null;
}

/** Whether an optional text is there. */
export function isGiven(text: string | null | undefined): text is string {
  return text !== null && text !== undefined;
}
