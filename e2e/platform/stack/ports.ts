import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isPortFree } from "../programs/free-port.ts";
import { StartError } from "../programs/start-error.ts";

export type Ports = Record<string, number>;

/** Cluster API's in-memory provider always listens there; no flag changes it. */
const IN_MEMORY_DEBUG_PORT = 19_000;
// Below the ephemeral port ranges (32768 and up, 49152 and up), and below 19000 and 20000-30000, which the
// in-memory provider uses.
const FIRST_PORT = 11_000;
const LAST_PORT = 18_900;

async function pickFreePort(taken: ReadonlySet<number>): Promise<number> {
  const span = LAST_PORT - FIRST_PORT;
  const first = Math.floor(Math.random() * span);
  for (let i = 0; i < span; i++) {
    const port = FIRST_PORT + ((first + i) % span);
    if (!taken.has(port) && (await isPortFree(port))) return port;
  }
  throw new StartError(`No free port between ${FIRST_PORT} and ${LAST_PORT}: stop some programs.`);
}

/**
 * One port for each name, picked among the free ones at the first start and kept in `<dir>/ports.json`. Throws a
 * StartError that names the port when one of them is in use.
 */
export async function choosePorts(dir: string, names: readonly string[]): Promise<Ports> {
  const file = join(dir, "ports.json");
  const kept: Ports = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
  for (const name of names) {
    const port = kept[name];
    if (port === undefined) kept[name] = await pickFreePort(new Set(Object.values(kept)));
    else if (!(await isPortFree(port))) {
      throw new StartError(
        `Port ${port}, which this stack keeps for ${name}, is in use: stop the program that listens on it, or delete ${file} to have other ports chosen.`,
      );
    }
  }
  writeFileSync(file, `${JSON.stringify(kept, undefined, 2)}\n`);
  return kept;
}

/** Throws a StartError when the port that tenants use is taken. */
export async function requireApiPort(port: number): Promise<void> {
  if (await isPortFree(port)) return;
  throw new StartError(
    `Port ${port} of the API is in use: stop the program that listens on it, or choose another one, for example MARINA_API_PORT=${port + 1} npm start.`,
  );
}

/** Throws a StartError when another stack or program has the port that the in-memory provider needs. */
export async function requireInMemoryPort(): Promise<void> {
  if (await isPortFree(IN_MEMORY_DEBUG_PORT)) return;
  throw new StartError(
    `Port ${IN_MEMORY_DEBUG_PORT} is in use, and the in-memory infrastructure cannot use another: another Marina stack or a program runs there; stop it first (only one stack fits on a machine).`,
  );
}
