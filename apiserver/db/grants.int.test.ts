import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readPartEnvironment } from "../../e2e/platform/stack/part-environment.ts";
import { readStack } from "../../e2e/platform/stack/testing.ts";
import { grantRights } from "./migrate.ts";

/** The database of the running service, as its API server is connected to it. */
let sql: postgres.Sql;
const apiserverUrl = () => readPartEnvironment("apiserver").MARINA_DATABASE_URL ?? "";

beforeAll(() => {
  sql = postgres(apiserverUrl(), { max: 1 });
});
afterAll(() => sql.end());

test.each([
  ["change", "update audit_log set action = action where false"],
  ["remove", "delete from audit_log where false"],
  ["empty", "truncate audit_log"],
  ["disarm", "alter table audit_log disable trigger all"],
  ["replace", "drop table audit_log"],
])("the API server's role cannot %s the audit log", async (_what, statement) => {
  await expect(sql.unsafe(statement)).rejects.toMatchObject({ code: "42501" });
});

test.each([
  ["change", "update rate_card_prices set unit_price_eur = 0 where false"],
  ["remove", "delete from rate_card_prices where false"],
  ["empty", "truncate rate_card_prices"],
])("the API server's role cannot %s the rate card", async (_what, statement) => {
  await expect(sql.unsafe(statement)).rejects.toMatchObject({ code: "42501" });
});

test.each([
  ["change", "update invoices set amount_cents = 0 where false"],
  ["remove", "delete from invoices where false"],
  ["change a line of", "update invoice_lines set amount_cents = 0 where false"],
  ["remove a line of", "delete from invoice_lines where false"],
  ["change a credit note of", "update credit_notes set amount_cents = 1 where false"],
  ["remove a credit note of", "delete from credit_notes where false"],
  ["change a line of a credit note of", "update credit_note_lines set amount_cents = 1 where false"],
  ["remove a line of a credit note of", "delete from credit_note_lines where false"],
])("the API server's role cannot %s an invoice", async (_what, statement) => {
  await expect(sql.unsafe(statement)).rejects.toMatchObject({ code: "42501" });
});

test.each([
  ["change", "update package_terms set retired = true where false"],
  ["remove", "delete from package_terms where false"],
  ["empty", "truncate package_terms"],
])("the API server's role cannot %s the packages", async (_what, statement) => {
  await expect(sql.unsafe(statement)).rejects.toMatchObject({ code: "42501" });
});

test.each([
  ["change", "update usage_evidence set subject = subject where false"],
  ["change", "update usage_intervals set quantity = quantity where false"],
  ["remove", "delete from usage_evidence where false"],
  ["remove", "delete from usage_intervals where false"],
  ["empty", "truncate usage_intervals, usage_evidence"],
])("the API server's role cannot %s the ledger of usage: %s", async (_what, statement) => {
  await expect(sql.unsafe(statement)).rejects.toMatchObject({ code: "42501" });
});

test("it may read and add what it needs to", async () => {
  const statements = [
    "select from audit_log limit 1",
    "insert into audit_log select * from audit_log where false",
    "update audit_log set position = position where false",
    "update usage_intervals set ended_at = ended_at where false",
    "update organizations set name = name where false",
    "delete from idempotency_keys where false",
  ];
  const done = statements.map((statement) => sql.unsafe(statement));
  await expect(Promise.all(done)).resolves.toHaveLength(statements.length);
});

test("a role that owns the schema is refused, for nothing could be kept from it", async () => {
  const ownerUrl = readStack().databaseUrl;
  const { username } = new URL(ownerUrl);
  await expect(grantRights(ownerUrl, username)).rejects.toThrow("owns the schema");
});
