import { and, asc, desc, eq, getTableColumns, gt, inArray, lt, sql } from "drizzle-orm";
import { NIL_ID } from "../../../shared/program/id.ts";
import type { Queryable } from "../../db/client.ts";
import { chunk } from "../../db/statement.ts";
import type { PageRequest } from "../../http/contract/page.ts";
import { findOrganization } from "../../organizations/index.ts";
import { readClusterLabels } from "../../resources/project/index.ts";
import { usageIntervals } from "../usage/table.ts";
import type { DailyCost, InvoicedLine, InvoiceLine } from "./compose.ts";
import { creditNotes, documentSequences, invoiceLines, invoices } from "./table.ts";

const { dailyCosts, ...columns } = getTableColumns(invoices);

/** An invoice, without what only the chart of its PDF needs. */
export type Invoice = Omit<typeof invoices.$inferSelect, "dailyCosts">;

/** Until the end of the transaction no other one issues an invoice to the organization. */
export async function lockInvoices(tx: Queryable, orgId: string): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended('marina invoices ' || ${orgId}, 0))`);
}

/** Whether an organization, which may be deleted, was ever issued an invoice. */
export async function hasInvoices(db: Queryable, orgId: string): Promise<boolean> {
  const rows = await db.select({ id: invoices.id }).from(invoices).where(eq(invoices.orgId, orgId)).limit(1);
  return rows.length > 0;
}

/** Which of these months an organization has an invoice of, as first days. */
export async function findInvoicedPeriods(
  db: Queryable,
  orgId: string,
  periods: readonly string[],
): Promise<Set<string>> {
  const rows = await db
    .select({ period: invoices.period })
    .from(invoices)
    .where(and(eq(invoices.orgId, orgId), inArray(invoices.period, [...periods])));
  return new Set(rows.map(({ period }) => period));
}

/** Every line that was ever invoiced to an organization for a month, adjustments included. */
export async function readInvoicedLines(
  db: Queryable,
  orgId: string,
  period: string,
): Promise<InvoicedLine[]> {
  return db
    .select({
      period: invoiceLines.period,
      clusterId: invoiceLines.clusterId,
      resourceType: invoiceLines.resourceType,
      unitPriceEUR: invoiceLines.unitPriceEUR,
      unitSeconds: invoiceLines.unitSeconds,
      amountCents: invoiceLines.amountCents,
    })
    .from(invoiceLines)
    .innerJoin(invoices, eq(invoices.id, invoiceLines.invoiceId))
    .where(and(eq(invoices.orgId, orgId), eq(invoiceLines.period, period)));
}

/** Lines with the labels that hold now of their clusters and of the organization. */
export async function addLabels(
  db: Queryable,
  orgId: string,
  lines: readonly InvoiceLine[],
): Promise<InvoiceLine[]> {
  const { labels = {} } = (await findOrganization(db, orgId)) ?? {};
  const ofClusters = await readClusterLabels(db, orgId);
  return lines.map((line) => ({ ...line, labels: { ...labels, ...ofClusters.get(line.clusterId ?? "") } }));
}

/**
 * Takes the next position of a year among invoices or credit notes. Until the end of the transaction no other one gets a position of
 * that year, so that one that is rolled back leaves no gap.
 */
export async function takeSequence(
  tx: Queryable,
  year: number,
  documents: "invoices" | "creditNotes",
): Promise<number> {
  const last = documentSequences[documents];
  const [row] = await tx
    .insert(documentSequences)
    .values({ year, [documents]: 1 })
    .onConflictDoUpdate({ target: documentSequences.year, set: { [documents]: sql`${last} + 1` } })
    .returning({ last });
  if (row === undefined) throw new Error(`no sequence of ${documents} of ${year}`);
  return row.last;
}

/** Writes an invoice, and what the days of its month cost. */
export async function insertInvoice(tx: Queryable, invoice: Invoice, days?: DailyCost[]): Promise<void> {
  await tx.insert(invoices).values({ ...invoice, dailyCosts: days ?? null });
}

/** Writes the lines of an invoice, in their order. */
export async function insertInvoiceLines(
  tx: Queryable,
  invoiceId: string,
  lines: readonly InvoiceLine[],
): Promise<void> {
  const numbered = lines.map((line, index) => ({ invoiceId, position: index + 1, ...line }));
  for (const rows of chunk(numbered)) await tx.insert(invoiceLines).values(rows);
}

/** What the days of an invoice's month cost; none for an invoice that was issued without them. */
export async function readDailyCosts(db: Queryable, { orgId, id }: Invoice): Promise<DailyCost[]> {
  const [row] = await db
    .select({ dailyCosts })
    .from(invoices)
    .where(and(eq(invoices.orgId, orgId), eq(invoices.id, id)));
  return row?.dailyCosts ?? [];
}

/** The last invoice that an organization was issued before one, for an earlier month. */
export async function findInvoiceBefore(
  db: Queryable,
  { orgId, id, period }: Invoice,
): Promise<Invoice | undefined> {
  const [row] = await db
    .select(columns)
    .from(invoices)
    .where(and(eq(invoices.orgId, orgId), lt(invoices.id, id), lt(invoices.period, period)))
    .orderBy(desc(invoices.period))
    .limit(1);
  return row;
}

/** One invoice of an organization. */
export async function findInvoice(db: Queryable, orgId: string, id: string): Promise<Invoice | undefined> {
  const [row] = await db
    .select(columns)
    .from(invoices)
    .where(and(eq(invoices.orgId, orgId), eq(invoices.id, id)));
  return row;
}

/** The invoice of an organization for the month of a first day. */
export async function findInvoiceOfPeriod(
  db: Queryable,
  orgId: string,
  period: string,
): Promise<Invoice | undefined> {
  const [row] = await db
    .select(columns)
    .from(invoices)
    .where(and(eq(invoices.orgId, orgId), eq(invoices.period, period)));
  return row;
}

/** One invoice of any organization. */
export async function findAnyInvoice(db: Queryable, id: string): Promise<Invoice | undefined> {
  const [row] = await db.select(columns).from(invoices).where(eq(invoices.id, id));
  return row;
}

/** A page of an organization's invoices, the newest first. */
export async function listInvoices(
  db: Queryable,
  orgId: string,
  { cursor, limit }: PageRequest,
): Promise<Invoice[]> {
  return db
    .select(columns)
    .from(invoices)
    .where(and(eq(invoices.orgId, orgId), cursor === undefined ? undefined : lt(invoices.id, cursor)))
    .orderBy(desc(invoices.id))
    .limit(limit + 1);
}

/** A page of all invoices, the newest first. */
export async function listAllInvoices(db: Queryable, { cursor, limit }: PageRequest): Promise<Invoice[]> {
  return db
    .select(columns)
    .from(invoices)
    .where(cursor === undefined ? undefined : lt(invoices.id, cursor))
    .orderBy(desc(invoices.id))
    .limit(limit + 1);
}

/** At most `limit` organizations after `cursor` that used anything in a time, by id; deleted ones too. */
export async function listOrganizationsWithUsage(
  db: Queryable,
  { from, to }: { from: Date; to: Date },
  { cursor = NIL_ID, limit }: PageRequest,
): Promise<string[]> {
  const rows = await db
    .select({ orgId: usageIntervals.organizationId })
    .from(usageIntervals)
    .where(
      and(
        gt(usageIntervals.organizationId, cursor),
        sql`coalesce(${usageIntervals.endedAt}, 'infinity'::timestamptz) > ${from.toISOString()}::timestamptz`,
        lt(usageIntervals.startedAt, to),
      ),
    )
    .groupBy(usageIntervals.organizationId)
    .orderBy(asc(usageIntervals.organizationId))
    .limit(limit);
  return rows.map(({ orgId }) => orgId);
}

/** What credit notes have given back of an invoice. */
export type Credited = Pick<Invoice, "amountCents" | "vatCents">;

/** What was credited so far on each of these invoices, by the invoice's id: 0 where nothing was. */
export async function readCredited(
  db: Queryable,
  invoices: readonly { id: string; orgId: string }[],
): Promise<(invoice: { id: string }) => Credited> {
  const rows = await db
    .select({
      invoiceId: creditNotes.invoiceId,
      amountCents: sql<string>`sum(${creditNotes.amountCents})`,
      vatCents: sql<string>`sum(${creditNotes.vatCents})`,
    })
    .from(creditNotes)
    .where(
      and(
        inArray(creditNotes.orgId, [...new Set(invoices.map(({ orgId }) => orgId))]),
        inArray(
          creditNotes.invoiceId,
          invoices.map(({ id }) => id),
        ),
      ),
    )
    .groupBy(creditNotes.invoiceId);
  const credited = new Map(
    rows.map(({ invoiceId, amountCents, vatCents }) => [
      invoiceId,
      { amountCents: BigInt(amountCents), vatCents: BigInt(vatCents) },
    ]),
  );
  return ({ id }) => credited.get(id) ?? { amountCents: 0n, vatCents: 0n };
}
