import { friendlyFormatIBAN } from "ibantools";
import { isVatId } from "../../../http/contract/fields.ts";
import { nameOfCountry } from "../../country.ts";
import { formatCents } from "../../money.ts";
import { type Month, monthOfPeriod } from "../../month.ts";
import { isPackage } from "../../rating/histories.ts";
import { sumCents, unitSizeOf } from "../../rating/lines.ts";
import type { MeteredType, ResourceType } from "../../resource-types.ts";
import type { Steps } from "../../turns.ts";
import type { DailyCost, InvoiceLine } from "../compose.ts";
import { type Buyer, type TaxNumbers, taxNumberOf } from "../document-columns.ts";
import type { Invoice } from "../store.ts";
import { exemptionReasonOf } from "../vat.ts";
import type { XmlDocument } from "../xml.ts";

/** The media type of the document for people. */
export const PDF = "application/pdf";

/** An issued invoice with its lines. */
export interface InvoiceWithLines {
  invoice: Invoice;
  lines: readonly InvoiceLine[];
}

/** An invoice that another one is compared with. */
export interface ComparedInvoice {
  invoice: Invoice;
  /** Its lines, or sums of them. */
  lines: readonly Pick<InvoiceLine, "resourceType" | "amountCents">[];
}

/**
 * What the pages of an invoice or credit note say, in their order. Texts are as given: a font may not have all of their characters.
 */
export interface InvoiceContent extends DocumentHead {
  title: "Invoice" | "Credit note";
  notes: string[];
  comparison?: AmountsTable;
  chart: ChartSeries[];
  /** Days of the chart: `YYYY-MM-DD`. */
  days: string[];
  /** The heads of the table of all lines: of the labels, and of the numbers beside them. */
  columns: readonly string[];
  clusters: ClusterLines[];
}

/** What invoices and credit notes say alike. */
export interface DocumentHead {
  number: string;
  /** The first and the last day of what was used. */
  period: string;
  issuedOn: string;
  /** What the buyer wanted to see. */
  references: string[];
  supplier: string[];
  buyer: string[];
  /** The amount due, with its currency. */
  total: string;
  /** How the total comes about. */
  sums: { label: string; amount: string }[];
}

/**
 * Amounts by resource type; the last row is their sum. With a month before: that, this month, and the change with its
 * sign.
 */
export interface AmountsTable {
  heading: string;
  columns: string[];
  rows: { label: string; amounts: string[] }[];
}

export interface ChartSeries {
  label: string;
  /** Its place among all that there can be: the same in every month, and so its color. */
  place: number;
  /** In cents, one for each day. */
  cents: number[];
}

export interface ClusterLines {
  name: string;
  amount: string;
  rows: { label: string; unitPrice: string; quantity: string; amount: string }[];
}

const LABELS: Readonly<Record<ResourceType, string>> = {
  control_plane: "Control plane",
  vcpu: "vCPU",
  memory: "Memory (GiB)",
  disk: "Disk (GiB)",
  storage_block: "Block storage (GiB)",
  storage_rwx: "Shared storage (GiB)",
  loadbalancer: "Load balancer",
  registry: "Registry (GiB)",
  snapshot: "Snapshots (GiB)",
  public_ip: "Public IP address",
};
const PACKAGES = "Packages";
/** The kinds of charges that the first page lists separately, in its order. */
const KINDS = [PACKAGES, ...Object.values(LABELS)];
const SECONDS_PER_HOUR = 3600n;

/**
 * What an invoice says to people, in steps. Every amount is one of the stored invoice or a sum of them.
 * @param previous the invoice before it, which its amounts are compared with; none for the first one
 * @param days what each day of its month costs; empty where that is not known, and then there is no chart
 */
export function* composeContent(
  { invoice, lines }: InvoiceWithLines,
  previous: ComparedInvoice | undefined,
  days: readonly DailyCost[],
): Steps<InvoiceContent> {
  const reason = exemptionReasonOf(invoice.vatCase);
  return {
    ...composeHead(invoice),
    title: "Invoice",
    notes: [...(reason === undefined ? [] : [reason]), ...describePayment(invoice)],
    comparison: compare({ invoice, lines }, previous),
    chart: composeChart(days),
    days: days.map(({ date }) => date),
    columns: ["Lines by cluster", "EUR per month", "unit hours", "EUR"],
    clusters: yield* groupByCluster(lines),
  };
}

/** What an invoice, or a credit note with the month of its invoice, says of itself. */
export function composeHead(document: Omit<XmlDocument, "credit">): DocumentHead {
  const { amountCents, vatCents, vatBasisPoints, buyer } = document;
  return {
    number: document.number,
    period: describePeriod(monthOfPeriod(document.period)),
    issuedOn: dayOf(document.issuedAt),
    references: describeReferences(buyer),
    supplier: composeParty(document.supplier),
    buyer: composeParty(buyer),
    total: toEUR(amountCents + vatCents),
    sums: [
      { label: "Net", amount: toEUR(amountCents) },
      { label: `VAT ${formatCents(BigInt(vatBasisPoints))} %`, amount: toEUR(vatCents) },
    ],
  };
}

function dayOf(instant: Date): string {
  return instant.toISOString().slice(0, 10);
}

function describePeriod({ start, end }: Month): string {
  return `${dayOf(start)} to ${dayOf(new Date(end.getTime() - 1))}`;
}

function describeReferences({ reference, purchaseOrder }: Buyer): string[] {
  return Object.entries({ "Your reference": reference, "Purchase order": purchaseOrder })
    .filter(([, text]) => text !== null && text !== undefined)
    .map(([label, text]) => `${label} ${text}`);
}

function describePayment({ number, supplier: { bank } }: Invoice): string[] {
  if (bank === undefined) return ["Payable on receipt."];
  const bic = bank.bic === undefined ? "" : `, BIC ${bank.bic}`;
  return [
    "Payable on receipt.",
    `Please transfer it to IBAN ${friendlyFormatIBAN(bank.iban)}${bic}, with the reference ${number}.`,
  ];
}

function labelOf(type: MeteredType): string {
  return isPackage(type) ? `Package ${type.slice("plan:".length)}` : LABELS[type];
}

function composeParty(party: Omit<Buyer, "taxNumber"> & TaxNumbers): string[] {
  const { name, street, postalCode, city, country, vatId, email } = party;
  const taxNumber = taxNumberOf(party);
  const place = [postalCode, city].filter((part) => part !== null).join(" ");
  return [
    name,
    street,
    place,
    nameOfCountry(country),
    vatId === null || vatId === taxNumber ? null : `${isVatId(vatId) ? "VAT id" : "Tax number"} ${vatId}`,
    taxNumber === null ? null : `Tax number ${taxNumber}`,
    email,
  ].filter((text): text is string => text !== null && text !== "");
}

function compare({ invoice, lines }: InvoiceWithLines, previous: ComparedInvoice | undefined): AmountsTable {
  const sums = sumByKind(lines);
  const month = monthOfPeriod(invoice.period).name;
  if (previous === undefined)
    return {
      heading: "By resource type",
      columns: [`${month}, EUR`],
      rows: [...sums, ["Net", sumCents(lines)] as const].map(([label, amount]) => ({
        label,
        amounts: [toAmount(amount)],
      })),
    };
  const before = sumByKind(previous.lines);
  const toRow = (label: string, last: bigint, amount: bigint) => ({
    label,
    amounts: [toAmount(last), toAmount(amount), toSigned(amount - last)],
  });
  const kinds = KINDS.filter((kind) => sums.has(kind) || before.has(kind));
  return {
    heading: `Compared with ${previous.invoice.number}`,
    columns: [`${monthOfPeriod(previous.invoice.period).name}, EUR`, `${month}, EUR`, "Change, EUR"],
    rows: [
      ...kinds.map((kind) => toRow(kind, before.get(kind) ?? 0n, sums.get(kind) ?? 0n)),
      toRow("Net", sumCents(previous.lines), sumCents(lines)),
    ],
  };
}

function composeChart(days: readonly DailyCost[]): ChartSeries[] {
  const series = new Map<string, number[]>();
  for (const [index, { cents }] of days.entries())
    for (const [type, amount] of Object.entries(cents) as [MeteredType, number][]) {
      const own = series.get(kindOf(type)) ?? days.map(() => 0);
      own[index] = (own[index] ?? 0) + amount;
      series.set(kindOf(type), own);
    }
  return [...series]
    .map(([label, cents]) => ({ label, place: KINDS.indexOf(label), cents }))
    .toSorted((a, b) => a.place - b.place);
}

function sumByKind(lines: ComparedInvoice["lines"]): Map<string, bigint> {
  const kinds = Map.groupBy(lines, ({ resourceType }) => kindOf(resourceType));
  return new Map(
    KINDS.flatMap((kind) => {
      const own = kinds.get(kind);
      return own === undefined ? [] : [[kind, sumCents(own)] as const];
    }),
  );
}

/** The kind on the first page: a resource type, or all packages together, for there may be any number of them. */
function kindOf(type: MeteredType): string {
  return isPackage(type) ? PACKAGES : labelOf(type);
}

function* groupByCluster(lines: readonly InvoiceLine[]): Steps<ClusterLines[]> {
  const clusters = Map.groupBy(lines, ({ clusterId, clusterName }) => clusterId ?? clusterName);
  const composed: ClusterLines[] = [];
  for (const own of clusters.values()) {
    const rows: ClusterLines["rows"] = [];
    for (const line of own.toSorted(byPlace)) {
      yield;
      rows.push({
        label: describeLine(line),
        unitPrice: groupThousands(line.unitPriceEUR),
        quantity: toHours(line),
        amount: toAmount(line.amountCents),
      });
    }
    const name = own.findLast(({ clusterName }) => clusterName !== null)?.clusterName ?? own[0]?.clusterId;
    composed.push({ name: name ?? "Shared by all clusters", amount: toEUR(sumCents(own)), rows });
  }
  return composed;
}

/** What a line is for, with the days of its price, unless they are the whole month. */
export function describeLine({ resourceType, adjustment, period, firstDay, lastDay }: InvoiceLine): string {
  const { name, start, end } = monthOfPeriod(period);
  const label = labelOf(resourceType);
  if (adjustment) return `${label}, correction of ${name}`;
  if (firstDay === null || lastDay === null) return label;
  if (firstDay === dayOf(start) && lastDay === dayOf(new Date(end.getTime() - 1))) return label;
  return firstDay === lastDay ? `${label}, ${firstDay}` : `${label}, ${firstDay} to ${lastDay}`;
}

function byPlace(a: InvoiceLine, b: InvoiceLine): number {
  return KINDS.indexOf(kindOf(a.resourceType)) - KINDS.indexOf(kindOf(b.resourceType));
}

/** Quantity times hours, rounded down to two decimals. */
function toHours({ resourceType, unitSeconds }: InvoiceLine): string {
  return toAmount((unitSeconds * 100n) / (SECONDS_PER_HOUR * unitSizeOf(resourceType)));
}

function toEUR(cents: bigint): string {
  return `${toAmount(cents)} EUR`;
}

function toSigned(cents: bigint): string {
  return cents > 0n ? `+${toAmount(cents)}` : toAmount(cents);
}

/** With two decimals and a comma between thousands. */
export function toAmount(cents: bigint): string {
  return groupThousands(formatCents(cents));
}

/** With a comma between thousands before the point, as English has it. */
function groupThousands(decimal: string): string {
  return decimal.replace(/^-?\d+/, (whole) => whole.replaceAll(/(?<=\d)(?=(?:\d{3})+$)/g, ","));
}
