import { expect, onTestFinished, test } from "vitest";
import { issueWaiting, runCloses } from "../jobs.ts";
import { type Month, parseMonth } from "../month.ts";
import { insertUsage, startInvoicingApp } from "../testing.ts";
import { writeSeenAt } from "../usage/ledger-store.ts";
import { closeMonth } from "./close.ts";
import { isClosed } from "./close-store.ts";

const PROFILE = { name: "Example Ltd", country: "DE", city: "Berlin" };
const at = (text: string) => new Date(`${text}Z`);

async function startApp() {
  const api = await startInvoicingApp();
  onTestFinished(() => api.close());
  return api;
}

test("the calendar closes the month before at 06:00 UTC on the first, and not earlier", async () => {
  const api = await startApp();
  const organizationId = await api.createOrganization();
  const base = `/api/v1/organizations/${organizationId}/billing`;
  await api.request("PUT", `${base}/profile`, { body: PROFILE });
  const startedAt = at("2026-01-10T00:00:00");
  await insertUsage(api.deps.db, { organizationId, startedAt, endedAt: at("2026-01-20T00:00:00") });
  await writeSeenAt(api.deps.db, at("2026-02-01T00:00:00"));
  const issued = async () => (await api.request("GET", `${base}/invoices`)).body.items.length;
  for (const [now, expected] of [
    ["2026-02-01T05:59:59", 0],
    ["2026-02-01T06:00:00", 1],
    ["2026-02-14T00:00:00", 1],
  ] as const) {
    api.deps.now = () => at(now);
    await runCloses(api.deps, new AbortController().signal);
    expect(await issued()).toBe(expected);
  }
});

test("the calendar waits until the ledger has the usage of the month, a day at most", async () => {
  const api = await startApp();
  const { db } = api.deps;
  const organizationId = await api.createOrganization();
  const base = `/api/v1/organizations/${organizationId}/billing`;
  await api.request("PUT", `${base}/profile`, { body: PROFILE });
  const usedIn = (month: string) =>
    insertUsage(db, {
      organizationId,
      startedAt: at(`${month}-10T00:00:00`),
      endedAt: at(`${month}-11T00:00:00`),
    });
  for (const [month, now, seenAt, expected] of [
    ["2026-01", "2026-02-01T06:00:00", undefined, 0],
    ["2026-01", "2026-02-01T06:30:00", "2026-01-31T23:59:59", 0],
    ["2026-01", "2026-02-01T07:00:00", "2026-02-01T00:00:00", 1],
    ["2026-02", "2026-03-02T05:59:59", "2026-02-28T12:00:00", 1],
    ["2026-02", "2026-03-02T06:00:00", "2026-02-28T12:00:00", 2],
  ] as const) {
    await usedIn(month);
    if (seenAt !== undefined) await writeSeenAt(db, at(seenAt));
    api.deps.now = () => at(now);
    await runCloses(api.deps, new AbortController().signal);
    expect((await api.request("GET", `${base}/invoices`)).body.items).toHaveLength(expected);
  }
});

test("usage that becomes known once its month was closed without an invoice has one of its own, once", async () => {
  const api = await startApp();
  const organizationId = await api.createOrganization();
  const base = `/api/v1/organizations/${organizationId}/billing`;
  await api.request("PUT", `${base}/profile`, { body: PROFILE });
  const use = (month: string, days: number) =>
    insertUsage(api.deps.db, {
      organizationId,
      startedAt: at(`${month}-01T00:00:00`),
      endedAt: at(`${month}-0${days + 1}T00:00:00`),
    });
  const close = (month: string) => closeMonth(api.deps, parseMonth(month) as Month);
  const read = async () => {
    const { items } = (await api.request("GET", `${base}/invoices`)).body;
    const invoices = items.map(({ id }: { id: string }) => api.request("GET", `${base}/invoices/${id}`));
    return (await Promise.all(invoices)).map(({ body: { month, lines } }) => [
      month,
      lines.map((line: { month: string; adjustment: boolean; unit_seconds: string }) => [
        line.month,
        line.adjustment,
        Number(line.unit_seconds) / 86_400,
      ]),
    ]);
  };
  api.deps.now = () => at("2026-05-01T06:00:00");
  await use("2026-01", 1);
  for (const month of ["2026-01", "2026-02"]) await close(month);
  // Usage of January beside an invoice, of February beside none, and of March in time.
  await use("2026-01", 2);
  await use("2026-02", 3);
  await use("2026-03", 4);
  const issued = [
    [
      "2026-03",
      [
        ["2026-03", false, 4],
        ["2026-01", true, 2],
      ],
    ],
    ["2026-02", [["2026-02", false, 3]]],
    ["2026-01", [["2026-01", false, 1]]],
  ];
  for (const month of ["2026-03", "2026-02", "2026-03", "2026-04"]) {
    await close(month);
    expect(await read()).toEqual(issued);
  }
});

test("a month that cannot be closed for an organization keeps no later one from being closed", async () => {
  const api = await startApp();
  const signal = new AbortController().signal;
  const ids = [await api.createOrganization(), await api.createOrganization()];
  for (const [index, organizationId] of ids.entries()) {
    await api.request("PUT", `/api/v1/organizations/${organizationId}/billing/profile`, { body: PROFILE });
    const resourceType = index === 0 ? ("unpriced" as "vcpu") : "vcpu";
    const month = index === 0 ? "2026-01" : "2026-02";
    const [startedAt, endedAt] = [at(`${month}-10T00:00:00`), at(`${month}-11T00:00:00`)];
    await insertUsage(api.deps.db, { organizationId, resourceType, startedAt, endedAt });
  }
  for (const end of ["2026-02-01T06:00:00", "2026-03-01T06:00:00"]) {
    api.deps.now = () => at(end);
    await writeSeenAt(api.deps.db, at(end));
    await expect(runCloses(api.deps, signal)).rejects.toThrow("2026-01 is not closed for 1 organizations");
  }
  const finished = ["2026-01-01", "2026-02-01"].map((period) => isClosed(api.deps.db, period));
  expect(await Promise.all(finished)).toEqual([false, true]);
  const { body } = await api.request("GET", `/api/v1/organizations/${ids[1]}/billing/invoices`);
  expect(body.items).toMatchObject([{ month: "2026-02" }]);
});

test("an organization whose usage cannot be priced keeps no other one from its invoice", async () => {
  const api = await startApp();
  api.deps.now = () => at("2026-02-01T06:00:00");
  const startedAt = at("2026-01-10T00:00:00");
  const bases: string[] = [];
  for (const resourceType of ["unpriced" as "vcpu", "vcpu"] as const) {
    const organizationId = await api.createOrganization();
    bases.push(`/api/v1/organizations/${organizationId}/billing`);
    await api.request("PUT", `${bases.at(-1)}/profile`, { body: PROFILE });
    await insertUsage(api.deps.db, { organizationId, startedAt, resourceType });
  }
  await writeSeenAt(api.deps.db, api.deps.now());
  await expect(runCloses(api.deps, new AbortController().signal)).rejects.toThrow(
    "2026-01 is not closed for 1 organizations",
  );
  const lists = await Promise.all(bases.map((base) => api.request("GET", `${base}/invoices`)));
  expect(lists.map(({ body }) => body.items.length)).toEqual([0, 1]);
});

test("a waiting organization whose usage cannot be priced any more keeps no other one from its invoice", async () => {
  const api = await startApp();
  api.deps.now = () => at("2026-02-01T06:00:00");
  const ids = [await api.createOrganization(), await api.createOrganization()];
  const usage = { startedAt: at("2026-01-10T00:00:00"), endedAt: at("2026-01-20T00:00:00") };
  for (const organizationId of ids) await insertUsage(api.deps.db, { ...usage, organizationId });
  await writeSeenAt(api.deps.db, api.deps.now());
  await runCloses(api.deps, new AbortController().signal);
  const [first] = (await api.request("GET", "/api/v1/admin/billing/waiting-invoices", { as: "staff" })).body
    .items;
  await insertUsage(api.deps.db, {
    ...usage,
    organizationId: first.org_id,
    resourceType: "unpriced" as "vcpu",
  });
  for (const id of ids)
    await api.request("PUT", `/api/v1/organizations/${id}/billing/profile`, { body: PROFILE });
  await issueWaiting(api.deps, new AbortController().signal);
  for (const id of ids) {
    const { body } = await api.request("GET", `/api/v1/organizations/${id}/billing/invoices`);
    expect(body.items.length).toBe(id === first.org_id ? 0 : 1);
  }
});

test("a close that is asked for twice with one key is carried out once, and its dry run keeps no key", async () => {
  const api = await startApp();
  const path = "/api/v1/admin/billing/close?month=2025-01";
  const headers = { "idempotency-key": "close" };
  const post = (query = "") => api.request("POST", `${path}${query}`, { as: "staff", headers });
  const read = async () => [
    ...(await api.deps.sql`
      select count(*)::int as audited from audit_log where action = 'month.close'`),
    ...(await api.deps.sql`select status from idempotency_keys where key = 'close'`),
  ];
  for (let time = 0; time < 2; time++) expect((await post("&dry_run=true")).status).toBe(200);
  expect(await read()).toEqual([{ audited: 0 }]);
  const [first, again] = [await post(), await post()];
  expect([first.status, again.status]).toEqual([202, 202]);
  expect(again.headers.get("idempotency-replayed")).toBe("true");
  // The response is stored in the transaction of the effect: neither can be lost without the other.
  expect(await read()).toEqual([{ audited: 1 }, { status: 202 }]);
});
