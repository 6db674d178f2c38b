import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { drizzle } from "drizzle-orm/postgres-js";
import { migrate as runMigrations } from "drizzle-orm/postgres-js/migrator";
import postgres from "postgres";
import { ExplainedError } from "../../shared/program/errors.ts";
import { reportFatalError } from "../../shared/program/process.ts";
import { grantRights } from "./grants.ts";
import {
  findJournalFault,
  isBeforeHistory,
  isNewer,
  type JournalEntry,
  migrationsFolder,
  readAppliedMoments,
  readJournal,
} from "./journal.ts";
import { type MigrationConfig, readMigrationConfig } from "./migrate-config.ts";
import { explainMigrationFault } from "./migrate-faults.ts";

const LOCK_NAME = "marina:migrate";

/** What a migration found: "newer" when the database has all of this version and more, and was left as it is. */
export type MigrationResult = "migrated" | "newer";

/**
 * Brings the database to the schema of this version, or leaves one of a newer version as it is: its programs run with it, after a
 * rollback too. Safe to run concurrently: one process migrates, the others wait for it. All migrations are one transaction: one
 * that is interrupted has changed nothing. Throws, before it changes anything, when the journal is out of order and when a
 * version from before the first release has migrated the database, and when it holds other migrations than this folder.
 */
export async function migrate(databaseUrl: string, folder = migrationsFolder()): Promise<MigrationResult> {
  const entries = readJournal(folder);
  const fault = findJournalFault(entries);
  if (fault !== undefined) throw new Error(fault);
  const client = postgres(databaseUrl, { max: 1, onnotice: () => undefined, connect_timeout: 10 });
  try {
    await client`select pg_advisory_lock(hashtextextended(${LOCK_NAME}, 0))`;
    const newer = await isOfNewerVersion(client, entries);
    if (!newer) await runMigrations(drizzle(client), { migrationsFolder: folder });
    await requireAllApplied(client, entries, folder);
    return newer ? "newer" : "migrated";
  } finally {
    await client.end({ timeout: 5 });
  }
}

/** Throws when the migrations in the database are of before the first of these. */
async function isOfNewerVersion(client: postgres.Sql, entries: readonly JournalEntry[]): Promise<boolean> {
  const [found] = await client<{ ledger: string | null }[]>`
    select to_regclass('drizzle.__drizzle_migrations') as ledger`;
  if (found?.ledger == null) return false;
  const applied = await readAppliedMoments(client);
  if (isBeforeHistory(applied, entries)) {
    throw new ExplainedError(
      "The database was made by a version from before the first release, which no later version migrates: give this version an empty database.",
    );
  }
  return isNewer(applied, entries);
}

async function requireAllApplied(client: postgres.Sql, entries: readonly JournalEntry[], folder: string) {
  const rows = await client<{ hash: string }[]>`select hash from drizzle.__drizzle_migrations`;
  const applied = new Set(rows.map((row) => row.hash));
  for (const entry of entries) {
    const file = readFileSync(join(folder, `${entry.tag}.sql`), "utf8");
    if (!applied.has(createHash("sha256").update(file).digest("hex"))) {
      throw new ExplainedError(
        `The database does not hold migration ${entry.tag} as it is written here: it was migrated by another build of this version: install that build, or restore a backup from before its migration.`,
      );
    }
  }
}

/** Returns what to tell of it. The rights are those of the schema's version: a newer one has given its own. */
async function run(config: MigrationConfig): Promise<string> {
  try {
    const result = await migrate(config.databaseUrl);
    if (result === "newer")
      return "The database has the schema of a newer version, which was left as it is: this version works with it.";
    if (config.apiserverRole !== undefined) await grantRights(config.databaseUrl, config.apiserverRole);
    return "The database has the schema of this version.";
  } catch (error) {
    throw explainMigrationFault(error, config);
  }
}

if (import.meta.main) {
  try {
    process.stdout.write(`${await run(readMigrationConfig())}\n`);
  } catch (error) {
    reportFatalError(error);
  }
}
