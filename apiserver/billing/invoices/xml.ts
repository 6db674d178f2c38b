import Builder from "fast-xml-builder";
import { formatCents } from "../money.ts";
import { monthOfPeriod } from "../month.ts";
import type { InvoiceLine } from "./compose.ts";
import type { Invoice } from "./store.ts";
import { exemptionReasonOf, type VatCase } from "./vat.ts";
import { isGiven, toBuyer, toSeller } from "./xml-parties.ts";

/** The media type of the electronic invoice. */
export const XML = "application/xml";

const NAMESPACES = {
  "@_xmlns:rsm": "urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100",
  "@_xmlns:ram": "urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100",
  "@_xmlns:qdt": "urn:un:unece:uncefact:data:standard:QualifiedDataType:100",
  "@_xmlns:udt": "urn:un:unece:uncefact:data:standard:UnqualifiedDataType:100",
};
/** BT-24: the core invoice, without any country's or sector's rules. */
const SPECIFICATION = "urn:cen.eu:en16931:2017";
/** BT-3 (UNTDID 1001). */
const TYPES = { invoice: "380", creditNote: "381" };
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

/** What an electronic document says of itself: an invoice, or a credit note, whose amounts are what is given back. */
export interface XmlDocument
  extends Pick<
    Invoice,
    | "number"
    | "issuedAt"
    | "period"
    | "amountCents"
    | "vatCase"
    | "vatBasisPoints"
    | "vatCents"
    | "supplier"
    | "buyer"
  > {
  /** A credit note alone has its invoice (BG-3), and why it was issued (BT-22). */
  credit?: { invoice: Pick<Invoice, "number" | "issuedAt">; reason: string };
}

/** A line of it. */
export interface XmlLine {
  name: string;
  description?: string;
  amountCents: bigint;
  /** The first and the last day. */
  days: { first: Date; last: Date };
}

/**
 * An invoice in the syntax Cross Industry Invoice (D16B) of EN 16931-1; BT and BG in comments are its terms, BR its
 * rules. It says what the stored invoice says and calculates nothing.
 */
export function toInvoiceXml(invoice: Invoice, lines: readonly InvoiceLine[]): string {
  return builder.build(composeDocument(invoice, lines));
}

/** A credit note in the syntax of toInvoiceXml. */
export function toCreditNoteXml(note: XmlDocument, lines: readonly XmlLine[]): string {
  return builder.build(compose(note, lines));
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
    const items = lines.map((line) => toItem(toLine(line), ++position, tax));
    yield builder.build({ [LINE_ITEM]: items });
  }
  yield around.slice(end);
}

/** The elements of an invoice, as fast-xml-builder takes them. */
export function composeDocument(invoice: Invoice, lines: readonly InvoiceLine[]): object {
  return compose(invoice, lines.map(toLine));
}

function compose(document: XmlDocument, lines: readonly XmlLine[]): object {
  const tax = toTax(document);
  const { credit } = document;
  const { reference, purchaseOrder } = document.buyer;
  const isTaxed = tax.code !== NOT_SUBJECT;
  return {
    "?xml": { "@_version": "1.0", "@_encoding": "UTF-8" },
    "rsm:CrossIndustryInvoice": {
      ...NAMESPACES,
      "rsm:ExchangedDocumentContext": {
        "ram:GuidelineSpecifiedDocumentContextParameter": { "ram:ID": SPECIFICATION },
      },
      "rsm:ExchangedDocument": {
        "ram:ID": document.number,
        "ram:TypeCode": credit === undefined ? TYPES.invoice : TYPES.creditNote,
        "ram:IssueDateTime": toDate(document.issuedAt),
        ...(credit !== undefined && { "ram:IncludedNote": { "ram:Content": credit.reason } }),
      },
      "rsm:SupplyChainTradeTransaction": {
        [LINE_ITEM]: lines.map((line, index) => toItem(line, index + 1, tax)),
        "ram:ApplicableHeaderTradeAgreement": {
          ...(isGiven(reference) && { "ram:BuyerReference": reference }),
          "ram:SellerTradeParty": toSeller(document.supplier, isTaxed),
          "ram:BuyerTradeParty": toBuyer(document.buyer, isTaxed),
          ...(isGiven(purchaseOrder) && {
            "ram:BuyerOrderReferencedDocument": { "ram:IssuerAssignedID": purchaseOrder },
          }),
        },
        "ram:ApplicableHeaderTradeDelivery": {
          "ram:ActualDeliverySupplyChainEvent": {
            "ram:OccurrenceDateTime": toDate(lastDayOf(document.period)),
          },
        },
        "ram:ApplicableHeaderTradeSettlement": toSettlement(document, tax),
      },
    },
  };
}

const builder = new Builder({
  ignoreAttributes: false,
  suppressEmptyNode: true,
  tagValueProcessor: toXmlText,
});

function toLine(line: InvoiceLine): XmlLine {
  return {
    name: line.clusterName === null ? line.resourceType : `${line.resourceType}, ${line.clusterName}`,
    description: `${line.unitPriceEUR} EUR for a unit and month, ${line.unitSeconds} unit seconds`,
    amountCents: line.amountCents,
    days: daysOfLine(line),
  };
}

/** BG-25. A negative amount is a negative quantity, for no price is below 0 (BR-27). */
function toItem({ name, description, amountCents, days }: XmlLine, position: number, tax: Tax) {
  const isNegative = amountCents < 0n;
  return {
    "ram:AssociatedDocumentLineDocument": { "ram:LineID": String(position) },
    "ram:SpecifiedTradeProduct": {
      "ram:Name": name,
      ...(description !== undefined && { "ram:Description": description }),
    },
    "ram:SpecifiedLineTradeAgreement": {
      "ram:NetPriceProductTradePrice": {
        "ram:ChargeAmount": formatCents(isNegative ? -amountCents : amountCents),
      },
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
      "ram:BillingSpecifiedPeriod": toPeriod(days),
      "ram:SpecifiedTradeSettlementLineMonetarySummation": {
        "ram:LineTotalAmount": formatCents(amountCents),
      },
    },
  };
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

/** BT-83, BG-16, BG-23, BG-14, BT-20, BG-22 and BG-3. Of a credit note nothing is to be transferred to the supplier. */
function toSettlement(
  { number, period, amountCents, vatCents, supplier, credit }: XmlDocument,
  { code, reason, reasonCode, percent }: Tax,
) {
  const [net, vat, total] = [amountCents, vatCents, amountCents + vatCents].map(formatCents);
  return {
    ...(credit === undefined && { "ram:PaymentReference": number }),
    "ram:InvoiceCurrencyCode": "EUR",
    ...(credit === undefined && toPaymentMeans(supplier)),
    "ram:ApplicableTradeTax": {
      "ram:CalculatedAmount": vat,
      "ram:TypeCode": "VAT",
      ...(reason !== undefined && { "ram:ExemptionReason": reason }),
      "ram:BasisAmount": net,
      "ram:CategoryCode": code,
      ...(reasonCode !== undefined && { "ram:ExemptionReasonCode": reasonCode }),
      ...(percent !== undefined && { "ram:RateApplicablePercent": percent }),
    },
    "ram:BillingSpecifiedPeriod": toPeriod(daysOfMonth(period)),
    "ram:SpecifiedTradePaymentTerms": {
      "ram:Description": credit === undefined ? "Payable on receipt." : "Given back by the supplier.",
    },
    "ram:SpecifiedTradeSettlementHeaderMonetarySummation": {
      "ram:LineTotalAmount": net,
      "ram:TaxBasisTotalAmount": net,
      "ram:TaxTotalAmount": { "@_currencyID": "EUR", "#text": vat },
      "ram:GrandTotalAmount": total,
      "ram:DuePayableAmount": total,
    },
    ...(credit !== undefined && { "ram:InvoiceReferencedDocument": toReference(credit.invoice) }),
  };
}

/** BT-25 and BT-26. */
function toReference({ number, issuedAt }: Pick<Invoice, "number" | "issuedAt">) {
  const { "udt:DateTimeString": day } = toDate(issuedAt);
  return { "ram:IssuerAssignedID": number, "ram:FormattedIssueDateTime": { "qdt:DateTimeString": day } };
}

function toTax({ vatCase, vatBasisPoints }: XmlDocument): Tax {
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
function daysOfLine({ period, firstDay, lastDay }: InvoiceLine): XmlLine["days"] {
  if (firstDay === null || lastDay === null) return daysOfMonth(period);
  return { first: new Date(firstDay), last: new Date(lastDay) };
}

function daysOfMonth(period: string): XmlLine["days"] {
  return { first: monthOfPeriod(period).start, last: lastDayOf(period) };
}

function toPeriod({ first, last }: XmlLine["days"]) {
  return { "ram:StartDateTime": toDate(first), "ram:EndDateTime": toDate(last) };
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
