import { Hono } from "hono";
import { beforeAll, expect, test } from "vitest";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { positionToCursor } from "../../http/contract/page.ts";
import type { HttpEnv } from "../../http/env.ts";
import { startTestApp, type TestResponse } from "../../testing/app.ts";
import { insertTestInvoice } from "../testing.ts";
import type { InvoiceLine } from "./compose.ts";
import { FOCUS_CSV } from "./focus.ts";
import { readAmountsByType, readInvoiceLines } from "./line-store.ts";
import { respondInvoice } from "./respond.ts";
import { MAX_LINES } from "./schema.ts";
import { findAnyInvoice, findInvoice, insertInvoiceLines } from "./store.ts";
import { aLine } from "./testing/documents.ts";

const COUNT = MAX_LINES + 1;
const LINES: readonly InvoiceLine[] = Array.from({ length: COUNT }, (_, n) =>
  aLine({ clusterName: `cluster ${n}`, unitSeconds: BigInt(n), labels: n === 0 ? null : { number: `${n}` } }),
);

const api = setUp(startTestApp);
let orgId: string;
let id: string;
/** The invoice's, which has more lines than one response. */
let path: string;

beforeAll(async () => {
  orgId = await api.createOrganization();
  id = await insertTestInvoice(api.deps.db, orgId);
  path = `/api/v1/organizations/${orgId}/billing/invoices/${id}`;
  await api.deps.db.transaction((tx) => insertInvoiceLines(tx, id, LINES));
});

const read = async (accept: string) => api.request("GET", path, { headers: { accept } });

test("an invoice has as many lines as clusters were made and deleted in a month, in their order", async () => {
  const invoice = await findInvoice(api.deps.db, orgId, id);
  if (invoice === undefined) throw new Error("no invoice");
  expect(await readInvoiceLines(api.deps.db, invoice, { withLabels: true })).toEqual(LINES);
});

test("the lines of an invoice with more than one response has are listed page by page", async () => {
  const { body } = await read("application/json");
  expect([body.lines, body.lines_total]).toEqual([null, COUNT]);
  const names: string[] = [];
  let cursor: string | null = null;
  do {
    const from: string = cursor === null ? "" : `&cursor=${cursor}`;
    const { body: page }: TestResponse = await api.request("GET", `${path}/lines?limit=100${from}`);
    names.push(...page.items.map((line: { cluster_name: string }) => line.cluster_name));
    cursor = page.next_cursor;
  } while (cursor !== null);
  expect(names).toEqual(LINES.map(({ clusterName }) => clusterName));
});

test("the files of such an invoice have all lines, and it has no PDF", async () => {
  expect((await read("text/csv")).body.split("\r\n")).toHaveLength(COUNT + 2);
  // A row for the VAT besides.
  expect((await read(FOCUS_CSV)).body.split("\r\n")).toHaveLength(COUNT + 3);
  const xml: string = (await read("application/xml")).body;
  expect(xml.match(/<ram:LineID>/g)).toHaveLength(COUNT);
  expect(xml).toContain(`<ram:LineID>${COUNT}</ram:LineID>`);
  const refused = await read("application/pdf");
  expect([refused.status, refused.body.error.message]).toEqual([
    406,
    expect.stringContaining(`The invoice has ${COUNT} lines, and a PDF has at most ${MAX_LINES}`),
  ]);
});

test("the lines of an invoice begin after any cursor of a list, and are those of its organization alone", async () => {
  const far = `?cursor=${positionToCursor(2 ** 53 - 1)}`;
  const beyond = await api.request("GET", `${path}/lines${far}`);
  expect([beyond.status, beyond.body]).toEqual([200, { items: [], next_cursor: null }]);
  const other = await api.createOrganization();
  const lines = `/billing/invoices/${id}/lines`;
  expect((await api.request("GET", `/api/v1/organizations/${other}${lines}`)).status).toBe(404);
  const staff = await api.request("GET", `/api/v1/admin${lines}?limit=1`, { as: "staff" });
  expect(staff.body.items).toMatchObject([{ cluster_name: "cluster 0" }]);
});

test("the amounts of an invoice by resource type are the sums of its lines", async () => {
  const invoice = await findInvoice(api.deps.db, orgId, id);
  if (invoice === undefined) throw new Error("no invoice");
  expect(await readAmountsByType(api.deps.db, invoice)).toEqual([
    { resourceType: "control_plane", amountCents: 100n * BigInt(COUNT) },
  ]);
});

test("the PDF of an invoice and the JSON of more than 1,000 lines wait for a slot to compute in, other forms do not", async () => {
  const { db } = api.deps;
  const waited: string[] = [];
  const app = new Hono<HttpEnv>().get("/:id", async (c) => {
    const invoice = await findAnyInvoice(db, c.req.param("id"));
    const acquireComputation = async () => void waited.push(c.req.header("accept") ?? "");
    return respondInvoice(c, api.deps, { invoice, acquireComputation });
  });
  const addInvoice = async (count: number) => {
    const added = await insertTestInvoice(db, await api.createOrganization(), count);
    await db.transaction((tx) => insertInvoiceLines(tx, added, LINES.slice(0, count)));
    return added;
  };
  const [quick, long] = [await addInvoice(1000), await addInvoice(1001)];
  const forms = ["application/json", "text/csv", FOCUS_CSV, "application/xml", "application/pdf"];
  for (const accept of forms) await app.request(`/${quick}`, { headers: { accept } });
  expect(waited).toEqual(["application/pdf"]);
  for (const accept of forms) await app.request(`/${long}`, { headers: { accept } });
  expect(waited).toEqual(["application/pdf", "application/json", "application/pdf"]);
});
