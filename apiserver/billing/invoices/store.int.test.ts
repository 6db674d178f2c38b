import { afterAll, beforeAll, expect, test } from "vitest";
import { positionToCursor } from "../../http/contract/page.ts";
import { startTestApp, type TestApp } from "../../testing/app.ts";
import { insertTestInvoice } from "../testing.ts";
import { FOCUS_CSV } from "./focus.ts";
import { MAX_LINES } from "./schema.ts";
import { findInvoice, insertInvoiceLines, readInvoiceLines } from "./store.ts";
import { aLine } from "./testing/documents.ts";

let api: TestApp;

beforeAll(async () => {
  api = await startTestApp();
});
afterAll(() => api.close());

test("an invoice has as many lines as clusters were made and deleted in a month, in their order", async () => {
  const { db } = api.deps;
  const orgId = await api.createOrganization();
  const id = await insertTestInvoice(db, orgId);
  const lines = Array.from({ length: 7001 }, (_, n) => ({
    period: "2026-10-01",
    adjustment: false,
    clusterId: null,
    clusterName: `cluster ${n}`,
    resourceType: "control_plane" as const,
    unitPriceEUR: "20.000000",
    unitSeconds: BigInt(n),
    amountCents: 1n,
    firstDay: null,
    lastDay: null,
    labels: n === 0 ? null : { number: `${n}` },
  }));
  await db.transaction((tx) => insertInvoiceLines(tx, id, lines));
  const invoice = await findInvoice(db, orgId, id);
  if (invoice === undefined) throw new Error("no invoice");
  expect(await readInvoiceLines(db, invoice)).toEqual(lines);
});

test("an invoice with more lines than one response has is listed page by page, and its files are whole", async () => {
  const { db } = api.deps;
  const orgId = await api.createOrganization();
  const id = await insertTestInvoice(db, orgId);
  const count = MAX_LINES + 1;
  const lines = Array.from({ length: count }, (_, n) => aLine({ clusterName: `cluster ${n}` }));
  await db.transaction((tx) => insertInvoiceLines(tx, id, lines));
  const path = `/api/v1/organizations/${orgId}/billing/invoices/${id}`;
  const read = async (accept: string) => api.request("GET", path, { headers: { accept } });

  const { body: record } = await read("application/json");
  expect([record.lines, record.lines_total]).toEqual([null, count]);
  const names: string[] = [];
  let cursor: string | null = null;
  do {
    const page = cursor === null ? "" : `&cursor=${cursor}`;
    const { body } = await api.request("GET", `${path}/lines?limit=100${page}`);
    names.push(...body.items.map((line: { cluster_name: string }) => line.cluster_name));
    cursor = body.next_cursor;
  } while (cursor !== null);
  expect(names).toEqual(lines.map(({ clusterName }) => clusterName));

  expect((await read("text/csv")).body.split("\r\n")).toHaveLength(count + 2);
  // A row for the VAT besides.
  expect((await read(FOCUS_CSV)).body.split("\r\n")).toHaveLength(count + 3);
  const xml: string = (await read("application/xml")).body;
  expect(xml.match(/<ram:LineID>/g)).toHaveLength(count);
  expect(xml).toContain(`<ram:LineID>${count}</ram:LineID>`);
  const refused = await read("application/pdf");
  expect([refused.status, refused.body.error.message]).toEqual([
    406,
    expect.stringContaining(`The invoice has ${count} lines, and a PDF has at most ${MAX_LINES}`),
  ]);
});

test("the lines of an invoice begin after any cursor of a list, and are those of its organization alone", async () => {
  const { db } = api.deps;
  const orgId = await api.createOrganization();
  const id = await insertTestInvoice(db, orgId);
  await db.transaction((tx) => insertInvoiceLines(tx, id, [aLine()]));
  const path = `/billing/invoices/${id}/lines`;
  const far = `?cursor=${positionToCursor(2 ** 53 - 1)}`;
  const beyond = await api.request("GET", `/api/v1/organizations/${orgId}${path}${far}`);
  expect([beyond.status, beyond.body]).toEqual([200, { items: [], next_cursor: null }]);
  const other = await api.createOrganization();
  expect((await api.request("GET", `/api/v1/organizations/${other}${path}`)).status).toBe(404);
  const staff = await api.request("GET", `/api/v1/admin${path}`, { as: "staff" });
  expect(staff.body.items).toMatchObject([{ cluster_name: aLine().clusterName }]);
});
