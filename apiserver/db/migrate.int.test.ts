import postgres from "postgres";
import { expect, test } from "vitest";
import { readStack } from "../../e2e/platform/stack/testing.ts";
import { migrate } from "./migrate.ts";
import { createTestDatabase } from "./testing.ts";

test("many processes may migrate an empty database at once", async () => {
  const database = await createTestDatabase(readStack().databaseUrl);
  const sql = postgres(database.url, { max: 1, onnotice: () => undefined });
  await sql`drop schema public cascade`;
  await sql`drop schema drizzle cascade`;
  await sql`create schema public`;
  await Promise.all(Array.from({ length: 5 }, () => migrate(database.url)));
  const tables = await sql<
    { tablename: string }[]
  >`select tablename from pg_tables where schemaname = 'public'`;
  expect(tables.map((table) => table.tablename)).toContain("organizations");
  await sql.end();
  await database.drop();
});

test("a database of before the first migration of the journal is refused", async () => {
  const database = await createTestDatabase(readStack().databaseUrl);
  const sql = postgres(database.url, { max: 1 });
  await sql`insert into drizzle.__drizzle_migrations (hash, created_at) values ('earlier', 1)`;
  await sql.end();
  await expect(migrate(database.url)).rejects.toThrow("from before the first release");
  await database.drop();
});

test("a migration that was changed after it ran is noticed", async () => {
  const database = await createTestDatabase(readStack().databaseUrl);
  const sql = postgres(database.url, { max: 1 });
  await sql`update drizzle.__drizzle_migrations set hash = 'other' where id = 1`;
  await sql.end();
  await expect(migrate(database.url)).rejects.toThrow("does not hold migration 0000_initial");
  await database.drop();
});
