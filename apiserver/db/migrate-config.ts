import { z } from "zod";
import { ConfigError } from "../../shared/program/config.ts";

const environmentSchema = z.object({ MARINA_DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }) });

/** The configuration of the migration program. */
export interface MigrationConfig {
  /** As the role that owns the schema. */
  databaseUrl: string;
  /** The role that the API server connects as, when it is another. */
  apiserverRole: string | undefined;
}

/** Reads the environment of the migration program. Throws ConfigError when the database is not set. */
export function readMigrationConfig(
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
