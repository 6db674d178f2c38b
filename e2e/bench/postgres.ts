import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ensureCertificates } from "../platform/stack/certificates.ts";
import { choosePorts } from "../platform/stack/ports.ts";
import { databaseUrlsOf, postgresHome, postgresNodes } from "../platform/stack/postgres.ts";
import { ensureSecrets } from "../platform/stack/secrets.ts";
import { createSupervisor, endLeftovers } from "../platform/stack/supervisor.ts";

export interface Postgres {
  /** May create databases. */
  adminUrl: string;
  superuserUrl: string;
  stop(): Promise<void>;
}

/** A PostgreSQL server as the stack runs it, without the other programs and without earlier data. */
export async function startPostgres(dir: string): Promise<Postgres> {
  await endLeftovers(dir);
  for (const folder of [postgresHome(dir), dir]) rmSync(folder, { recursive: true, force: true });
  for (const name of ["logs", "processes"]) mkdirSync(join(dir, name), { recursive: true });
  const deps = {
    dir,
    ports: await choosePorts(dir, ["postgres"]),
    secrets: await ensureSecrets(dir),
    certificates: await ensureCertificates(dir),
  };
  const supervisor = createSupervisor({ dir, onCrash: (_, message) => console.error(message) });
  await supervisor.start(postgresNodes(deps));
  const { owner, superuser } = databaseUrlsOf(deps);
  return { adminUrl: owner, superuserUrl: superuser, stop: () => supervisor.stop() };
}
