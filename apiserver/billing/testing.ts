import { createId } from "../../shared/id.ts";
import type { Database } from "../db/client.ts";
import { insertCreditNote, insertCreditNoteLines } from "./credit-notes/store.ts";
import { insertInvoice } from "./invoices/store.ts";
import type { UsageInterval } from "./usage/interval.ts";
import { usageEvidence, usageIntervals } from "./usage/table.ts";

/** Writes an interval into the ledger: one vCPU of no cluster unless told otherwise. Returns its id. */
export async function insertUsage(
  db: Database,
  given: Partial<UsageInterval> &
    Pick<UsageInterval, "organizationId" | "startedAt"> & { correctionOf?: string },
): Promise<string> {
  const [id, evidenceId, subject] = [createId(), createId(), createId()];
  const { organizationId } = given;
  const sample = { at: "", quantities: {}, clusterId: null, clusterName: null, nodePoolId: null };
  const evidence = { organizationId, kind: "machine", subject, objectUid: subject, sample } as const;
  await db.insert(usageEvidence).values({ id: evidenceId, ...evidence, observedAt: new Date() });
  const interval = {
    clusterId: null,
    clusterName: null,
    nodePoolId: null,
    resourceType: "vcpu" as const,
    quantity: 1n,
    endedAt: null,
    ...given,
  };
  await db.insert(usageIntervals).values({ ...interval, id, subject, evidenceId });
  return id;
}

/** Who issues the invoices of tests. */
export const TEST_SUPPLIER = {
  name: "Marina Cloud GmbH",
  street: "Hafen 1",
  postalCode: "20457",
  city: "Hamburg",
  country: "DE",
  vatId: "DE123456789",
  email: "invoices@marina.example",
};

/** Writes the first invoice of an organization, of October 2026. Returns its id. */
export async function insertTestInvoice(db: Database, orgId: string): Promise<string> {
  const id = createId();
  await insertInvoice(db, {
    id,
    orgId,
    period: "2026-10-01",
    number: `TEST-${id.slice(-12)}`,
    year: 1999,
    sequence: 1,
    issuedAt: new Date("2026-11-01T06:00:00Z"),
    amountCents: 100n,
    vatCase: "domestic",
    vatBasisPoints: 1900,
    vatCents: 19n,
    supplier: TEST_SUPPLIER,
    buyer: { ...TEST_SUPPLIER, name: "Example Ltd", vatId: null, email: null },
  });
  return id;
}

/** Writes a credit note on an invoice of an organization. Returns its id. */
export async function insertTestCreditNote(db: Database, orgId: string, invoiceId: string): Promise<string> {
  const id = createId();
  await insertCreditNote(db, {
    id,
    orgId,
    invoiceId,
    number: `TEST-CN-${id.slice(-12)}`,
    year: 1999,
    sequence: 1,
    issuedAt: new Date("2026-11-02T09:00:00Z"),
    reason: "A test.",
    amountCents: 50n,
    vatCase: "domestic",
    vatBasisPoints: 1900,
    vatCents: 10n,
    supplier: TEST_SUPPLIER,
    buyer: { ...TEST_SUPPLIER, name: "Example Ltd", vatId: null, email: null },
  });
  await insertCreditNoteLines(db, id, [{ description: "vCPU", amountCents: 50n }]);
  return id;
}
