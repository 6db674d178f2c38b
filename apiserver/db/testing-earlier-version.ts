import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { readPartEnvironment } from "../../e2e/platform/stack/part-environment.ts";
import { readStack } from "../../e2e/platform/stack/testing.ts";
import { migrationsFolder, readJournal } from "./journal.ts";
import { grantRights, migrate } from "./migrate.ts";
import { createTestDatabase } from "./testing.ts";

/** The newest migration of the version before. */
const NEWEST_BEFORE = "0012_fewer_tables";

export type DatabaseBefore = Awaited<ReturnType<typeof openDatabaseBefore>>;

/** An empty database as the version before has left it; `program` is connected as its API server is. */
export async function openDatabaseBefore() {
  const database = await createTestDatabase(readStack().databaseUrl);
  const owner = postgres(database.url, { max: 1, onnotice: () => undefined });
  await owner.unsafe(
    "drop schema public cascade; drop schema drizzle cascade; create schema public; grant usage on schema public to public",
  );
  await migrateToBefore(database.url);
  const { username, password } = new URL(readPartEnvironment("apiserver").MARINA_DATABASE_URL ?? "");
  await grantRights(database.url, username);
  const program = postgres(Object.assign(new URL(database.url), { username, password }).href, { max: 1 });
  return {
    url: database.url,
    owner,
    program,
    async close() {
      await Promise.all([owner.end(), program.end()]);
      await database.drop();
    },
  };
}

async function migrateToBefore(databaseUrl: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "marina-migrations-"));
  try {
    cpSync(migrationsFolder(), folder, { recursive: true });
    const path = join(folder, "meta", "_journal.json");
    const journal = JSON.parse(readFileSync(path, "utf8"));
    const count = readJournal().findIndex(({ tag }) => tag === NEWEST_BEFORE) + 1;
    writeFileSync(path, JSON.stringify({ ...journal, entries: journal.entries.slice(0, count) }));
    await migrate(databaseUrl, folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
