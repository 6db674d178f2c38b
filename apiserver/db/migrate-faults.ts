import { ExplainedError } from "../../shared/explained-error.ts";
import { describeDatabaseError, isDatabaseUnavailable } from "./errors.ts";
import type { MigrationConfig } from "./migrate-config.ts";

/** SQLSTATEs, https://www.postgresql.org/docs/current/errcodes-appendix.html */
const REFUSED_STATES = new Set(["28P01", "28000"]);
const NO_DATABASE = "3D000";
const NO_ROLE = "42704";
const NO_RIGHT = "42501";
/** The server was reached, and ended the statement. */
const CANCELLED = "57014";

/**
 * The same error, or for the faults of an installation an ExplainedError with one sentence that names the setting to
 * correct. No sentence holds a password.
 */
export function explainMigrationFault(error: unknown, config: MigrationConfig): unknown {
  const found = describeDatabaseError(error);
  if (found === undefined) return error;
  const sentence = explain(found.code, isDatabaseUnavailable(error), config);
  return sentence === undefined ? error : new ExplainedError(sentence, { cause: error });
}

function explain(code: string, unavailable: boolean, config: MigrationConfig): string | undefined {
  const url = new URL(config.databaseUrl);
  const role = decodeURIComponent(url.username);
  const database = decodeURIComponent(url.pathname.slice(1));
  if (REFUSED_STATES.has(code)) {
    return `Postgres refused the role "${role}": check the role and its password in MARINA_DATABASE_URL.`;
  }
  if (code === NO_DATABASE) {
    return `Postgres has no database "${database}": create it, or correct its name in MARINA_DATABASE_URL.`;
  }
  if (code === NO_ROLE && config.apiserverRole !== undefined) {
    return `Postgres has no role "${config.apiserverRole}": create it, or correct MARINA_DATABASE_APISERVER_ROLE.`;
  }
  if (code === NO_RIGHT) {
    return `The role "${role}" may not change the database "${database}": MARINA_DATABASE_URL must name the role that owns it.`;
  }
  if (unavailable && code !== CANCELLED) {
    return `Postgres at ${url.host} cannot be reached (${code}): check the address in MARINA_DATABASE_URL and that the network lets this program connect.`;
  }
  return undefined;
}
