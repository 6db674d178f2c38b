import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { drizzle } from "drizzle-orm/postgres-js";
import { migrate as runMigrations } from "drizzle-orm/postgres-js/migrator";
import postgres from "postgres";
import { z } from "zod";
import { ConfigError } from "../../shared/program/config.ts";
import { ExplainedError } from "../../shared/program/errors.ts";
import { reportFatalError } from "../../shared/program/process.ts";
import {
  describeAddress,
  describeDatabaseError,
  explainConnectionFault,
  LOCK_NOT_AVAILABLE,
} from "./errors.ts";
import {
  findJournalFault,
  isBeforeHistory,
  isNewer,
  type JournalEntry,
  migrationsFolder,
  readAppliedMoments,
  readJournal,
} from "./journal.ts";

const LOCK_NAME = "marina:migrate";
/** SQLSTATEs, https://www.postgresql.org/docs/current/errcodes-appendix.html */
const NO_ROLE = "42704";
const NO_RIGHT = "42501";
const RAISED = "P0001";

/** How long a migration tries to get the tables that are in use. */
const LOCK_DEADLINE_MS = 5000;
/**
 * How long one attempt waits for each table, and requests behind it: for ten tables less than deadlock_timeout (1 s),
 * after which Postgres would end a request that has one and waits for another.
 */
const LOCK_TIMEOUT = "90ms";
const LOCK_PAUSE_MS = 250;

const environmentSchema = z.object({ MARINA_DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }) });

/** What a migration found: "newer" when the database has all of this version and more, and was left as it is. */
type MigrationResult = "migrated" | "newer";

/**
 * Brings the database to the schema of this version, or leaves that of a newer version as it is. Safe to run
 * concurrently. It is one transaction: it throws, and has changed nothing, when tables are in use for 5 s, when the
 * journal is out of order, and for a database of before the first release or with other migrations than this folder.
 */
export async function migrate(databaseUrl: string, folder = migrationsFolder()): Promise<MigrationResult> {
  const entries = readJournal(folder);
  const fault = findJournalFault(entries);
  if (fault !== undefined) throw new Error(fault);
  const client = postgres(databaseUrl, { max: 1, onnotice: () => undefined, connect_timeout: 10 });
  try {
    await client`select pg_advisory_lock(hashtextextended(${LOCK_NAME}, 0))`;
    const newer = await isOfNewerVersion(client, entries);
    if (!newer) await runWhenTablesAreFree(client, folder);
    await requireAllApplied(client, entries, folder);
    return newer ? "newer" : "migrated";
  } finally {
    await client.end({ timeout: 5 });
  }
}

/** Runs the migrations; while tables are in use, again and again, so that requests go on between the attempts. */
async function runWhenTablesAreFree(client: postgres.Sql, folder: string): Promise<void> {
  const db = drizzle(client);
  await client`select set_config('lock_timeout', ${LOCK_TIMEOUT}, false)`;
  const endMs = performance.now() + LOCK_DEADLINE_MS;
  for (;;) {
    try {
      return await runMigrations(db, { migrationsFolder: folder });
    } catch (error) {
      const isInUse = describeDatabaseError(error)?.code === LOCK_NOT_AVAILABLE;
      if (!isInUse || performance.now() > endMs) throw error;
    }
    await setTimeout(LOCK_PAUSE_MS);
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

/** Returns the message to print. The rights are those of the schema's version: a newer one has given its own. */
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

/** The configuration of the migration program. */
interface MigrationConfig {
  /** As the role that owns the schema. */
  databaseUrl: string;
  /** The role that the API server connects as, when it is another. */
  apiserverRole: string | undefined;
}

/** Reads the environment of the migration program. Throws ConfigError when the database is not set. */
function readMigrationConfig(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): MigrationConfig {
  const parsed = environmentSchema.safeParse(environment);
  if (!parsed.success)
    throw new ConfigError("MARINA_DATABASE_URL must be the address of a Postgres database.");
  const { MARINA_DATABASE_APISERVER_ROLE: role } = environment;
  return {
    databaseUrl: parsed.data.MARINA_DATABASE_URL,
    apiserverRole: role === undefined || role === "" ? undefined : role,
  };
}

/**
 * The given error, or for faults of the installation an ExplainedError with one sentence that names the setting to
 * correct. No sentence holds a password.
 */
function explainMigrationFault(error: unknown, config: MigrationConfig): unknown {
  const sentence = explainConnectionFault(error, config.databaseUrl) ?? explainRefusal(error, config);
  return sentence === undefined ? error : new ExplainedError(sentence, { cause: error });
}

function explainRefusal(error: unknown, config: MigrationConfig): string | undefined {
  const { code, message } = describeDatabaseError(error) ?? {};
  // A migration says which rows it cannot take over.
  if (code === RAISED) return `Nothing has been changed: ${message}`;
  if (code === LOCK_NOT_AVAILABLE)
    return "The tables of the database are in use: nothing has been changed, run the migration again.";
  if (code === NO_ROLE && config.apiserverRole !== undefined) {
    return `Postgres has no role "${config.apiserverRole}": create it, or correct MARINA_DATABASE_APISERVER_ROLE.`;
  }
  if (code === NO_RIGHT) {
    const { role, database } = describeAddress(config.databaseUrl);
    return `The role "${role}" may not change the database "${database}": MARINA_DATABASE_URL must name the role that owns it.`;
  }
  return undefined;
}

/**
 * Lets the API server's role read and change every table but those that are append-only, whose rows it may only add and
 * read, apart from one column each that a trigger lets a row get once. Repeatable, for tables that a migration has
 * added. Connects as the owner of the schema; throws when the role owns it as well.
 */
export async function grantRights(ownerUrl: string, role: string): Promise<void> {
  const sql = postgres(ownerUrl, { max: 1, onnotice: () => undefined, connect_timeout: 10 });
  try {
    const [found] = await sql<
      { owns: boolean }[]
    >`select pg_has_role(${role}, current_user, 'member') as owns`;
    if (found?.owns !== false)
      throw new ExplainedError(
        `The role ${role} owns the schema, so no right can be withheld from it: MARINA_DATABASE_APISERVER_ROLE must be another role.`,
      );
    await sql.begin(async (tx) => {
      await tx`grant select, insert, update, delete on all tables in schema public to ${tx(role)}`;
      await tx`revoke update, delete on audit_log, rate_card_prices, package_terms, usage_evidence, usage_intervals,
          invoices, invoice_lines, credit_notes, credit_note_lines
        from ${tx(role)}`;
      await tx`grant update (position) on audit_log to ${tx(role)}`;
      await tx`grant update (ended_at) on usage_intervals to ${tx(role)}`;
      await tx`grant usage on all sequences in schema public to ${tx(role)}`;
      // By them the API server sees whether the schema is its own.
      await tx`grant usage on schema drizzle to ${tx(role)}`;
      await tx`grant select on drizzle.__drizzle_migrations to ${tx(role)}`;
      await tx`grant execute on function audit_log_add_partitions, audit_log_drop_partitions to ${tx(role)}`;
    });
  } finally {
    await sql.end({ timeout: 5 });
  }
}

if (import.meta.main) {
  try {
    process.stdout.write(`${await run(readMigrationConfig())}\n`);
  } catch (error) {
    reportFatalError(error);
  }
}
