import { and, eq } from "drizzle-orm";
import { beforeEach, describe, expect, test } from "vitest";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { createId } from "../../../shared/program/id.ts";
import { auditLog } from "../../audit/table.ts";
import type { TestRequest } from "../../testing/app.ts";
import { closeMonth } from "../invoices/close.ts";
import { creditNotes } from "../invoices/table.ts";
import { type Month, parseMonth } from "../month.ts";
import { TEST_SUPPLIER as SUPPLIER, startInvoices, startInvoicingApp } from "../testing.ts";

const JANUARY = parseMonth("2026-01") as Month;
const at = (text: string) => new Date(`${text}Z`);

const api = setUp(startInvoicingApp);
let org: Awaited<ReturnType<typeof startInvoices>>;
let invoiceId: string;

beforeEach(async () => {
  org = await startInvoices(api);
  await org.setProfile();
  // 3 days of one vCPU: 300 cents net, 57 cents VAT.
  await org.use({ endedAt: at("2026-01-13T00:00:00") });
  await closeMonth(api.deps, JANUARY);
  invoiceId = (await org.list())[0].id;
});

const noteOf = (...cents: number[]) => ({
  invoice_id: invoiceId,
  reason: "It could not be reached.",
  lines: cents.map((amount) => ({ description: "vCPU", amount_cents: amount })),
});
const credit = (body: object, request: TestRequest = {}) =>
  api.request("POST", `/api/v1/admin/organizations/${org.id}/credit-notes`, {
    as: "staff",
    body,
    ...request,
  });
const list = async () => (await api.request("GET", `${org.path}/billing/credit-notes`)).body.items;

describe("a credit note", () => {
  test("has the VAT and the parties of its invoice and a number of its own, for tenant and staff", async () => {
    const issued = await credit(noteOf(100, 50));
    expect(issued.status).toBe(201);
    expect(issued.body).toMatchObject({
      org_id: org.id,
      invoice_id: invoiceId,
      number: expect.stringMatching(/^TEST-CN-2026-\d{6}$/),
      issued_at: "2026-02-01T06:00:00.000Z",
      reason: "It could not be reached.",
      amount_cents: 150,
      vat_case: "domestic",
      vat_rate_percent: "19.00",
      vat_cents: 29,
      total_cents: 179,
      supplier: { name: SUPPLIER.name },
      buyer: { name: "Example Ltd", country: "DE" },
      lines: [
        { description: "vCPU", amount_cents: 100 },
        { description: "vCPU", amount_cents: 50 },
      ],
    });
    const { headers, body } = issued;
    expect((await api.request("GET", headers.get("location") ?? "")).body).toEqual(body);
    const { lines: _, supplier: _s, buyer: _b, ...summary } = body;
    expect(await list()).toEqual([summary]);
    const all = await api.request("GET", "/api/v1/admin/billing/credit-notes", { as: "staff" });
    expect(all.body.items).toContainEqual(summary);
  });

  test("changes nothing that its invoice says but what was credited, and is in the audit log", async () => {
    const read = async () => (await api.request("GET", `${org.path}/billing/invoices/${invoiceId}`)).body;
    const before = await read();
    expect(before).toMatchObject({ credited_cents: 0, credited_total_cents: 0 });
    const { body } = await credit(noteOf(100));
    expect(await read()).toEqual({ ...before, credited_cents: 100, credited_total_cents: 119 });
    const isOwn = and(eq(auditLog.orgId, org.id), eq(auditLog.action, "credit_note.issue"));
    expect(await api.deps.db.select().from(auditLog).where(isOwn)).toMatchObject([
      { targetKind: "credit_note", targetId: body.id, after: { number: body.number, amount_cents: 100 } },
    ]);
  });

  test("with a key is issued once, however often it is asked for", async () => {
    const headers = { "idempotency-key": createId() };
    const first = await credit(noteOf(100), { headers });
    const again = await credit(noteOf(100), { headers });
    expect(again.body).toEqual(first.body);
    expect(await list()).toHaveLength(1);
  });

  test("of another organization is not found", async () => {
    const { body } = await credit(noteOf(100));
    const other = await api.createOrganization();
    const path = `/api/v1/organizations/${other}/billing/credit-notes`;
    expect((await api.request("GET", `${path}/${body.id}`)).status).toBe(404);
    expect((await api.request("GET", path)).body.items).toEqual([]);
  });

  test("is a document too, for people and for programs, under its number", async () => {
    const { body } = await credit(noteOf(100));
    const read = (accept: string) =>
      api.request("GET", `${org.path}/billing/credit-notes/${body.id}`, { headers: { accept } });
    const xml = await read("application/xml");
    expect(xml.headers.get("content-type")).toBe("application/xml");
    expect(xml.headers.get("content-disposition")).toContain(`${body.number}-credit-note.xml`);
    expect(xml.body).toContain("<ram:TypeCode>381</ram:TypeCode>");
    const pdf = await read("application/pdf");
    expect(pdf.headers.get("content-type")).toBe("application/pdf");
    expect(pdf.headers.get("content-disposition")).toContain(`${body.number}-credit-note.pdf`);
    expect(pdf.body).toMatch(/^%PDF-1\.7/);
    expect((await read("application/json")).body).toEqual(body);
  });

  test("can be issued on an invoice of a deleted organization", async () => {
    expect((await api.request("DELETE", org.path)).status).toBe(204);
    expect((await credit(noteOf(100))).status).toBe(201);
  });
});

describe("what is credited", () => {
  test("is never more than was invoiced, in all notes together", async () => {
    expect((await credit(noteOf(200))).status).toBe(201);
    const refused = await credit(noteOf(60, 41));
    expect(refused).toMatchObject({
      status: 422,
      body: { error: { code: "validation_failed", details: [{ field: "lines", code: "out_of_range" }] } },
    });
    expect(refused.body.error.message).toContain("at most 100 cents");
    expect((await credit(noteOf(100))).status).toBe(201);
    expect((await credit(noteOf(1))).status).toBe(422);
    expect(await list()).toHaveLength(2);
  });

  test("is shown on each invoice alone, in every list, to tenant and staff", async () => {
    await credit(noteOf(100));
    await credit(noteOf(50));
    const credited = { id: invoiceId, credited_cents: 150, credited_total_cents: 179 };
    const listed = async (path: string, request: TestRequest = {}) =>
      (await api.request("GET", path, request)).body.items;
    expect(await listed(`${org.path}/billing/invoices`)).toMatchObject([credited]);
    expect(await listed("/api/v1/admin/billing/invoices", { as: "staff" })).toContainEqual(
      expect.objectContaining(credited),
    );
    const first = invoiceId;
    await org.use({ startedAt: at("2026-02-10T00:00:00"), endedAt: at("2026-02-11T00:00:00") });
    await closeMonth(api.deps, parseMonth("2026-02") as Month);
    const [second, old] = await listed(`${org.path}/billing/invoices`);
    expect(old).toMatchObject({ ...credited, id: first });
    expect(second).toMatchObject({ credited_cents: 0, credited_total_cents: 0 });
  });

  test("in small parts gives back the VAT of the invoice to the cent", async () => {
    // 19 % of 1 cent would be rounded to 0 each time.
    for (let count = 0; count < 10; count++) await credit(noteOf(1));
    await credit(noteOf(290));
    const notes: { vat_cents: number; total_cents: number }[] = await list();
    expect(notes.reduce((sum, note) => sum + note.vat_cents, 0)).toBe(57);
    expect(notes.reduce((sum, note) => sum + note.total_cents, 0)).toBe(357);
  });

  test("of an invoice that the organization does not have is refused", async () => {
    const other = invoiceId;
    org = await startInvoices(api);
    const refused = await credit({ ...noteOf(1), invoice_id: other });
    expect(refused).toMatchObject({
      status: 422,
      body: { error: { details: [{ field: "invoice_id", code: "not_found" }] } },
    });
  });
});

test("twenty credit notes at once have twenty numbers without a gap, and a refused one takes none", async () => {
  const sequences = async () =>
    (await api.deps.db.select({ sequence: creditNotes.sequence }).from(creditNotes))
      .map(({ sequence }) => sequence)
      .toSorted((a, b) => a - b);
  const issued = await Promise.all(
    Array.from({ length: 25 }, (_, index) => credit(noteOf(index < 20 ? 10 : 400))),
  );
  expect(issued.filter(({ status }) => status === 201)).toHaveLength(20);
  expect(issued.filter(({ status }) => status === 422)).toHaveLength(5);
  const found = await sequences();
  expect(found).toEqual(found.map((_, index) => index + 1));
  expect((await list()).length).toBe(20);
});
