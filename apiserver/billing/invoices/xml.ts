import Builder from "fast-xml-builder";
import { isVatId } from "../../http/contract/fields.ts";
import { formatCents } from "../money.ts";
import { monthOfPeriod } from "../month.ts";
import type { InvoiceLine } from "./compose.ts";
import { type Buyer, taxNumberOf } from "./document-columns.ts";
import type { Invoice } from "./store.ts";
import { exemptionReasonOf, type VatCase } from "./vat.ts";

/** The media type of the electronic invoice. */
export const XML = "application/xml";

const NAMESPACES = {
  "@_xmlns:rsm": "urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100",
  "@_xmlns:ram": "urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100",
  "@_xmlns:udt": "urn:un:unece:uncefact:data:standard:UnqualifiedDataType:100",
};
/** BT-24: the core invoice, without any country's or sector's rules. */
const SPECIFICATION = "urn:cen.eu:en16931:2017";
/** BT-3: a commercial invoice (UNTDID 1001). */
const COMMERCIAL_INVOICE = "380";
/** BT-81 (UNTDID 4461). */
const SEPA_CREDIT_TRANSFER = "58";
/** BT-130: one of anything (UN/ECE recommendation 20). */
const ONE = "C62";

/** VAT categories of UNTDID 5305. */
const CATEGORIES: Readonly<Record<VatCase, string>> = {
  domestic: "S",
  eu_consumer: "S",
  reverse_charge: "AE",
  outside_eu: "O",
};
const NOT_SUBJECT = "O";

/** BT-121: why there is no VAT, as VATEX has it. */
const REASON_CODES: Readonly<Partial<Record<VatCase, string>>> = {
  reverse_charge: "VATEX-EU-AE",
  outside_eu: "VATEX-EU-O",
};

const LINE_ITEM = "ram:IncludedSupplyChainTradeLineItem";

interface Tax {
  code: string;
  reason?: string;
  reasonCode?: string;
  /** In percent; none for what is not subject to VAT (BR-O-05). */
  percent: string | undefined;
}

/**
 * An invoice in the syntax Cross Industry Invoice (D16B) of EN 16931-1; BT and BG in comments are its terms, BR its
 * rules. It says what the stored invoice says and calculates nothing.
 */
export function toInvoiceXml(invoice: Invoice, lines: readonly InvoiceLine[]): string {
  return builder.build(composeDocument(invoice, lines));
}

/** Writes the document in parts, of lines that are read page by page. */
export async function* toXmlTexts(
  invoice: Invoice,
  pages: AsyncIterable<readonly InvoiceLine[]>,
): AsyncGenerator<string> {
  const around = toInvoiceXml(invoice, []);
  // Texts have no `<`: the element that follows the lines begins there and nowhere before.
  const end = around.indexOf("<ram:ApplicableHeaderTradeAgreement>");
  yield around.slice(0, end);
  const tax = toTax(invoice);
  let position = 0;
  for await (const lines of pages) {
    const items = lines.map((line) => toLine(line, ++position, tax));
    yield builder.build({ [LINE_ITEM]: items });
  }
  yield around.slice(end);
}

/** The elements of that invoice, as fast-xml-builder takes them. */
export function composeDocument(invoice: Invoice, lines: readonly InvoiceLine[]): object {
  const tax = toTax(invoice);
  const { reference, purchaseOrder } = invoice.buyer;
  return {
    "?xml": { "@_version": "1.0", "@_encoding": "UTF-8" },
    "rsm:CrossIndustryInvoice": {
      ...NAMESPACES,
      "rsm:ExchangedDocumentContext": {
        "ram:GuidelineSpecifiedDocumentContextParameter": { "ram:ID": SPECIFICATION },
      },
      "rsm:ExchangedDocument": {
        "ram:ID": invoice.number,
        "ram:TypeCode": COMMERCIAL_INVOICE,
        "ram:IssueDateTime": toDate(invoice.issuedAt),
      },
      "rsm:SupplyChainTradeTransaction": {
        [LINE_ITEM]: lines.map((line, index) => toLine(line, index + 1, tax)),
        "ram:ApplicableHeaderTradeAgreement": {
          ...(isGiven(reference) && { "ram:BuyerReference": reference }),
          "ram:SellerTradeParty": toSeller(invoice.supplier, tax),
          "ram:BuyerTradeParty": toBuyer(invoice.buyer, tax),
          ...(isGiven(purchaseOrder) && {
            "ram:BuyerOrderReferencedDocument": { "ram:IssuerAssignedID": purchaseOrder },
          }),
        },
        "ram:ApplicableHeaderTradeDelivery": {
          "ram:ActualDeliverySupplyChainEvent": {
            "ram:OccurrenceDateTime": toDate(lastDayOf(invoice.period)),
          },
        },
        "ram:ApplicableHeaderTradeSettlement": toSettlement(invoice, tax),
      },
    },
  };
}

function isGiven(text: string | null | undefined): text is string {
  return text !== null && text !== undefined;
}

const builder = new Builder({
  ignoreAttributes: false,
  suppressEmptyNode: true,
  tagValueProcessor: toXmlText,
});

/** BG-25. A negative amount is a negative quantity, for no price is below 0 (BR-27). */
function toLine(line: InvoiceLine, position: number, tax: Tax) {
  const isNegative = line.amountCents < 0n;
  const amount = formatCents(isNegative ? -line.amountCents : line.amountCents);
  return {
    "ram:AssociatedDocumentLineDocument": { "ram:LineID": String(position) },
    "ram:SpecifiedTradeProduct": {
      "ram:Name": line.clusterName === null ? line.resourceType : `${line.resourceType}, ${line.clusterName}`,
      "ram:Description": `${line.unitPriceEUR} EUR for a unit and month, ${line.unitSeconds} unit seconds`,
    },
    "ram:SpecifiedLineTradeAgreement": {
      "ram:NetPriceProductTradePrice": { "ram:ChargeAmount": amount },
    },
    "ram:SpecifiedLineTradeDelivery": {
      "ram:BilledQuantity": { "@_unitCode": ONE, "#text": isNegative ? "-1" : "1" },
    },
    "ram:SpecifiedLineTradeSettlement": {
      "ram:ApplicableTradeTax": {
        "ram:TypeCode": "VAT",
        "ram:CategoryCode": tax.code,
        ...(tax.percent !== undefined && { "ram:RateApplicablePercent": tax.percent }),
      },
      "ram:BillingSpecifiedPeriod": toLinePeriod(line),
      "ram:SpecifiedTradeSettlementLineMonetarySummation": {
        "ram:LineTotalAmount": formatCents(line.amountCents),
      },
    },
  };
}

/**
 * BG-4: its VAT id is BT-31, another tax number BT-32. Where no VAT id may stand (BR-O-02) or there is none, its number
 * is its identifier (BR-CO-26).
 */
function toSeller(party: Invoice["supplier"], { code }: Tax) {
  const isTaxed = code !== NOT_SUBJECT;
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
function toBuyer(party: Buyer, { code }: Tax) {
  const vatId = code === NOT_SUBJECT ? null : vatIdOf(party);
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

/** BG-16 and BG-17. */
function toPaymentMeans({ name, bank }: Invoice["supplier"]) {
  return {
    ...(bank !== undefined && {
      "ram:SpecifiedTradeSettlementPaymentMeans": {
        "ram:TypeCode": SEPA_CREDIT_TRANSFER,
        "ram:PayeePartyCreditorFinancialAccount": { "ram:IBANID": bank.iban, "ram:AccountName": name },
        ...(bank.bic !== undefined && {
          "ram:PayeeSpecifiedCreditorFinancialInstitution": { "ram:BICID": bank.bic },
        }),
      },
    }),
  };
}

/** BT-83, BG-16, BG-23, BG-14, BT-20 and BG-22. */
function toSettlement(
  { number, period, amountCents, vatCents, supplier }: Invoice,
  { code, reason, reasonCode, percent }: Tax,
) {
  const [net, vat, total] = [amountCents, vatCents, amountCents + vatCents].map(formatCents);
  return {
    "ram:PaymentReference": number,
    "ram:InvoiceCurrencyCode": "EUR",
    ...toPaymentMeans(supplier),
    "ram:ApplicableTradeTax": {
      "ram:CalculatedAmount": vat,
      "ram:TypeCode": "VAT",
      ...(reason !== undefined && { "ram:ExemptionReason": reason }),
      "ram:BasisAmount": net,
      "ram:CategoryCode": code,
      ...(reasonCode !== undefined && { "ram:ExemptionReasonCode": reasonCode }),
      ...(percent !== undefined && { "ram:RateApplicablePercent": percent }),
    },
    "ram:BillingSpecifiedPeriod": toPeriod(period),
    "ram:SpecifiedTradePaymentTerms": { "ram:Description": "Payable on receipt." },
    "ram:SpecifiedTradeSettlementHeaderMonetarySummation": {
      "ram:LineTotalAmount": net,
      "ram:TaxBasisTotalAmount": net,
      "ram:TaxTotalAmount": { "@_currencyID": "EUR", "#text": vat },
      "ram:GrandTotalAmount": total,
      "ram:DuePayableAmount": total,
    },
  };
}

function toTax({ vatCase, vatBasisPoints }: Invoice): Tax {
  const code = CATEGORIES[vatCase];
  // The standard category has a rate above 0 (BR-S-05).
  if (code === "S" && vatBasisPoints === 0) return { code: "Z", percent: "0.00" };
  const percent = code === NOT_SUBJECT ? undefined : formatCents(BigInt(vatBasisPoints));
  const [reason, reasonCode] = [exemptionReasonOf(vatCase), REASON_CODES[vatCase]];
  return {
    code,
    percent,
    ...(reason !== undefined && { reason }),
    ...(reasonCode !== undefined && { reasonCode }),
  };
}

/** BG-26: the days on which the price of the line was charged, where they are known. */
function toLinePeriod({ period, firstDay, lastDay }: InvoiceLine) {
  if (firstDay === null || lastDay === null) return toPeriod(period);
  return {
    "ram:StartDateTime": toDate(new Date(firstDay)),
    "ram:EndDateTime": toDate(new Date(lastDay)),
  };
}

function toPeriod(period: string) {
  return {
    "ram:StartDateTime": toDate(monthOfPeriod(period).start),
    "ram:EndDateTime": toDate(lastDayOf(period)),
  };
}

function lastDayOf(period: string): Date {
  return new Date(monthOfPeriod(period).end.getTime() - 1);
}

/** A day in UTC, in the only format that EN 16931 takes: 102, YYYYMMDD. */
function toDate(at: Date) {
  const text = at.toISOString().slice(0, 10).replaceAll("-", "");
  return { "udt:DateTimeString": { "@_format": "102", "#text": text } };
}

/** Without control characters and others that XML 1.0 (section 2.2) has no way to write. */
function toXmlText(_name: string, value: unknown): string {
  return String(value).toWellFormed().replaceAll(FORBIDDEN, "\uFFFD");
}

const FORBIDDEN = /[\p{Cc}\uFFFE\uFFFF]/gu;
