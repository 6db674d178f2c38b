import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readPartEnvironment } from "../../e2e/stack/part-environment.ts";
import { readStack } from "../../e2e/stack/testing.ts";
import { grantRights } from "./grants.ts";

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

test("it may read and add what it needs to", async () => {
  const statements = [
    "select from audit_log limit 1",
    "insert into audit_log select * from audit_log where false",
    "update audit_log set position = position where false",
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
