import { whereAlpha2 } from "iso-3166-1";
import { expect, test } from "vitest";
import { CODE_LISTS, findUnofficialCode } from "./code-lists.ts";
import { aLine, anInvoice } from "./testing/documents.ts";
import { VAT_CASES } from "./vat.ts";
import { composeDocument } from "./xml.ts";

const compose = (vatCase: (typeof VAT_CASES)[number], country = "DE") => {
  const invoice = anInvoice(100n, { vatCase, country, vatBasisPoints: 1900, vatCents: 19n });
  const bank = { iban: "DE89370400440532013000" };
  return composeDocument({ ...invoice, supplier: { ...invoice.supplier, bank } }, [aLine()]);
};

test.each(VAT_CASES)("an invoice %s has codes of the official lists alone", (vatCase) => {
  expect(findUnofficialCode(compose(vatCase))).toBeUndefined();
});

test.each([
  ["a country", { "ram:CountryID": "EL" }, "/ram:CountryID"],
  ["a currency", { "ram:InvoiceCurrencyCode": "EURO" }, "/ram:InvoiceCurrencyCode"],
  ["the currency of an amount", { "ram:TaxTotalAmount": { "@_currencyID": "DEM" } }, "@_currencyID"],
  ["a unit", { "ram:BilledQuantity": { "@_unitCode": "piece", "#text": "1" } }, "@_unitCode"],
  ["a VAT category", { "ram:CategoryCode": "X" }, "/ram:CategoryCode"],
  ["an exemption reason", { "ram:ExemptionReasonCode": "VATEX-EU-X" }, "/ram:ExemptionReasonCode"],
  ["a type of document", { "rsm:ExchangedDocument": { "ram:TypeCode": "58" } }, "/ram:TypeCode"],
  [
    "a means of payment",
    { "ram:SpecifiedTradeSettlementPaymentMeans": { "ram:TypeCode": "380" } },
    "/ram:TypeCode",
  ],
  ["a tax that is no VAT", { "ram:ApplicableTradeTax": { "ram:TypeCode": "GST" } }, "/ram:TypeCode"],
  ["a kind of address", { "ram:URIID": { "@_schemeID": "MAIL", "#text": "a" } }, "@_schemeID"],
  ["a kind of tax number", { "ram:ID": { "@_schemeID": "XX", "#text": "a" } }, "@_schemeID"],
  ["a format of days", { "udt:DateTimeString": { "@_format": "203" } }, "@_format"],
  ["a coded field without a list", { "ram:ReasonCode": "95" }, "/ram:ReasonCode"],
  ["one of many lines", { lines: [{ "ram:CategoryCode": "S" }, { "ram:CategoryCode": "s" }] }, "lines/ram"],
])("%s that is not in its list is refused, and named", (_what, document, place) => {
  expect(findUnofficialCode(document)).toContain(place);
});

test("every country that a profile may have is in the official list", () => {
  const letters = Array.from({ length: 26 }, (_, n) => String.fromCharCode(65 + n));
  const members = letters
    .flatMap((a) => letters.map((b) => a + b))
    .filter((code) => whereAlpha2(code) !== undefined);
  expect(members.filter((code) => !CODE_LISTS.country.codes.has(code))).toEqual([]);
});
