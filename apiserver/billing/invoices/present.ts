import type { z } from "@hono/zod-openapi";
import { toCsvTexts } from "../csv.ts";
import { formatCents, toJsonCents } from "../money.ts";
import { monthOfPeriod } from "../month.ts";
import { unitSizeOf } from "../rating/lines.ts";
import type { OutcomeOf } from "./close.ts";
import type { WaitingInvoice } from "./close-store.ts";
import type { InvoiceLine } from "./compose.ts";
import type { Buyer, TaxNumbers } from "./document-columns.ts";
import type {
  dryCloseRecord,
  invoiceLinePage,
  invoicePage,
  invoiceRecord,
  waitingInvoicePage,
} from "./schema.ts";
import type { Credited, Invoice } from "./store.ts";

const CSV_COLUMNS = [
  "invoice_number",
  "month",
  "adjustment",
  "cluster_id",
  "cluster_name",
  "resource_type",
  "unit_price_eur",
  "unit_seconds",
  "unit_size",
  "month_seconds",
  "amount_eur",
] as const;

/** The wire form of an invoice in a list. */
export function presentInvoiceSummary(
  invoice: Invoice,
  credited: Credited,
): z.output<typeof invoicePage>["items"][number] {
  const { name, start, end } = monthOfPeriod(invoice.period);
  return {
    id: invoice.id,
    org_id: invoice.orgId,
    number: invoice.number,
    month: name,
    period_start: start.toISOString(),
    period_end: end.toISOString(),
    issued_at: invoice.issuedAt.toISOString(),
    currency: "EUR",
    ...presentVat(invoice),
    credited_cents: toJsonCents(credited.amountCents),
    credited_total_cents: toJsonCents(credited.amountCents + credited.vatCents),
  };
}

/** The wire form of the amounts of an invoice or a credit note. */
export function presentVat(
  document: Pick<Invoice, "amountCents" | "vatCase" | "vatBasisPoints" | "vatCents">,
) {
  return {
    amount_cents: toJsonCents(document.amountCents),
    vat_case: document.vatCase,
    vat_rate_percent: formatCents(BigInt(document.vatBasisPoints)),
    vat_cents: toJsonCents(document.vatCents),
    total_cents: toJsonCents(document.amountCents + document.vatCents),
  };
}

/** The wire form of an invoice; without `lines`, which are too many for one response, it says how many there are. */
export function presentInvoice(
  invoice: Invoice,
  { lines, total }: { lines: readonly InvoiceLine[] | undefined; total: number },
  credited: Credited,
): z.output<typeof invoiceRecord> {
  return {
    ...presentInvoiceSummary(invoice, credited),
    supplier: presentParty(invoice.supplier),
    buyer: presentParty(invoice.buyer),
    buyer_reference: invoice.buyer.reference ?? null,
    purchase_order: invoice.buyer.purchaseOrder ?? null,
    lines_total: total,
    lines: lines?.map(presentInvoiceLine) ?? null,
  };
}

/** The wire form of a line of an invoice. */
export function presentInvoiceLine(line: InvoiceLine): z.output<typeof invoiceLinePage>["items"][number] {
  return {
    month: monthOfPeriod(line.period).name,
    adjustment: line.adjustment,
    cluster_id: line.clusterId,
    cluster_name: line.clusterName,
    resource_type: line.resourceType,
    unit_price_eur: line.unitPriceEUR,
    unit_seconds: String(line.unitSeconds),
    amount_cents: toJsonCents(line.amountCents),
    first_day: line.firstDay,
    last_day: line.lastDay,
  };
}

/**
 * The lines of an invoice as CSV: amount_eur is unit_price_eur x unit_seconds / unit_size / month_seconds, rounded half
 * up.
 */
export function toInvoiceCsv(
  { number }: Invoice,
  pages: AsyncIterable<readonly InvoiceLine[]>,
): AsyncIterable<string> {
  return toCsvTexts(CSV_COLUMNS, toCsvRows(number, pages));
}

async function* toCsvRows(number: string, pages: AsyncIterable<readonly InvoiceLine[]>) {
  for await (const lines of pages)
    yield lines.map((line) => ({
      invoice_number: number,
      month: monthOfPeriod(line.period).name,
      adjustment: String(line.adjustment),
      cluster_id: line.clusterId,
      cluster_name: line.clusterName,
      resource_type: line.resourceType,
      unit_price_eur: line.unitPriceEUR,
      unit_seconds: String(line.unitSeconds),
      unit_size: String(unitSizeOf(line.resourceType)),
      month_seconds: String(monthOfPeriod(line.period).seconds),
      amount_eur: formatCents(line.amountCents),
    }));
}

/** The wire form of what waits to be invoiced. */
export function presentWaiting(row: WaitingInvoice): z.output<typeof waitingInvoicePage>["items"][number] {
  return {
    id: row.id,
    org_id: row.orgId,
    month: monthOfPeriod(row.period).name,
    reason: row.reason,
    amount_cents: toJsonCents(row.amountCents),
    since: row.since.toISOString(),
  };
}

/** The wire form of what a close would come to for one organization. */
export function presentOutcome({
  orgId,
  outcome,
}: OutcomeOf): z.output<typeof dryCloseRecord>["items"][number] {
  return {
    org_id: orgId,
    outcome: outcome.kind === "issued" ? "due" : outcome.kind,
    reason: outcome.kind === "waiting" ? outcome.reason : null,
    amount_cents: "amountCents" in outcome ? toJsonCents(outcome.amountCents) : null,
  };
}

/** The wire form of a supplier or a buyer. */
export function presentParty(party: Omit<Buyer, "taxNumber"> & TaxNumbers) {
  const { name, street, postalCode, city, country, vatId, taxNumber = null, email } = party;
  const address = { name, street, postal_code: postalCode, city, country };
  return { ...address, vat_id: vatId, tax_number: taxNumber, email };
}
