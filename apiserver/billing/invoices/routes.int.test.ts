import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, test } from "vitest";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { createId } from "../../../shared/program/id.ts";
import { webhookEvents } from "../../events/table.ts";
import { issueWaiting, runCloses } from "../jobs.ts";
import { type Month, parseMonth } from "../month.ts";
import { TEST_SUPPLIER as SUPPLIER, startInvoices, startInvoicingApp } from "../testing.ts";
import { closeMonth } from "./close.ts";
import { invoices } from "./table.ts";

const PROFILE = { name: "Example Ltd", country: "DE", city: "Berlin" };
const JANUARY = parseMonth("2026-01") as Month;
const at = (text: string) => new Date(`${text}Z`);

const api = setUp(startInvoicingApp);
let org: Awaited<ReturnType<typeof startInvoices>>;

beforeEach(async () => {
  org = await startInvoices(api);
});

const close = (month: Month = JANUARY) => closeMonth(api.deps, month);
const run = () => runCloses(api.deps, new AbortController().signal);
const askToClose = (query: string) =>
  api.request("POST", `/api/v1/admin/billing/close?${query}`, { as: "staff" });

/** What a dry run of the close of January says, read in pages. */
async function readDryClose(limit = 100): Promise<{ org_id: string }[]> {
  const found: { org_id: string }[] = [];
  let cursor: string | null = null;
  do {
    const from = cursor === null ? "" : `&cursor=${cursor}`;
    const { body } = await askToClose(`month=2026-01&dry_run=true&limit=${limit}${from}`);
    found.push(...body.items);
    cursor = body.next_cursor;
  } while (cursor !== null);
  return found;
}

async function eventsOf(org: string) {
  const rows = await api.deps.db.select().from(webhookEvents).where(eq(webhookEvents.orgId, org));
  return rows.filter(({ type }) => type === "invoice.generated").map(({ body }) => JSON.parse(body));
}

async function waiting() {
  const { body } = await api.request("GET", "/api/v1/admin/billing/waiting-invoices?limit=100", {
    as: "staff",
  });
  return body.items.filter((item: { org_id: string }) => item.org_id === org.id);
}

describe("an invoice", () => {
  test("has the lines, the VAT, both parties and a number, and sends one event", async () => {
    const cluster = { clusterId: createId(), clusterName: "production" };
    await org.use({ ...cluster, quantity: 3n });
    await org.setProfile();
    await close();
    const [summary] = await org.list();
    expect(summary).toMatchObject({
      org_id: org.id,
      number: expect.stringMatching(/^TEST-2026-\d{6}$/),
      month: "2026-01",
      period_start: "2026-01-01T00:00:00.000Z",
      period_end: "2026-02-01T00:00:00.000Z",
      issued_at: "2026-02-01T06:00:00.000Z",
      amount_cents: 300,
      vat_case: "domestic",
      vat_rate_percent: "19.00",
      vat_cents: 57,
      total_cents: 357,
    });
    const { body } = await api.request("GET", `${org.path}/billing/invoices/${summary.id}`);
    expect(body).toMatchObject({
      ...summary,
      supplier: { name: SUPPLIER.name, vat_id: SUPPLIER.vatId },
      buyer: { name: "Example Ltd", city: "Berlin", country: "DE", street: null },
      lines: [
        {
          month: "2026-01",
          adjustment: false,
          cluster_id: cluster.clusterId,
          cluster_name: "production",
          resource_type: "vcpu",
          unit_price_eur: "31.000000",
          unit_seconds: "259200",
          amount_cents: 300,
        },
      ],
    });
    const staff = await api.request("GET", `/api/v1/admin/billing/invoices/${summary.id}`, { as: "staff" });
    expect(staff.body).toEqual(body);
    const all = await api.request("GET", "/api/v1/admin/billing/invoices", { as: "staff" });
    expect(all.body.items).toContainEqual(summary);
    expect(await eventsOf(org.id)).toMatchObject([
      { type: "invoice.generated", data: { invoice_id: summary.id, amount_cents: 300, currency: "EUR" } },
    ]);
  });

  test("keeps what it says when profile and prices change", async () => {
    await org.use();
    await org.setProfile({ ...PROFILE, country: "FR", vat_id: "FR12345678901" });
    await close();
    const [{ id }] = await org.list();
    const path = `${org.path}/billing/invoices/${id}`;
    const before = (await api.request("GET", path)).body;
    expect(before).toMatchObject({ vat_case: "reverse_charge", vat_cents: 0, total_cents: 100 });
    await org.setProfile({ name: "Other", country: "DE", vat_id: null });
    expect((await api.request("GET", path)).body).toEqual(before);
  });

  test("of another organization is not found", async () => {
    await org.use();
    await org.setProfile();
    await close();
    const [{ id }] = await org.list();
    const other = await api.createOrganization();
    const read = await api.request("GET", `/api/v1/organizations/${other}/billing/invoices/${id}`);
    expect(read.status).toBe(404);
  });

  test("can be read by the role billing", async () => {
    await org.use();
    await org.setProfile();
    await close();
    await api.addMember(org.id, "bob", "billing");
    const read = await api.request("GET", `${org.path}/billing/invoices`, { as: "bob" });
    expect(read.body.items).toHaveLength(1);
  });
});

describe("the close of a month", () => {
  test("twice changes nothing, and no usage makes no invoice", async () => {
    await org.use();
    await org.setProfile();
    const idle = await api.createOrganization();
    await close();
    const issued = await org.list();
    await close();
    expect(await org.list()).toEqual(issued);
    expect(await eventsOf(org.id)).toHaveLength(1);
    expect((await api.request("GET", `/api/v1/organizations/${idle}/billing/invoices`)).body.items).toEqual(
      [],
    );
  });

  test("twenty times at once gives one invoice and one event each, and numbers without a gap", async () => {
    const organizations = [org.id];
    await org.use();
    await org.setProfile();
    for (let count = 1; count < 6; count++) {
      org = await startInvoices(api);
      organizations.push(org.id);
      await org.use();
      await org.setProfile();
    }
    await Promise.all(Array.from({ length: 20 }, () => close()));
    for (const one of organizations) expect(await eventsOf(one)).toHaveLength(1);
    const rows = await api.deps.db.select().from(invoices).where(eq(invoices.year, 2026));
    const sequences = rows.map(({ sequence }) => sequence).toSorted((a, b) => a - b);
    expect(sequences).toEqual(sequences.map((_, index) => index + 1));
  });

  test("that fails after the number was taken leaves no gap", async () => {
    await org.use();
    await org.setProfile();
    const sequences = async () =>
      (await api.deps.db.select().from(invoices).where(eq(invoices.year, 2026))).map(
        ({ sequence }) => sequence,
      );
    const before = Math.max(0, ...(await sequences()));
    const { supplier } = api.deps.config.invoicing ?? {};
    const failing = { ...api.deps, config: { ...api.deps.config, invoicing: undefined } };
    Object.defineProperty(failing.config, "invoicing", {
      get: () => ({ supplier, vatBasisPoints: { DE: 1900 }, numberPrefix: "\u0000" }),
    });
    await expect(closeMonth(failing, JANUARY)).rejects.toThrow(/is not closed for \d+ organizations/);
    expect(await org.list()).toEqual([]);
    await close();
    const [{ number }] = await org.list();
    expect(number).toBe(`TEST-2026-${String(before + 1).padStart(6, "0")}`);
  });

  test("waits for a profile with name and country, and goes on when it is complete", async () => {
    await org.use();
    await org.setProfile({ name: "Example Ltd", country: null });
    await close();
    expect(await org.list()).toEqual([]);
    expect(await waiting()).toMatchObject([
      { month: "2026-01", reason: "billing_profile_incomplete", amount_cents: 100 },
    ]);
    await org.setProfile();
    await issueWaiting(api.deps, new AbortController().signal);
    expect(await org.list()).toHaveLength(1);
    expect(await waiting()).toEqual([]);
  });

  test("waits while a code is not in its official list, as a dry run says, and is issued afterwards", async () => {
    await org.use();
    await org.setProfile();
    const { config } = api.deps;
    const invoicing = { ...config.invoicing, supplier: { ...SUPPLIER, country: "EL" } };
    api.deps.config = { ...config, invoicing } as typeof config;
    await close();
    const refused = { reason: "code_not_official", amount_cents: 100 };
    expect(await waiting()).toMatchObject([{ month: "2026-01", ...refused }]);
    expect(await readDryClose()).toContainEqual({ org_id: org.id, outcome: "waiting", ...refused });
    api.deps.config = config;
    await issueWaiting(api.deps, new AbortController().signal);
    expect([await waiting(), await org.list()]).toMatchObject([[], [{ month: "2026-01" }]]);
  });

  test("of a deleted organization issues its invoice, for the staff to read", async () => {
    await org.use();
    await org.setProfile();
    expect((await api.request("DELETE", org.path)).status).toBe(204);
    await close();
    const { body } = await api.request("GET", "/api/v1/admin/billing/invoices", { as: "staff" });
    expect(body.items.map((item: { org_id: string }) => item.org_id)).toContain(org.id);
  });

  test("adds late usage to the next invoice, with its own month", async () => {
    await org.use();
    await org.setProfile();
    await close();
    await org.use({ resourceType: "disk", quantity: 1000n });
    api.deps.now = () => at("2026-03-01T06:00:00");
    await close(parseMonth("2026-02") as Month);
    const [{ id }] = await org.list();
    const { body } = await api.request("GET", `${org.path}/billing/invoices/${id}`);
    expect(body).toMatchObject({
      month: "2026-02",
      lines: [{ month: "2026-01", adjustment: true, resource_type: "disk" }],
    });
    expect(await org.list()).toHaveLength(2);
  });
});

describe("POST /admin/billing/close", () => {
  test("of a month that has not ended is 409", async () => {
    expect((await askToClose("month=2026-02")).status).toBe(409);
    expect((await askToClose("month=2026-02&dry_run=true")).status).toBe(409);
    expect((await askToClose("month=2027-01")).status).toBe(409);
  });

  test("is 202 and safe to repeat; the job then issues", async () => {
    await org.use();
    await org.setProfile();
    for (let count = 0; count < 2; count++) {
      const asked = await askToClose("month=2026-01");
      expect(asked).toMatchObject({ status: 202, body: { month: "2026-01" } });
      await run();
    }
    expect(await org.list()).toHaveLength(1);
  });

  test("as a dry run gives every organization once, page by page", async () => {
    const own = [org.id];
    await org.use();
    org = await startInvoices(api);
    own.push(org.id);
    await org.use();
    const found = (await readDryClose(1)).map(({ org_id }) => org_id);
    expect(found).toEqual([...new Set(found)].toSorted());
    expect(found).toEqual(expect.arrayContaining(own));
    const page = await askToClose("month=2026-01&dry_run=true&limit=1");
    expect(page).toMatchObject({ status: 200, body: { month: "2026-01", items: [{ org_id: found[0] }] } });
    expect((await askToClose("month=2026-01&dry_run=true&limit=101")).status).toBe(400);
  });

  test("as a dry run says what would be issued, and what waits and why, and changes nothing", async () => {
    await org.use();
    const outcome = async () => (await readDryClose()).find(({ org_id }) => org_id === org.id);
    const amounts = { org_id: org.id, amount_cents: 100 };
    expect(await outcome()).toEqual({ ...amounts, outcome: "waiting", reason: "billing_profile_incomplete" });
    await org.setProfile();
    expect(await outcome()).toEqual({ ...amounts, outcome: "due", reason: null });
    expect(await org.list()).toEqual([]);
    expect(await waiting()).toEqual([]);
  });
});
