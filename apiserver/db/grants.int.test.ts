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

/** What changes the audit log, the rate card, invoices, packages or the ledger of usage. */
const REFUSED = [
  "update audit_log set action = action where false",
  "delete from audit_log where false",
  "truncate audit_log",
  "alter table audit_log disable trigger all",
  "drop table audit_log",
  "update rate_card_prices set unit_price_eur = 0 where false",
  "delete from rate_card_prices where false",
  "truncate rate_card_prices",
  "update invoices set amount_cents = 0 where false",
  "delete from invoices where false",
  "update invoice_lines set amount_cents = 0 where false",
  "delete from invoice_lines where false",
  "update credit_notes set amount_cents = 1 where false",
  "delete from credit_notes where false",
  "update credit_note_lines set amount_cents = 1 where false",
  "delete from credit_note_lines where false",
  "update package_terms set retired = true where false",
  "delete from package_terms where false",
  "truncate package_terms",
  "update usage_evidence set subject = subject where false",
  "update usage_intervals set quantity = quantity where false",
  "delete from usage_evidence where false",
  "delete from usage_intervals where false",
  "truncate usage_intervals, usage_evidence",
];

test.each(REFUSED)("the API server's role may not run: %s", async (statement) => {
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
