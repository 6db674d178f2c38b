import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { BillingPage, BillingProgram, Cost, UsageSizes } from "../../../e2e/bench/billing/programs.ts";
import { serve } from "../../../e2e/bench/remote.ts";
import { createLogger } from "../../../shared/program/log.ts";
import { connectDatabase, type DatabaseClients } from "../../db/client.ts";
import { createTestDatabase, type TestDatabase } from "../../db/testing.ts";
import { webhookEvents } from "../../events/table.ts";
import { sendAlerts } from "../budget-alerts/send-alerts.ts";
import { presentBudget } from "../budgets/routes.ts";
import { requireBudget } from "../budgets/store.ts";
import { closeMonth } from "../invoices/close.ts";
import { readAmountsByType, readInvoiceLines } from "../invoices/line-store.ts";
import { toInvoicePdf } from "../invoices/pdf/write.ts";
import { findInvoiceBefore, type Invoice, listAllInvoices, readDailyCosts } from "../invoices/store.ts";
import { invoices } from "../invoices/table.ts";
import { type Month, monthOf, parseMonth } from "../month.ts";
import { readRatingSnapshot } from "../rating/read.ts";
import { presentForecast, presentSpend } from "../spend/present.ts";
import { TEST_SUPPLIER } from "../testing.ts";
import { runInTurns } from "../turns.ts";
import { seedUsage } from "./seed.ts";

/** A program of `npm run bench billing`. */
const MONTH = parseMonth("2026-10") as Month;
/** Almost all of the month has passed. */
const READ_AT = new Date(MONTH.end.getTime() - 3_600_000);
const CLOSED_AT = new Date(MONTH.end.getTime() + 6 * 3_600_000);
const PAGE_SIZE = 50;
const SAMPLE_MS = 20;

let database: TestDatabase;
let clients: DatabaseClients;
let organizations = 0;

function depsAt(now: Date) {
  const invoicing = { supplier: TEST_SUPPLIER, vatBasisPoints: { DE: 1900 }, numberPrefix: "BENCH" };
  const log = createLogger({ name: "bench", level: "error" });
  return { db: clients.db, now: () => now, log, config: { invoicing } };
}

async function measure(run: () => Promise<void>): Promise<Cost> {
  const startedAt = performance.now();
  const before = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(before);
  return { seconds: (performance.now() - startedAt) / 1000, cpuSeconds: (user + system) / 1e6 };
}

async function readPage(page: BillingPage, orgId: string): Promise<object> {
  const now = READ_AT;
  if (page === "budget") return presentBudget(await requireBudget(clients.db, orgId));
  const source = await readRatingSnapshot(clients.db, orgId, monthOf(now));
  if (page === "forecast") return runInTurns(presentForecast({ orgId, source, now }));
  return runInTurns(presentSpend({ orgId, source, now }, { limit: PAGE_SIZE }));
}

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

function readHeapMB(): number {
  collect();
  return process.memoryUsage().heapUsed / 1e6;
}

/** The heap in use when this many invoices are issued. */
async function watchHeap(count: number, signal: AbortSignal): Promise<number> {
  while (!signal.aborted && (await clients.db.$count(invoices)) < count) await sleep(SAMPLE_MS);
  return readHeapMB();
}

async function writeDocument(invoice: Invoice): Promise<void> {
  const { db } = clients;
  const lines = await readInvoiceLines(db, invoice);
  const before = await findInvoiceBefore(db, invoice);
  const previous = before && { invoice: before, lines: await readAmountsByType(db, before) };
  await toInvoicePdf({ invoice, lines }, previous, await readDailyCosts(db, invoice));
}

const program = {
  open: async ({ adminUrl }: { adminUrl: string }) => {
    database = await createTestDatabase(adminUrl);
    clients = connectDatabase(database.url);
  },
  addOrganizations: async (sizes: UsageSizes) => {
    const first = organizations;
    organizations += sizes.organizations;
    return seedUsage(clients.sql, first, sizes);
  },
  readPages: async ({
    page,
    orgIds,
    rounds,
  }: {
    page: BillingPage;
    orgIds: readonly string[];
    rounds: number;
  }) => {
    const found = orgIds.map(() => ({ ms: [] as number[], bytes: 0 }));
    for (let round = 0; round < rounds; round++)
      for (const [index, orgId] of orgIds.entries()) {
        const startedAt = performance.now();
        const text = JSON.stringify(await readPage(page, orgId));
        found[index]?.ms.push(performance.now() - startedAt);
        Object.assign(found[index] ?? {}, { bytes: text.length });
      }
    return found;
  },
  close: async () => {
    const stop = new AbortController();
    const early = watchHeap(organizations / 10, stop.signal);
    const cost = await measure(() => closeMonth(depsAt(CLOSED_AT), MONTH));
    stop.abort();
    const heapMB = { early: await early, late: readHeapMB() };
    return { ...cost, heapMB, invoices: await clients.db.$count(invoices) };
  },
  writeDocuments: async (count: number) => {
    const ms: number[] = [];
    for (const invoice of await listAllInvoices(clients.db, { limit: count })) {
      const startedAt = performance.now();
      await writeDocument(invoice);
      ms.push(performance.now() - startedAt);
    }
    return ms;
  },
  sendAlerts: async (due: "all" | "none") => {
    const at = due === "all" ? READ_AT : new Date(MONTH.end);
    await clients.sql`update budgets set next_check_at = ${at}`;
    await clients.sql`vacuum analyze budgets`;
    const before = await clients.db.$count(webhookEvents);
    const cost = await measure(() => sendAlerts(depsAt(READ_AT), new AbortController().signal));
    return { ...cost, events: (await clients.db.$count(webhookEvents)) - before };
  },
  drop: async () => {
    await clients.close();
    await database.drop();
  },
} satisfies BillingProgram;

serve(program);
