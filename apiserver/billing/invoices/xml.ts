import Builder from "fast-xml-builder";
import { isCountry } from "../country.ts";
import { formatCents } from "../money.ts";
import { monthOfPeriod } from "../month.ts";
import type { InvoiceLine } from "./compose.ts";
import type { Buyer } from "./document-columns.ts";
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

interface Tax {
  code: string;
  reason?: string;
  /** In percent; none for what is not subject to VAT (BR-O-05). */
  percent: string | undefined;
}

/**
 * An invoice in the syntax Cross Industry Invoice (D16B) of EN 16931-1; BT and BG in comments are its terms, BR its rules. It
 * says what the stored invoice says and calculates nothing.
 */
export function toInvoiceXml(invoice: Invoice, lines: readonly InvoiceLine[]): string {
  const tax = toTax(invoice);
  const document = {
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
        "ram:IncludedSupplyChainTradeLineItem": lines.map((line, index) => toLine(line, index + 1, tax)),
        "ram:ApplicableHeaderTradeAgreement": {
          "ram:SellerTradeParty": toParty(invoice.supplier, tax, "seller"),
          "ram:BuyerTradeParty": toParty(invoice.buyer, tax, "buyer"),
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
  return builder.build(document);
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
      "ram:BillingSpecifiedPeriod": toPeriod(line.period),
      "ram:SpecifiedTradeSettlementLineMonetarySummation": {
        "ram:LineTotalAmount": formatCents(line.amountCents),
      },
    },
  };
}

/**
 * BG-4 and BG-7. Where nothing is subject to VAT, no VAT id may stand as such (BR-O-02): the seller's is its identifier then,
 * as are numbers that are no VAT ids (BT-29 and BT-46).
 */
function toParty(party: Buyer, { code }: Tax, role: "seller" | "buyer") {
  const isTaxed = code !== NOT_SUBJECT;
  const isIdentifier = isTaxed ? !hasVatPrefix(party.vatId ?? "") : role === "seller";
  return {
    ...(isIdentifier && party.vatId !== null && { "ram:ID": party.vatId }),
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
    ...(!isIdentifier &&
      isTaxed &&
      party.vatId !== null && {
        "ram:SpecifiedTaxRegistration": { "ram:ID": { "@_schemeID": "VA", "#text": party.vatId } },
      }),
  };
}

/** A VAT id begins with the code of its country, or with EL or XI (BR-CO-09). */
function hasVatPrefix(vatId: string): boolean {
  const prefix = vatId.slice(0, 2);
  return prefix === "EL" || prefix === "XI" || isCountry(prefix);
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
  { code, reason, percent }: Tax,
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
  const reason = exemptionReasonOf(vatCase);
  return { code, percent, ...(reason !== undefined && { reason }) };
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
