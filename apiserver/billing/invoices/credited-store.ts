import { and, inArray, sql } from "drizzle-orm";
import type { Queryable } from "../../db/client.ts";
import type { Invoice } from "./store.ts";
import { creditNotes } from "./table.ts";

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
