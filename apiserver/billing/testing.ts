import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createId } from "../../shared/program/id.ts";
import type { Database } from "../db/client.ts";
import { startTestApp, type TestApp, type TestAppChanges } from "../testing/app.ts";
import { toPdfOfCreditNote } from "./credit-notes/present.ts";
import {
  insertCreditNote,
  insertCreditNoteLines,
  listAllCreditNotes,
  readCreditNoteLines,
} from "./credit-notes/store.ts";
import { readInvoiceLines } from "./invoices/line-store.ts";
import { toInvoicePdf } from "./invoices/pdf/write.ts";
import { findInvoice, insertInvoice, listAllInvoices, readDailyCosts } from "./invoices/store.ts";
import { insertRates } from "./rate-card/store.ts";
import type { UsageInterval } from "./resource-types.ts";
import { usageEvidence, usageIntervals } from "./usage/table.ts";

/** Writes an interval into the ledger: by default one vCPU of no cluster and a new subject. Returns its id. */
export async function insertUsage(
  db: Database,
  {
    subject = createId(),
    ...given
  }: Partial<UsageInterval> &
    Pick<UsageInterval, "organizationId" | "startedAt"> & { correctionOf?: string; subject?: string },
): Promise<string> {
  const [id, evidenceId] = [createId(), createId()];
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

/** The API of a supplier in Germany. A vCPU costs 31 EUR a month, so that in January each day of one costs a euro. */
export async function startInvoicingApp(changes?: TestAppChanges): Promise<TestApp> {
  const api = await startTestApp(changes);
  const invoicing = { supplier: TEST_SUPPLIER, vatBasisPoints: { DE: 1900, FR: 2000 }, numberPrefix: "TEST" };
  api.deps.config = { ...api.deps.config, invoicing };
  const changedBy = { kind: "staff", userId: createId(), email: null } as const;
  const rule = { effectiveFrom: new Date("2025-12-01"), changedBy };
  await insertRates(api.deps.db, new Map([["vcpu", 31_000_000n]] as const), rule);
  return { ...api, close: () => keepDocuments(api).then(() => api.close()) };
}

/**
 * Makes an organization of alice's, without a profile, for the tests of its invoices, and sets the clock to when January of 2026 is
 * closed.
 */
export async function startInvoices(api: TestApp) {
  api.deps.now = () => new Date("2026-02-01T06:00:00Z");
  const id = await api.createOrganization();
  const path = `/api/v1/organizations/${id}`;
  return {
    id,
    path,
    /** Writes usage into the ledger: by default one vCPU for a day of January. */
    use: (given: Partial<UsageInterval> = {}) =>
      insertUsage(api.deps.db, {
        organizationId: id,
        startedAt: new Date("2026-01-10T00:00:00Z"),
        endedAt: new Date("2026-01-11T00:00:00Z"),
        ...given,
      }),
    setProfile: (body: object = { name: "Example Ltd", country: "DE", city: "Berlin" }) =>
      api.request("PUT", `${path}/billing/profile`, { body }),
    list: async () => (await api.request("GET", `${path}/billing/invoices`)).body.items,
  };
}

/**
 * With MARINA_ISSUED_DOCUMENTS, a folder, keeps every invoice and credit note that was issued there, for
 * `npm run test:invoices`.
 */
async function keepDocuments({ deps: { db } }: TestApp): Promise<void> {
  const folder = process.env.MARINA_ISSUED_DOCUMENTS;
  if (folder === undefined) return;
  for (const invoice of (await listAllInvoices(db, { limit: 10_000 })).filter(({ year }) => year > 2000)) {
    const lines = await readInvoiceLines(db, invoice);
    const document = await toInvoicePdf({ invoice, lines }, undefined, await readDailyCosts(db, invoice));
    writeFileSync(join(folder, `${invoice.id}.pdf`), document);
  }
  for (const note of (await listAllCreditNotes(db, { limit: 10_000 })).filter(({ year }) => year > 2000)) {
    const invoice = await findInvoice(db, note.orgId, note.invoiceId);
    if (invoice === undefined) throw new Error(`${note.number} has no invoice`);
    const document = await toPdfOfCreditNote({ note, lines: await readCreditNoteLines(db, note), invoice });
    writeFileSync(join(folder, `${note.id}.pdf`), document);
  }
}

/** Writes the first invoice of an organization, of October 2026; each of one database with its own number. Returns its id. */
export async function insertTestInvoice(db: Database, orgId: string, sequence = 1): Promise<string> {
  const id = createId();
  await insertInvoice(db, {
    id,
    orgId,
    period: "2026-10-01",
    number: `TEST-${id.slice(-12)}`,
    year: 1999,
    sequence,
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

/** Amounts in a body, and as they are answered. */
export const DOUBLES: readonly (readonly [sent: number, answered: number])[] = [
  [5e-324, 0],
  [1e-7, 0],
  [1.0000001, 1],
  [0.1 + 0.2, 0.3],
  [1.1 * 3, 3.3],
  [100 / 3, 33.333333],
  [1_000_000_000.01, 1_000_000_000.01],
  [1e15, 1e15],
  [1e23, 1e23],
  [1e308, 1e308],
  [Number.MAX_VALUE, Number.MAX_VALUE],
];

/** The result of a computation, and the largest part of its processor time that went by without a turn for others. */
export async function measureTurns<Result>(
  compute: () => Promise<Result>,
): Promise<{ result: Result; longestPart: number }> {
  const readMicroseconds = () => process.threadCpuUsage().user;
  const beganAt = readMicroseconds();
  let [turnBeganAt, longest] = [beganAt, 0];
  let timer: NodeJS.Immediate;
  const endTurn = () => {
    const now = readMicroseconds();
    longest = Math.max(longest, now - turnBeganAt);
    turnBeganAt = now;
    timer = setImmediate(endTurn);
  };
  timer = setImmediate(endTurn);
  const result = await compute();
  clearImmediate(timer);
  const endedAt = readMicroseconds();
  return { result, longestPart: Math.max(longest, endedAt - turnBeganAt) / (endedAt - beganAt) };
}
