import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { drizzle } from "drizzle-orm/postgres-js";
import { migrate as runMigrations } from "drizzle-orm/postgres-js/migrator";
import postgres from "postgres";
import { z } from "zod";
import { ExplainedError } from "../../shared/explained-error.ts";
import { reportFatalError } from "../../shared/process.ts";
import { grantRights } from "./grants.ts";
import { type MigrationConfig, readMigrationConfig } from "./migrate-config.ts";
import { explainMigrationFault } from "./migrate-faults.ts";

const LOCK_NAME = "marina:migrate";
const journalSchema = z.object({
  entries: z.array(z.object({ idx: z.number(), tag: z.string(), when: z.number() })).min(1),
});

export type JournalEntry = z.output<typeof journalSchema>["entries"][number];

/** Where the migrations are: beside this file, in the source tree and beside the bundle alike. */
export function migrationsFolder(): string {
  return join(dirname(fileURLToPath(import.meta.url)), "migrations");
}

/** The migrations in their order, as drizzle-kit recorded them. */
export function readJournal(folder = migrationsFolder()): JournalEntry[] {
  return journalSchema.parse(JSON.parse(readFileSync(join(folder, "meta", "_journal.json"), "utf8"))).entries;
}

/**
 * The first fault of a journal. The migrator compares only with the newest migration applied, so one that is dated
 * before another would be skipped silently.
 */
export function findJournalFault(entries: readonly JournalEntry[]): string | undefined {
  for (const [index, entry] of entries.entries()) {
    const previous = entries[index - 1];
    if (entry.idx !== index) return `${entry.tag} has the number ${entry.idx} instead of ${index}`;
    if (previous !== undefined && entry.when <= previous.when) {
      return `${entry.tag} is dated before ${previous.tag}, and would be skipped where that one has run`;
    }
  }
  return undefined;
}

/**
 * Brings the database to the newest schema. Safe to run concurrently: one process migrates, the others wait for it.
 * Throws when the journal is out of order, and when the database holds other migrations than this folder.
 */
export async function migrate(databaseUrl: string, folder = migrationsFolder()): Promise<void> {
  const entries = readJournal(folder);
  const fault = findJournalFault(entries);
  if (fault !== undefined) throw new Error(fault);
  const client = postgres(databaseUrl, { max: 1, onnotice: () => undefined, connect_timeout: 10 });
  try {
    await client`select pg_advisory_lock(hashtextextended(${LOCK_NAME}, 0))`;
    await runMigrations(drizzle(client), { migrationsFolder: folder });
    await requireAllApplied(client, entries, folder);
  } finally {
    await client.end({ timeout: 5 });
  }
}

async function requireAllApplied(client: postgres.Sql, entries: readonly JournalEntry[], folder: string) {
  const rows = await client<{ hash: string }[]>`select hash from drizzle.__drizzle_migrations`;
  const applied = new Set(rows.map((row) => row.hash));
  for (const entry of entries) {
    const file = readFileSync(join(folder, `${entry.tag}.sql`), "utf8");
    if (!applied.has(createHash("sha256").update(file).digest("hex"))) {
      throw new ExplainedError(
        `The database does not hold migration ${entry.tag} as it is written here: it was migrated by another build of this version.`,
      );
    }
  }
}

async function run(config: MigrationConfig): Promise<void> {
  try {
    await migrate(config.databaseUrl);
    if (config.apiserverRole !== undefined) await grantRights(config.databaseUrl, config.apiserverRole);
  } catch (error) {
    throw explainMigrationFault(error, config);
  }
  process.stdout.write("The database has the newest schema.\n");
}

if (import.meta.main) {
  try {
    await run(readMigrationConfig());
  } catch (error) {
    reportFatalError(error);
  }
}
