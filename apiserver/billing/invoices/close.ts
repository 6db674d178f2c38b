import { createId } from "../../../shared/program/id.ts";
import { recordSystemAudits } from "../../audit/index.ts";
import type { Database, Queryable } from "../../db/client.ts";
import type { Deps } from "../../deps.ts";
import { emitWebhookEvents, newEvent } from "../../events/emit.ts";
import { cutPage, type Page, type PageRequest } from "../../http/contract/page.ts";
import { isCountry } from "../country.ts";
import { invoiceGenerated } from "../event-schema.ts";
import { toJsonCents } from "../money.ts";
import { type Month, monthBefore, monthOfPeriod, periodOf } from "../month.ts";
import { readProfile } from "../profile/store.ts";
import { sumCents } from "../rating/lines.ts";
import { type RatingSource, readRatingSource } from "../rating/read.ts";
import { runInTurns } from "../turns.ts";
import { deleteWaiting, listOrganizationsToClose, upsertWaiting } from "./close-store.ts";
import { findUnofficialCode } from "./code-lists.ts";
import { composeLines, findDailyCosts, type InvoiceLine } from "./compose.ts";
import type { Invoicing } from "./config.ts";
import {
  addLabels,
  findInvoicedPeriods,
  type Invoice,
  insertInvoice,
  insertInvoiceLines,
  listOrganizationsWithUsage,
  lockInvoices,
  readInvoicedLines,
  takeSequence,
} from "./store.ts";
import type { WaitingReason } from "./table.ts";
import { vatCents, vatOf } from "./vat.ts";
import { composeDocument } from "./xml.ts";

/** Months before the one that is closed whose usage may still have changed since their invoice. */
const ADJUSTED_MONTHS = 2;
const ORGANIZATIONS_PER_PAGE = 200;
const SEQUENCE_DIGITS = 6;

/** What a close comes to for one organization: an invoice, nothing to invoice, or a reason to wait. */
export type Outcome =
  | { kind: "issued" | "due"; amountCents: bigint }
  | Waiting
  | { kind: "already_issued" | "nothing" };

interface Waiting {
  kind: "waiting";
  reason: WaitingReason;
  amountCents: bigint;
  /** What is to be mended in the platform itself, for its log. */
  fault?: string;
}

type CloseDeps = Pick<Deps, "now" | "log"> & { db: Database; config: Pick<Deps["config"], "invoicing"> };

/**
 * Closes a month: one transaction per organization writes the invoice, its number and its event. An organization that
 * has an invoice of the month is skipped, so that it can run again, or in several processes at once. It gets those too of the two
 * months before that have none, where all usage became known late. When one organization fails, the others still get
 * their invoices; then it rejects at the end.
 */
export async function closeMonth(deps: CloseDeps, month: Month, signal?: AbortSignal): Promise<void> {
  const failures: unknown[] = [];
  for await (const { orgId, missed } of findOrganizations(deps.db, month)) {
    if (signal?.aborted === true) return;
    // One that fails again is tried with the next close: it keeps this month open for nobody.
    for (const period of missed)
      await closeOrganizationOrLog(deps, orgId, monthOfPeriod(period), { isMissed: true });
    const { error } = await closeOrganizationOrLog(deps, orgId, month);
    if (error !== undefined) failures.push(error);
  }
  if (failures.length > 0)
    throw new AggregateError(failures, `${month.name} is not closed for ${failures.length} organizations`);
}

/** Closes the month of one organization. A failure is logged and given back, so that it keeps no other one waiting. */
export async function closeOrganizationOrLog(
  deps: CloseDeps,
  orgId: string,
  month: Month,
  options: CloseOptions = {},
): Promise<{ error?: Error }> {
  try {
    await closeOrganization(deps, orgId, month, options);
    return {};
  } catch (cause) {
    const error = cause instanceof Error ? cause : new Error(String(cause));
    deps.log.error(
      { orgId, month: month.name, message: error.message },
      "an organization's month is not closed",
    );
    return { error };
  }
}

/** What closing a month would come to for one organization. */
export interface OutcomeOf {
  orgId: string;
  outcome: Outcome;
}

/** What closing a month would come to, without missed months before it, for a page of organizations by id; writes nothing. */
export async function dryRunClose<Item>(
  { db, config: { invoicing } }: CloseDeps,
  month: Month,
  { cursor, limit }: PageRequest,
  present: (of: OutcomeOf) => Item,
): Promise<Page<Item>> {
  const ids = await listOrganizationsWithUsage(db, usedBefore(month), { cursor, limit: limit + 1 });
  const rows: OutcomeOf[] = [];
  for (const orgId of ids.slice(0, limit)) {
    const { due: _, ...outcome } = await draftInvoice(db, invoicing, orgId, month);
    rows.push({ orgId, outcome });
  }
  const next = ids.length > limit ? (rows.at(-1)?.orgId ?? null) : null;
  return cutPage(rows, { present, cursorOf: ({ orgId }) => orgId, next });
}

interface CloseOptions {
  /** It was closed before: what differs in the months before it is left to the close that found it, unless its invoice has to wait. */
  isMissed?: boolean;
}

/** Issues the invoice of one organization and month, if anything is to be invoiced and nothing is missing. */
export async function closeOrganization(
  { db, config: { invoicing }, now, log }: CloseDeps,
  orgId: string,
  month: Month,
  options: CloseOptions = {},
): Promise<Outcome> {
  const outcome = await db.transaction(async (tx): Promise<Outcome> => {
    await lockInvoices(tx, orgId);
    const draft = await draftInvoice(tx, invoicing, orgId, month, options);
    const period = periodOf(month);
    if (draft.kind === "waiting") await upsertWaiting(tx, { ...draft, orgId, period, since: now() });
    else await deleteWaiting(tx, orgId, period);
    if (draft.kind !== "due") return draft;
    await issue(tx, { ...draft.due, month, issuedAt: now() });
    return { kind: "issued", amountCents: draft.amountCents };
  });
  if (outcome.kind === "issued") log.info({ orgId, month: month.name }, "issued an invoice");
  if (outcome.kind === "waiting" && outcome.fault !== undefined)
    log.error({ orgId, month: month.name, message: outcome.fault }, "an invoice was refused");
  return outcome;
}

interface DueInvoice {
  invoice: Omit<Invoice, keyof typeof UNNUMBERED>;
  lines: InvoiceLine[];
  source: RatingSource;
  numberPrefix: string;
}

/** What an invoice is given when it is issued. */
const UNNUMBERED = { id: "", number: "", year: 0, sequence: 0, issuedAt: new Date(0) };

type Draft =
  | { kind: "due"; amountCents: bigint; due: DueInvoice }
  | (Waiting & { due?: never })
  | { kind: "already_issued" | "nothing"; due?: never };

async function draftInvoice(
  tx: Queryable,
  invoicing: Invoicing | undefined,
  orgId: string,
  month: Month,
  { isMissed = false }: CloseOptions = {},
): Promise<Draft> {
  const months = isMissed ? [] : monthsBefore(month, ADJUSTED_MONTHS);
  const issued = await findInvoicedPeriods(tx, orgId, [month, ...months].map(periodOf));
  if (issued.has(periodOf(month))) return { kind: "already_issued" };
  const earlier = [];
  for (const before of months.filter((one) => issued.has(periodOf(one))))
    earlier.push({
      source: await readRatingSource(tx, orgId, before),
      invoiced: await readInvoicedLines(tx, orgId, periodOf(before)),
    });
  const source = await readRatingSource(tx, orgId, month);
  const lines = await runInTurns(composeLines(source, earlier));
  if (lines.length === 0) return { kind: "nothing" };
  const amountCents = sumCents(lines);
  if (invoicing === undefined) return { kind: "waiting", reason: "invoicing_not_configured", amountCents };
  const profile = await readProfile(tx, orgId);
  if (profile === undefined || profile.name === null || profile.country === null)
    return { kind: "waiting", reason: "billing_profile_incomplete", amountCents };
  // The electronic invoice takes members of ISO 3166-1 alone.
  if (!isCountry(profile.country))
    return { kind: "waiting", reason: "billing_profile_incomplete", amountCents };
  const { name, country, street, postalCode, city, vatId, taxNumber, billingEmail: email } = profile;
  const { reference, purchaseOrder } = profile;
  const address = { name, country, street, postalCode, city, vatId, taxNumber, email };
  const buyer = { ...address, reference, purchaseOrder };
  const vat = vatOf(invoicing, buyer);
  const invoice = {
    orgId,
    period: periodOf(month),
    amountCents,
    vatCase: vat.case,
    vatBasisPoints: vat.basisPoints,
    vatCents: vatCents(amountCents, vat),
    supplier: invoicing.supplier,
    buyer,
  };
  const fault = findUnofficialCode(composeDocument({ ...UNNUMBERED, ...invoice }, lines));
  if (fault !== undefined) return { kind: "waiting", reason: "code_not_official", amountCents, fault };
  const { numberPrefix } = invoicing;
  const labelled = await addLabels(tx, orgId, lines);
  return { kind: "due", amountCents, due: { invoice, lines: labelled, source, numberPrefix } };
}

interface Issue extends DueInvoice {
  month: Month;
  issuedAt: Date;
}

/** The number is taken last of all, because it keeps every other close waiting until the commit. */
async function issue(
  tx: Queryable,
  { month, issuedAt, lines, source, numberPrefix, ...due }: Issue,
): Promise<void> {
  const year = issuedAt.getUTCFullYear();
  const sequence = await takeSequence(tx, year, "invoices");
  const number = `${numberPrefix}-${year}-${String(sequence).padStart(SEQUENCE_DIGITS, "0")}`;
  const invoice: Invoice = { ...due.invoice, id: createId(), number, year, sequence, issuedAt };
  const { orgId, amountCents } = invoice;
  await insertInvoice(tx, invoice, findDailyCosts(source));
  await insertInvoiceLines(tx, invoice.id, lines);
  await recordSystemAudits(tx, "month-close", [
    {
      action: "invoice.issue",
      orgId,
      target: { kind: "invoice", id: invoice.id },
      after: { number: invoice.number, month: month.name, amount_cents: toJsonCents(amountCents) },
      result: "done",
    },
  ]);
  const data = {
    invoice_id: invoice.id,
    amount_cents: toJsonCents(amountCents),
    currency: "EUR" as const,
    period_start: month.start.toISOString(),
    period_end: month.end.toISOString(),
  };
  await emitWebhookEvents(tx, [newEvent(invoiceGenerated, { orgId, occurredAt: issuedAt, data })]);
}

async function* findOrganizations(
  db: Queryable,
  month: Month,
): AsyncGenerator<{ orgId: string; missed: string[] }> {
  const limit = ORGANIZATIONS_PER_PAGE;
  const time = { ...usedBefore(month), earlier: monthsBefore(month, ADJUSTED_MONTHS).reverse() };
  let cursor: string | undefined;
  do {
    const found = await listOrganizationsToClose(db, time, { cursor, limit });
    yield* found;
    cursor = found.length === limit ? found.at(-1)?.orgId : undefined;
  } while (cursor !== undefined);
}

/** The time in which what is invoiced with a month was used: adjustments are of the months before it. */
function usedBefore(month: Month): { from: Date; to: Date } {
  return { from: monthsBefore(month, ADJUSTED_MONTHS).at(-1)?.start ?? month.start, to: month.end };
}

/** The months before one, the last first. */
function monthsBefore(month: Month, count: number): Month[] {
  const months: Month[] = [];
  for (let next = month; months.length < count; ) {
    next = monthBefore(next);
    months.push(next);
  }
  return months;
}
