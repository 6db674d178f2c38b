import { ExplainedError } from "../../shared/program/errors.ts";
import { createRepeatedWarning, type Logger } from "../../shared/program/log.ts";
import { sleep } from "../../shared/program/time.ts";
import type { Sql } from "./client.ts";
import {
  describeAddress,
  describeDatabaseError,
  explainConnectionFault,
  isDatabaseUnavailable,
} from "./errors.ts";
import { isNewer, readAppliedMoments, readJournal } from "./journal.ts";

const RETRY_MS = 1000;
/** SQLSTATEs, https://www.postgresql.org/docs/current/errcodes-appendix.html */
const NO_TABLE = "42P01";
const NO_RIGHT = "42501";

const REMEDY =
  "this program waits until the migration of this version has run (the Job marina-migrate of the chart, or `node migrate`)";

/**
 * Resolves when the database has the schema of this program and lets it use every table, or when `signal` aborts. One
 * of a newer version will do, for programs run on while the next version migrates, and after a rollback. Waits, with a
 * warning that says what to do, for the migration and while Postgres is unavailable. Throws an ExplainedError where
 * Postgres refuses this program.
 */
export async function requireSchema(
  sql: Sql,
  databaseUrl: string,
  { log, signal }: { log: Logger; signal: AbortSignal },
): Promise<void> {
  const warn = createRepeatedWarning(log);
  while (!signal.aborted) {
    const fault = await findFault(sql, databaseUrl, warn);
    if (fault === undefined) return;
    if (!fault.mayPass) throw new ExplainedError(fault.sentence);
    warn(fault.sentence);
    await sleep(RETRY_MS, signal);
  }
}

interface Fault {
  sentence: string;
  /** Whether it may end by itself. */
  mayPass: boolean;
}

async function findFault(
  sql: Sql,
  databaseUrl: string,
  warn: (sentence: string) => void,
): Promise<Fault | undefined> {
  try {
    const sentence = await findSchemaFault(sql, describeAddress(databaseUrl).role, warn);
    return sentence === undefined ? undefined : { sentence, mayPass: true };
  } catch (error) {
    const sentence = explainConnectionFault(error, databaseUrl);
    if (sentence === undefined) throw error;
    return { sentence, mayPass: isDatabaseUnavailable(error) };
  }
}

async function findSchemaFault(
  sql: Sql,
  role: string,
  warn: (sentence: string) => void,
): Promise<string | undefined> {
  const applied = await readApplied(sql);
  if (applied === "absent") return `The database has no tables of Marina: ${REMEDY}.`;
  if (applied === "forbidden") return explainHidden(role, "drizzle.__drizzle_migrations");
  const journal = readJournal();
  const missing = journal.find(({ when }) => !applied.includes(when));
  if (missing !== undefined) return `The database lacks the migration ${missing.tag}: ${REMEDY}.`;
  if (isNewer(applied, journal))
    warn("The database was migrated by a newer version: upgrade this program to that version.");
  const [hidden] = await sql<{ name: string }[]>`
    select relname as name from pg_class
     where relkind in ('r', 'p') and not relispartition and not has_table_privilege(oid, 'select')
       and relnamespace = 'public'::regnamespace
       and relowner = (select relowner from pg_class where oid = to_regclass('public.organizations'))
     limit 1`;
  return hidden && explainHidden(role, hidden.name);
}

/** The moments of the migrations in the database, which drizzle names them by. */
async function readApplied(sql: Sql): Promise<number[] | "absent" | "forbidden"> {
  try {
    return await readAppliedMoments(sql);
  } catch (error) {
    const code = describeDatabaseError(error)?.code;
    if (code === NO_TABLE) return "absent";
    if (code === NO_RIGHT) return "forbidden";
    throw error;
  }
}

function explainHidden(role: string, table: string): string {
  return `The role "${role}" may not read the table ${table}: run the migration with MARINA_DATABASE_APISERVER_ROLE=${role}, which grants it, or correct the role in MARINA_DATABASE_URL.`;
}
