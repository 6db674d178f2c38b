import { and, asc, desc, eq, getTableColumns, lt } from "drizzle-orm";
import type { Queryable } from "../../db/client.ts";
import type { PageRequest } from "../../http/contract/page.ts";
import { creditNoteLines, creditNotes } from "../invoices/table.ts";

export type CreditNote = typeof creditNotes.$inferSelect;

/** A line of a credit note: what is given back, net, and why. */
export type CreditNoteLine = Pick<typeof creditNoteLines.$inferSelect, "description" | "amountCents">;

/** Writes a credit note. */
export async function insertCreditNote(tx: Queryable, note: CreditNote): Promise<void> {
  await tx.insert(creditNotes).values(note);
}

/** Writes the lines of a credit note, in their order. */
export async function insertCreditNoteLines(
  tx: Queryable,
  creditNoteId: string,
  lines: readonly CreditNoteLine[],
): Promise<void> {
  await tx
    .insert(creditNoteLines)
    .values(lines.map((line, index) => ({ creditNoteId, position: index + 1, ...line })));
}

/** One credit note of an organization. */
export async function findCreditNote(
  db: Queryable,
  orgId: string,
  id: string,
): Promise<CreditNote | undefined> {
  const [row] = await db
    .select()
    .from(creditNotes)
    .where(and(eq(creditNotes.orgId, orgId), eq(creditNotes.id, id)));
  return row;
}

/** The lines of a credit note of an organization, in their order. */
export async function readCreditNoteLines(
  db: Queryable,
  { orgId, id }: Pick<CreditNote, "orgId" | "id">,
): Promise<CreditNoteLine[]> {
  const { creditNoteId: _, position, ...columns } = getTableColumns(creditNoteLines);
  return db
    .select(columns)
    .from(creditNoteLines)
    .innerJoin(creditNotes, eq(creditNotes.id, creditNoteLines.creditNoteId))
    .where(and(eq(creditNotes.orgId, orgId), eq(creditNotes.id, id)))
    .orderBy(asc(position));
}

/** A page of an organization's credit notes, the newest first. */
export async function listCreditNotes(
  db: Queryable,
  orgId: string,
  { cursor, limit }: PageRequest,
): Promise<CreditNote[]> {
  return db
    .select()
    .from(creditNotes)
    .where(and(eq(creditNotes.orgId, orgId), cursor === undefined ? undefined : lt(creditNotes.id, cursor)))
    .orderBy(desc(creditNotes.id))
    .limit(limit + 1);
}

/** A page of all credit notes, the newest first. */
export async function listAllCreditNotes(
  db: Queryable,
  { cursor, limit }: PageRequest,
): Promise<CreditNote[]> {
  return db
    .select()
    .from(creditNotes)
    .where(cursor === undefined ? undefined : lt(creditNotes.id, cursor))
    .orderBy(desc(creditNotes.id))
    .limit(limit + 1);
}
