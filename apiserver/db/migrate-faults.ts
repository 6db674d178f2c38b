import { ExplainedError } from "../../shared/program/errors.ts";
import { describeAddress, explainConnectionFault } from "./connection-faults.ts";
import { describeDatabaseError } from "./errors.ts";
import type { MigrationConfig } from "./migrate-config.ts";

/** SQLSTATEs, https://www.postgresql.org/docs/current/errcodes-appendix.html */
const NO_ROLE = "42704";
const NO_RIGHT = "42501";

/**
 * The given error, or for faults of the installation an ExplainedError with one sentence that names the setting to
 * correct. No sentence holds a password.
 */
export function explainMigrationFault(error: unknown, config: MigrationConfig): unknown {
  const sentence = explainConnectionFault(error, config.databaseUrl) ?? explainRights(error, config);
  return sentence === undefined ? error : new ExplainedError(sentence, { cause: error });
}

function explainRights(error: unknown, config: MigrationConfig): string | undefined {
  const code = describeDatabaseError(error)?.code;
  if (code === NO_ROLE && config.apiserverRole !== undefined) {
    return `Postgres has no role "${config.apiserverRole}": create it, or correct MARINA_DATABASE_APISERVER_ROLE.`;
  }
  if (code === NO_RIGHT) {
    const { role, database } = describeAddress(config.databaseUrl);
    return `The role "${role}" may not change the database "${database}": MARINA_DATABASE_URL must name the role that owns it.`;
  }
  return undefined;
}
