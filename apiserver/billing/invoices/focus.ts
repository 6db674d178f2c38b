import type { Labels } from "../../../shared/crd/labels.ts";
import { CSV, toCsv, toCsvTexts, toCsvWithin } from "../csv.ts";
import { formatCents, formatQuantity, parseMicroEuros } from "../money.ts";
import { type Month, monthOf, monthOfPeriod } from "../month.ts";
import { isPackage } from "../rating/histories.ts";
import { toUse, unitSizeOf } from "../rating/lines.ts";
import type { MeteredType, ResourceType } from "../resource-types.ts";
import type { Steps } from "../turns.ts";
import type { InvoiceLine } from "./compose.ts";
import { describeLine, type InvoiceWithLines } from "./pdf/content.ts";
import type { Invoice } from "./store.ts";

/** CSV in the columns of FOCUS 1.0 (https://focus.finops.org/focus-specification/v1-0/). */
export const FOCUS_CSV = `${CSV};profile=focus-1.0`;

/** The columns of FOCUS 1.0 in its order, then one of ours, which has the prefix of columns that are not of FOCUS. */
export const FOCUS_COLUMNS = [
  "AvailabilityZone",
  "BilledCost",
  "BillingAccountId",
  "BillingAccountName",
  "BillingCurrency",
  "BillingPeriodEnd",
  "BillingPeriodStart",
  "ChargeCategory",
  "ChargeClass",
  "ChargeDescription",
  "ChargeFrequency",
  "ChargePeriodEnd",
  "ChargePeriodStart",
  "CommitmentDiscountCategory",
  "CommitmentDiscountId",
  "CommitmentDiscountName",
  "CommitmentDiscountStatus",
  "CommitmentDiscountType",
  "ConsumedQuantity",
  "ConsumedUnit",
  "ContractedCost",
  "ContractedUnitPrice",
  "EffectiveCost",
  "InvoiceIssuerName",
  "ListCost",
  "ListUnitPrice",
  "PricingCategory",
  "PricingQuantity",
  "PricingUnit",
  "ProviderName",
  "PublisherName",
  "RegionId",
  "RegionName",
  "ResourceId",
  "ResourceName",
  "ResourceType",
  "ServiceCategory",
  "ServiceName",
  "SkuId",
  "SkuPriceId",
  "SubAccountId",
  "SubAccountName",
  "Tags",
  "x_DocumentNumber",
] as const;

/** A charge; what a column does not say of it is null. */
export type FocusRow = Partial<Readonly<Record<(typeof FOCUS_COLUMNS)[number], string | null>>>;

/** What all charges of one document, or of a month without one, have in common. */
export interface Billed {
  orgId: string;
  /** Who pays. */
  accountName: string | null;
  /** Who provides, publishes and invoices. */
  providerName: string;
  billingPeriod: Month;
  /** The number of the invoice or credit note; null: none was issued. */
  documentNumber: string | null;
}

/** A credit note, and the month whose invoice it corrects. */
export type CreditNoteOfPeriod = Pick<
  Invoice,
  "orgId" | "number" | "issuedAt" | "vatBasisPoints" | "vatCents" | "supplier" | "buyer"
> & {
  /** The first day of that month. */
  correctedPeriod: string;
  lines: readonly { description: string; amountCents: bigint }[];
};

const SERVICES = {
  kubernetes: { ServiceCategory: "Compute", ServiceName: "Managed Kubernetes" },
  networking: { ServiceCategory: "Networking", ServiceName: "Networking" },
  storage: { ServiceCategory: "Storage", ServiceName: "Storage" },
  registry: { ServiceCategory: "Developer Tools", ServiceName: "Container Registry" },
  /** The service of what belongs to no single one. */
  billing: { ServiceCategory: "Other", ServiceName: "Billing" },
} as const;

/** The service and the unit of each resource type; units are those of the attribute Unit Format of FOCUS. */
const KINDS: Readonly<Record<ResourceType, { service: keyof typeof SERVICES; unit: string }>> = {
  control_plane: { service: "kubernetes", unit: "Unit" },
  vcpu: { service: "kubernetes", unit: "Core" },
  memory: { service: "kubernetes", unit: "GiB" },
  disk: { service: "kubernetes", unit: "GiB" },
  storage_block: { service: "storage", unit: "GiB" },
  storage_rwx: { service: "storage", unit: "GiB" },
  loadbalancer: { service: "networking", unit: "Unit" },
  registry: { service: "registry", unit: "GiB" },
  snapshot: { service: "storage", unit: "GiB" },
  public_ip: { service: "networking", unit: "Unit" },
};

/** The charges of an invoice: a row for each line, which is made when it is read, and one for the VAT unless it is 0. */
export function* toInvoiceRows({ invoice, lines }: InvoiceWithLines): Generator<FocusRow, void> {
  for (const line of lines) yield* toInvoiceLineRows(invoice, [line]);
  yield* toInvoiceTaxRows(invoice);
}

/** The charges of some lines of an invoice. */
export function toInvoiceLineRows(invoice: Invoice, lines: readonly InvoiceLine[]): FocusRow[] {
  return toLineRows(billedBy(invoice, monthOfPeriod(invoice.period)), lines);
}

/** The VAT of an invoice; none where it is 0. */
export function toInvoiceTaxRows(invoice: Invoice): FocusRow[] {
  const billingPeriod = monthOfPeriod(invoice.period);
  const billed = billedBy(invoice, billingPeriod);
  return toTaxRow(billed, { ...invoice, frequency: "Recurring", chargePeriod: billingPeriod });
}

/** The charges of a credit note, negative: those of the month in which it was issued, which correct an earlier one. */
export function toCreditNoteRows({ lines, correctedPeriod, ...note }: CreditNoteOfPeriod): FocusRow[] {
  const billed = billedBy(note, monthOf(note.issuedAt));
  const chargePeriod = monthOfPeriod(correctedPeriod);
  const common = {
    ...toCommon(billed, chargePeriod),
    ...SERVICES.billing,
    ChargeClass: CORRECTION,
    ChargeFrequency: "One-Time",
  };
  const rows = lines.map(({ description, amountCents }) => ({
    ...common,
    ...toCosts(-amountCents),
    ChargeCategory: "Usage",
    ChargeDescription: description,
  }));
  const { vatBasisPoints, vatCents } = note;
  const tax = toTaxRow(billed, { vatBasisPoints, vatCents: -vatCents, frequency: "One-Time", chargePeriod });
  return [...rows, ...tax.map((row) => ({ ...row, ChargeClass: CORRECTION }))];
}

/**
 * A row for each line. Its costs are the rounded amount of the line; ListCost alone is the unit price times the
 * quantity. A line that corrects an earlier invoice is a correction of its month.
 */
export function toLineRows(billed: Billed, lines: readonly InvoiceLine[]): FocusRow[] {
  return lines.map((line) => {
    const { resourceType: sku, clusterId, unitPriceEUR: unitPrice, unitSeconds } = line;
    const month = monthOfPeriod(line.period);
    const use = toUse({ ...line, unitPriceMicroEuros: parseMicroEuros(unitPrice) });
    const { quantity, price } = formatQuantity(use, month.seconds);
    const { service, unit } = isPackage(sku) ? PACKAGE : KINDS[sku];
    return {
      ...toCommon(billed, daysOf(line, month)),
      ...toCosts(line.amountCents),
      ...SERVICES[service],
      ...(isPackage(sku) ? PURCHASE : toConsumed(sku, unit, unitSeconds)),
      ChargeClass: line.adjustment ? CORRECTION : null,
      ChargeDescription: `${describeLine(line)}, at ${unitPrice} EUR a month`,
      ContractedUnitPrice: unitPrice,
      ListCost: price,
      ListUnitPrice: unitPrice,
      PricingCategory: "Standard",
      PricingQuantity: quantity,
      PricingUnit: `${unit}-Months`,
      ResourceId: clusterId,
      ResourceName: line.clusterName,
      ResourceType: clusterId === null ? null : "Cluster",
      SkuId: sku,
      SkuPriceId: `${sku}@${unitPrice}`,
      Tags: toTags(line.labels ?? {}),
    };
  });
}

/** A JSON object, in the order of its keys. */
function toTags(labels: Labels): string {
  return JSON.stringify(Object.fromEntries(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1))));
}

const EMPTY = Object.fromEntries(FOCUS_COLUMNS.map((column) => [column, null])) as Required<FocusRow>;

/** Rows as CSV, with all columns of FOCUS 1.0 in its order; null is an empty cell. */
export function toFocusCsv(rows: readonly FocusRow[]): string {
  return toCsv(
    FOCUS_COLUMNS,
    rows.map((row) => ({ ...EMPTY, ...row })),
  );
}

/** Like toFocusCsv, in steps. */
export function* toFocusFile(rows: Iterable<FocusRow>): Steps<string> {
  return (yield* toCsvWithin(Number.POSITIVE_INFINITY, FOCUS_COLUMNS, fillRows(rows))) ?? "";
}

function* fillRows(rows: Iterable<FocusRow>) {
  for (const row of rows) yield { ...EMPTY, ...row };
}

/** Like toFocusCsv, row by row, of rows that are read page by page. */
export function toFocusTexts(pages: AsyncIterable<readonly FocusRow[]>): AsyncGenerator<string> {
  return toCsvTexts(FOCUS_COLUMNS, fill(pages));
}

async function* fill(pages: AsyncIterable<readonly FocusRow[]>) {
  for await (const rows of pages) yield rows.map((row) => ({ ...EMPTY, ...row }));
}

const CORRECTION = "Correction";
const PACKAGE = { service: "kubernetes", unit: "Unit" } as const;
const PURCHASE = { ChargeCategory: "Purchase", ChargeFrequency: "Recurring" };

/** What was used, exactly, in the unit in which it is metered. */
function toConsumed(type: MeteredType, unit: string, unitSeconds: bigint): FocusRow {
  return {
    ChargeCategory: "Usage",
    ChargeFrequency: "Usage-Based",
    // A decimal also where every row has a whole number: readers derive the type of a column from its cells.
    ConsumedQuantity: `${unitSeconds}.0`,
    ConsumedUnit: `${unitSizeOf(type) === 1n ? unit : "B"}-Seconds`,
  };
}

interface Tax extends Pick<Invoice, "vatBasisPoints" | "vatCents"> {
  frequency: "Recurring" | "One-Time";
  chargePeriod: Pick<Month, "start" | "end">;
}

function toTaxRow(billed: Billed, { vatBasisPoints, vatCents, frequency, chargePeriod }: Tax): FocusRow[] {
  if (vatCents === 0n) return [];
  return [
    {
      ...toCommon(billed, chargePeriod),
      ...toCosts(vatCents),
      ...SERVICES.billing,
      ChargeCategory: "Tax",
      ChargeDescription: `VAT ${formatCents(BigInt(vatBasisPoints))} %`,
      ChargeFrequency: frequency,
    },
  ];
}

function billedBy(document: Pick<Invoice, "orgId" | "number" | "buyer" | "supplier">, period: Month): Billed {
  return {
    orgId: document.orgId,
    accountName: document.buyer.name,
    providerName: document.supplier.name,
    billingPeriod: period,
    documentNumber: document.number,
  };
}

function toCommon(billed: Billed, chargePeriod: Pick<Month, "start" | "end">): FocusRow {
  return {
    BillingAccountId: billed.orgId,
    BillingAccountName: billed.accountName,
    BillingCurrency: "EUR",
    BillingPeriodEnd: toDateTime(billed.billingPeriod.end),
    BillingPeriodStart: toDateTime(billed.billingPeriod.start),
    ChargePeriodEnd: toDateTime(chargePeriod.end),
    ChargePeriodStart: toDateTime(chargePeriod.start),
    InvoiceIssuerName: billed.providerName,
    ProviderName: billed.providerName,
    PublisherName: billed.providerName,
    Tags: "{}",
    x_DocumentNumber: billed.documentNumber,
  };
}

function toCosts(cents: bigint): FocusRow {
  const cost = formatCents(cents);
  return { BilledCost: cost, ContractedCost: cost, EffectiveCost: cost, ListCost: cost };
}

/** The days of the line's price, both ends at midnight; the whole month where they are not known. */
function daysOf({ firstDay, lastDay }: InvoiceLine, month: Month): Pick<Month, "start" | "end"> {
  if (firstDay === null || lastDay === null) return month;
  const end = new Date(lastDay);
  end.setUTCDate(end.getUTCDate() + 1);
  return { start: new Date(firstDay), end };
}

/** In whole seconds, as the attribute Date/Time Format of FOCUS has it. */
function toDateTime(instant: Date): string {
  return instant.toISOString().replace(/\.\d+Z$/, "Z");
}
