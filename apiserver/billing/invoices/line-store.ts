import { and, asc, count, eq, getTableColumns, gt, sql } from "drizzle-orm";
import type { Queryable } from "../../db/client.ts";
import type { InvoiceLine } from "./compose.ts";
import type { Invoice } from "./store.ts";
import { invoiceLines, invoices } from "./table.ts";

const { invoiceId: _, position, labels, ...lineColumns } = getTableColumns(invoiceLines);
const LINES_PER_READ = 50;
/** Lines that are all kept. The rows of one read are mapped at once, and ten thousand keep other requests waiting. */
const KEPT_LINES_PER_READ = 500;

/** Labels are up to 24 KB of a line, and only the columns of FOCUS have them. */
interface LineParts {
  withLabels?: boolean;
}

/** How many lines an invoice of an organization has. */
export async function countInvoiceLines(db: Queryable, invoice: Invoice): Promise<number> {
  const [row] = await db
    .select({ lines: count() })
    .from(invoiceLines)
    .innerJoin(invoices, eq(invoices.id, invoiceLines.invoiceId))
    .where(ofInvoice(invoice));
  return row?.lines ?? 0;
}

/** At most `limit` lines of an invoice of an organization after a position, the first of which is 1, in their order. */
export async function listInvoiceLines(
  db: Queryable,
  invoice: Invoice,
  { after, limit, withLabels = false }: { after: number; limit: number } & LineParts,
): Promise<(InvoiceLine & { position: number })[]> {
  return db
    .select({ ...lineColumns, ...(withLabels && { labels }), position })
    .from(invoiceLines)
    .innerJoin(invoices, eq(invoices.id, invoiceLines.invoiceId))
    .where(and(ofInvoice(invoice), gt(position, after)))
    .orderBy(asc(position))
    .limit(limit);
}

/** The lines of an invoice of an organization, in their order. */
export async function readInvoiceLines(
  db: Queryable,
  invoice: Invoice,
  parts: LineParts = {},
): Promise<InvoiceLine[]> {
  const lines: InvoiceLine[] = [];
  for await (const page of readLinePages(db, invoice, parts, KEPT_LINES_PER_READ))
    for (const { position: _, ...line } of page) lines.push(line);
  return lines;
}

/** The lines of an invoice of an organization in their order, read fifty at a time, for they may be any number. */
export async function* readLinePages(
  db: Queryable,
  invoice: Invoice,
  parts: LineParts = {},
  limit = LINES_PER_READ,
): AsyncGenerator<(InvoiceLine & { position: number })[]> {
  let lines: (InvoiceLine & { position: number })[];
  let after = 0;
  do {
    lines = await listInvoiceLines(db, invoice, { after, limit, ...parts });
    yield lines;
    after = lines.at(-1)?.position ?? after;
  } while (lines.length === limit);
}

/** What an invoice of an organization comes to by resource type. */
export async function readAmountsByType(
  db: Queryable,
  invoice: Invoice,
): Promise<Pick<InvoiceLine, "resourceType" | "amountCents">[]> {
  const rows = await db
    .select({
      resourceType: invoiceLines.resourceType,
      amountCents: sql<string>`sum(${invoiceLines.amountCents})`,
    })
    .from(invoiceLines)
    .innerJoin(invoices, eq(invoices.id, invoiceLines.invoiceId))
    .where(ofInvoice(invoice))
    .groupBy(invoiceLines.resourceType)
    .orderBy(asc(invoiceLines.resourceType));
  return rows.map((row) => ({ ...row, amountCents: BigInt(row.amountCents) }));
}

function ofInvoice({ orgId, id }: Invoice) {
  return and(eq(invoices.orgId, orgId), eq(invoices.id, id));
}
