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

/**
 * Brings the database to the newest schema. Safe to run concurrently: one process migrates, the others wait for it. All
 * migrations are one transaction: one that is interrupted has changed nothing. Throws, before it changes anything, when the
 * journal is out of order and when a newer version, or one from before the first release, has migrated the database, and
 * when it holds other migrations than this folder.
 */
export async function migrate(databaseUrl: string, folder = migrationsFolder()): Promise<void> {
  const entries = readJournal(folder);
  const fault = findJournalFault(entries);
  if (fault !== undefined) throw new Error(fault);
  const client = postgres(databaseUrl, { max: 1, onnotice: () => undefined, connect_timeout: 10 });
  try {
    await client`select pg_advisory_lock(hashtextextended(${LOCK_NAME}, 0))`;
    await refuseOtherHistory(client, entries);
    await runMigrations(drizzle(client), { migrationsFolder: folder });
    await requireAllApplied(client, entries, folder);
  } finally {
    await client.end({ timeout: 5 });
  }
}

async function refuseOtherHistory(client: postgres.Sql, entries: readonly JournalEntry[]) {
  const [found] = await client<{ ledger: string | null }[]>`
    select to_regclass('drizzle.__drizzle_migrations') as ledger`;
  if (found?.ledger == null) return;
  const applied = await readAppliedMoments(client);
  if (isBeforeHistory(applied, entries)) {
    throw new ExplainedError(
      "The database was made by a version from before the first release, which no later version migrates: give this version an empty database.",
    );
  }
  if (!isNewer(applied, entries)) return;
  throw new ExplainedError(
    `The database was migrated by a newer version than this one, whose last migration is ${entries.at(-1)?.tag}: install the newer version, or restore a backup from before its migration.`,
  );
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
