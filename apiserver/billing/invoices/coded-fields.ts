import { CODE_LISTS, type CodeList } from "./code-lists.ts";

/** The elements and attributes with codes, by the element that they stand in where the list depends on it. */
const LISTS: Readonly<Record<string, CodeList>> = {
  "rsm:ExchangedDocument/ram:TypeCode": "documentType",
  "ram:SpecifiedTradeSettlementPaymentMeans/ram:TypeCode": "paymentMeans",
  "ram:URIID/@_schemeID": "electronicAddress",
  "ram:InvoiceCurrencyCode": "currency",
  "@_currencyID": "currency",
  "ram:CountryID": "country",
  "ram:CategoryCode": "vatCategory",
  "ram:ExemptionReasonCode": "exemptionReason",
  "@_unitCode": "unit",
};

/** Codes that the syntax fixes: the tax is VAT, a tax registration is one of VAT or another one, a day is YYYYMMDD. */
const FIXED: Readonly<Record<string, readonly string[]>> = {
  "ram:ApplicableTradeTax/ram:TypeCode": ["VAT"],
  "ram:ID/@_schemeID": ["VA", "FC"],
  "@_format": ["102"],
};

/** Its name ends as that of a code does. */
const NO_CODES = new Set(["ram:PostcodeCode"]);

/**
 * Throws unless every coded field of an electronic invoice is in its official code list; a coded field that has none here is
 * such a fault too.
 * @param document as fast-xml-builder takes it
 */
export function requireOfficialCodes(document: object): void {
  checkObject(document, "");
}

function checkObject(value: object, parent: string): void {
  for (const [name, own] of Object.entries(value))
    for (const one of Array.isArray(own) ? own : [own]) {
      if (typeof one === "object" && one !== null) checkObject(one, name);
      if (isCoded(name)) checkCode(parent, name, textOf(one));
    }
}

function isCoded(name: string): boolean {
  if (NO_CODES.has(name)) return false;
  return name === "ram:CountryID" || /(?:Code|@_schemeID|@_currencyID|@_format)$/.test(name);
}

function checkCode(parent: string, name: string, code: string): void {
  const place = `${parent}/${name}`;
  const fixed = FIXED[place] ?? FIXED[name];
  const list = LISTS[place] ?? LISTS[name];
  if (fixed?.includes(code) === true || (list !== undefined && CODE_LISTS[list].codes.has(code))) return;
  throw new Error(`${place} has the code ${JSON.stringify(code)}, which is not in its official list`);
}

function textOf(value: unknown): string {
  return typeof value === "object" && value !== null && "#text" in value
    ? String(value["#text"])
    : String(value);
}
