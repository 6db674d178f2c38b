import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, test } from "vitest";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { createId } from "../../../shared/program/id.ts";
import { projectedClusters } from "../../resources/project/table.ts";
import { projected } from "../../resources/project/testing.ts";
import { runCloses } from "../jobs.ts";
import { type Month, parseMonth } from "../month.ts";
import { startInvoices, startInvoicingApp, TEST_SUPPLIER } from "../testing.ts";
import { writeSeenAt } from "../usage/ledger-store.ts";
import { closeMonth } from "./close.ts";
import { FOCUS_CSV } from "./focus.ts";
import { findInvoiceBefore, listInvoices, readDailyCosts } from "./store.ts";

const REFERENCES = { buyer_reference: "Department 7", purchase_order: "PO-1" };
const PROFILE = { name: "Example Ltd", country: "DE", city: "Berlin", ...REFERENCES };
const JANUARY = parseMonth("2026-01") as Month;
const at = (text: string) => new Date(`${text}Z`);

const api = setUp(startInvoicingApp);
let org: Awaited<ReturnType<typeof startInvoices>>;

beforeEach(async () => {
  org = await startInvoices(api);
  await org.setProfile(PROFILE);
});

const close = (month: Month = JANUARY) => closeMonth(api.deps, month);
const run = () => runCloses(api.deps, new AbortController().signal);

/** The rows of a response in the columns of FOCUS 1.0, by column. */
async function readFocus(path: string): Promise<Record<string, string>[]> {
  const { headers, body } = await api.request("GET", path, { headers: { accept: FOCUS_CSV } });
  expect(headers.get("content-type")).toBe(FOCUS_CSV);
  const lines: string[] = body.trimEnd().split("\r\n");
  const [columns = [], ...rows] = lines.map((line) =>
    [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)].map(([, cell = ""]) => cell),
  );
  return rows.map((row) => Object.fromEntries(columns.map((column, index) => [column, row[index] ?? ""])));
}

describe("an invoice", () => {
  test("as CSV has its lines with everything to recompute them", async () => {
    await org.use({ clusterName: "=one" });
    await close();
    const [{ id, number }] = await org.list();
    const { headers, body } = await api.request("GET", `${org.path}/billing/invoices/${id}`, {
      headers: { accept: "text/csv" },
    });
    expect(headers.get("content-disposition")).toBe(`attachment; filename=${number}-lines.csv`);
    expect(body).toBe(
      "invoice_number,month,adjustment,cluster_id,cluster_name,resource_type,unit_price_eur,unit_seconds,unit_size,month_seconds,amount_eur\r\n" +
        `${number},2026-01,false,,'=one,vcpu,31.000000,86400,1,2678400,1.00\r\n`,
    );
  });

  test("as XML is the electronic invoice of EN 16931, with the same number and amounts", async () => {
    await org.use();
    await close();
    const [{ id, number }] = await org.list();
    const headers = { accept: "application/xml" };
    const path = `${org.path}/billing/invoices/${id}`;
    const { headers: received, body } = await api.request("GET", path, { headers });
    const { amount_cents, total_cents, ...record } = (await api.request("GET", path)).body;
    expect(record).toMatchObject({
      ...REFERENCES,
      lines: [{ first_day: "2026-01-10", last_day: "2026-01-10" }],
    });
    expect(received.get("content-disposition")).toBe(`attachment; filename=${number}-invoice.xml`);
    expect(body).toContain(`<ram:ID>${number}</ram:ID>`);
    expect(body).toContain("<ram:BuyerReference>Department 7</ram:BuyerReference>");
    expect(body).toContain("<ram:IssuerAssignedID>PO-1</ram:IssuerAssignedID>");
    expect(body).toContain(`<ram:TaxBasisTotalAmount>${(amount_cents / 100).toFixed(2)}<`);
    expect(body).toContain(`<ram:DuePayableAmount>${(total_cents / 100).toFixed(2)}<`);
    const staff = await api.request("GET", `/api/v1/admin/billing/invoices/${id}`, { as: "staff", headers });
    expect(staff.body).toBe(body);
  });

  test("as PDF is a document with the electronic invoice inside, the same for tenant and staff at any time", async () => {
    await org.use();
    await close();
    await org.use({ startedAt: at("2026-02-03T00:00:00"), endedAt: at("2026-02-04T00:00:00") });
    api.deps.now = () => at("2026-03-01T06:00:00");
    const headers = { accept: "application/pdf" };
    const [{ id, number }] = await org.list();
    const path = `${org.path}/billing/invoices/${id}`;
    const first = await api.request("GET", path, { headers });
    expect(first.headers.get("content-type")).toBe("application/pdf");
    expect(first.headers.get("content-disposition")).toBe(`attachment; filename=${number}-invoice.pdf`);
    expect(first.body).toMatch(/^%PDF-1\.7/);
    expect(first.body).toContain(`Invoice ${number}`);
    expect(first.body).toContain("factur-x.xml");
    await close(parseMonth("2026-02") as Month);
    await org.setProfile({ ...PROFILE, name: "Other" });
    expect((await api.request("GET", path, { headers })).body).toBe(first.body);
    const staff = `/api/v1/admin/billing/invoices/${id}`;
    expect((await api.request("GET", staff, { as: "staff", headers })).body).toBe(first.body);
  });

  test("has what each day cost, and is compared with the one before it", async () => {
    await org.use({ endedAt: at("2026-01-12T00:00:00") });
    await close();
    await org.use({ startedAt: at("2026-02-03T00:00:00"), endedAt: at("2026-02-04T00:00:00") });
    api.deps.now = () => at("2026-03-01T06:00:00");
    await close(parseMonth("2026-02") as Month);
    const { db } = api.deps;
    const [second, first] = await listInvoices(db, org.id, { limit: 2 });
    if (first === undefined || second === undefined) throw new Error("no two invoices");
    const days = await readDailyCosts(db, first);
    expect(days.filter(({ cents }) => Object.keys(cents).length > 0)).toEqual([
      { date: "2026-01-10", cents: { vcpu: 100 } },
      { date: "2026-01-11", cents: { vcpu: 100 } },
    ]);
    expect(days).toHaveLength(31);
    expect(await findInvoiceBefore(db, second)).toEqual(first);
    expect(await findInvoiceBefore(db, first)).toBeUndefined();
  });
});

describe("in the columns of FOCUS 1.0", () => {
  test("an invoice has its lines, VAT and credit notes, and a closed month what was issued for it and in it", async () => {
    await org.use({ clusterId: createId(), clusterName: "production", quantity: 3n });
    await close();
    const [{ id, number }] = await org.list();
    const invoice = `${org.path}/billing/invoices/${id}`;
    const month = { BillingPeriodStart: "2026-01-01T00:00:00Z", x_DocumentNumber: number };
    const charges = [
      { ...month, ChargeCategory: "Usage", BilledCost: "3.00", ChargePeriodStart: "2026-01-10T00:00:00Z" },
      { ...month, ChargeCategory: "Tax", BilledCost: "0.57", ChargePeriodStart: "2026-01-01T00:00:00Z" },
    ];
    expect(await readFocus(invoice)).toMatchObject(charges);
    const credit = { invoice_id: id, reason: "A test.", lines: [{ description: "vCPU", amount_cents: 100 }] };
    const path = `/api/v1/admin/organizations/${org.id}/credit-notes`;
    expect((await api.request("POST", path, { as: "staff", body: credit })).status).toBe(201);
    const later = { BillingPeriodStart: "2026-02-01T00:00:00Z", ChargeClass: "Correction" };
    const credited = [
      { ...later, ChargeCategory: "Usage", BilledCost: "-1.00", ChargePeriodStart: "2026-01-01T00:00:00Z" },
      { ...later, ChargeCategory: "Tax", BilledCost: "-0.19" },
    ];
    expect(await readFocus(invoice)).toMatchObject([...charges, ...credited]);
    expect(await readFocus(`${org.path}/billing/usage?month=2026-01`)).toMatchObject(charges);
    api.deps.now = () => at("2026-03-01T06:00:00");
    await writeSeenAt(api.deps.db, api.deps.now());
    await run();
    expect(await readFocus(`${org.path}/billing/usage?month=2026-02`)).toMatchObject(credited);
    const other = await api.createOrganization();
    expect(await readFocus(`/api/v1/organizations/${other}/billing/usage?month=2026-02`)).toEqual([]);
    const headers = { accept: FOCUS_CSV };
    const foreign = `/api/v1/organizations/${other}/billing/invoices/${id}`;
    expect((await api.request("GET", foreign, { headers })).status).toBe(404);
  });

  test("a closed month without an invoice has its lines, and a month that is not closed is 406", async () => {
    await org.use();
    await org.setProfile({ ...PROFILE, country: null });
    await api.request("POST", "/api/v1/admin/billing/close?month=2026-01", { as: "staff" });
    await run();
    const usage = `${org.path}/billing/usage`;
    expect(await readFocus(`${usage}?month=2026-01`)).toMatchObject([
      {
        ChargeCategory: "Usage",
        BilledCost: "1.00",
        InvoiceIssuerName: TEST_SUPPLIER.name,
        x_DocumentNumber: "",
      },
    ]);
    const open = await api.request("GET", `${usage}?month=2026-05`, { headers: { accept: FOCUS_CSV } });
    expect(open).toMatchObject({
      status: 406,
      body: {
        error: {
          code: "not_acceptable",
          message: "2026-05 is not closed. Offered: application/json, text/csv.",
        },
      },
    });
  });

  test("tags are the labels of a cluster and its organization, of an invoice those at its issue, else those of now", async () => {
    const { db } = api.deps;
    const cluster = projected(org.id, 0);
    await db.insert(projectedClusters).values(cluster);
    const label = async (team: string) => {
      const object = { ...cluster.object, spec: { ...cluster.object.spec, labels: { team } } };
      await db.update(projectedClusters).set({ object }).where(eq(projectedClusters.uid, cluster.uid));
    };
    await api.request("PUT", org.path, { body: { labels: { team: "all", stage: "test" } } });
    await label("web");
    await org.use({ clusterId: cluster.id, clusterName: "production" });
    await org.use();
    const readTags = async (path: string) => {
      const rows = await readFocus(path);
      return rows.map(({ Tags = "" }) => Tags.replaceAll('"', "")).toSorted();
    };
    const month = `${org.path}/billing/usage?month=2026-01`;
    await org.setProfile({ ...PROFILE, country: null });
    await api.request("POST", "/api/v1/admin/billing/close?month=2026-01", { as: "staff" });
    await run();
    expect(await readTags(month)).toEqual(["{stage:test,team:all}", "{stage:test,team:web}"]);
    await label("shop");
    expect(await readTags(month)).toEqual(["{stage:test,team:all}", "{stage:test,team:shop}"]);
    await org.setProfile(PROFILE);
    await close();
    await label("other");
    expect(await readTags(month)).toEqual(["{stage:test,team:all}", "{stage:test,team:shop}", "{}"]);
  });

  test("another profile of CSV is 406 with what is offered, for tenants and staff", async () => {
    await org.use();
    await close();
    const [{ id }] = await org.list();
    const headers = { accept: "text/csv;profile=focus-9" };
    for (const [path, as] of [
      [`${org.path}/billing/usage?month=2026-01`, "alice"],
      [`${org.path}/billing/invoices/${id}`, "alice"],
      [`/api/v1/admin/billing/invoices/${id}`, "staff"],
    ] as const) {
      const { status, body } = await api.request("GET", path, { as, headers });
      expect(status).toBe(406);
      expect(body.error.message).toContain(FOCUS_CSV);
    }
  });
});

test("a price that changes while a close runs is charged from its own second on alone", async () => {
  await org.use({ endedAt: at("2026-02-02T00:00:00") });
  api.deps.now = () => at("2026-02-01T12:00:00");
  const rates = [{ resource_type: "vcpu", unit_price_eur: 56 }];
  const [changed] = await Promise.all([
    api.request("PUT", "/api/v1/admin/rate-card", { as: "staff", body: { rates } }),
    close(),
  ]);
  expect(changed.status).toBe(200);
  api.deps.now = () => at("2026-03-01T06:00:00");
  await close(parseMonth("2026-02") as Month);
  const linesOf = async ({ id }: { id: string }) => {
    const { body } = await api.request("GET", `${org.path}/billing/invoices/${id}`);
    return body.lines.map((line: Record<string, unknown>) => [line.unit_price_eur, line.unit_seconds]);
  };
  const [february, january] = await org.list();
  expect(await linesOf(january)).toEqual([["31.000000", String(22 * 86_400)]]);
  expect(await linesOf(february)).toEqual([
    ["31.000000", "43200"],
    ["56.000000", "43200"],
  ]);
});
