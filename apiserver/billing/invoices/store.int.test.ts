import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestApp, type TestApp } from "../../testing/app.ts";
import { insertTestInvoice } from "../testing.ts";
import { findInvoice, insertInvoiceLines, readInvoiceLines } from "./store.ts";

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
