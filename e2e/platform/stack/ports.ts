import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
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
/** A stack needs some 40. */
const BLOCK_PORTS = 64;

/** First ports of the blocks that this process holds, by run directory. */
const held = new Map<string, number[]>();

/** Listens on a port until this process ends; false when another program does. */
function holdPort(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ port, host: "127.0.0.1", exclusive: true }, () => {
      server.unref();
      resolve(true);
    });
  });
}

/**
 * Reserves a block of ports for this process, so that stacks that start at the same time do not choose the same:
 * nothing listens on most of them for seconds. It is held by listening on its first port.
 */
async function holdBlock(dir: string): Promise<number> {
  const count = Math.floor((LAST_PORT - FIRST_PORT) / BLOCK_PORTS);
  const start = Math.floor(Math.random() * count);
  for (let i = 0; i < count; i++) {
    const first = FIRST_PORT + ((start + i) % count) * BLOCK_PORTS;
    if (!(await holdPort(first))) continue;
    held.set(dir, [...(held.get(dir) ?? []), first]);
    return first;
  }
  throw new StartError(`No free ports between ${FIRST_PORT} and ${LAST_PORT}: stop some programs.`);
}

async function pickFreePort(dir: string, taken: ReadonlySet<number>): Promise<number> {
  const blocks = [...(held.get(dir) ?? [])];
  for (;;) {
    const first = blocks.pop() ?? (await holdBlock(dir));
    for (let port = first + 1; port < first + BLOCK_PORTS; port++) {
      if (!taken.has(port) && (await isPortFree(port))) return port;
    }
  }
}

/**
 * One port for each name, picked among the free ones at the first start and kept in `<dir>/ports.json`; those picked by
 * a process are no other's until it ends. Throws a StartError that names the port when one of them is in use.
 */
export async function choosePorts(dir: string, names: readonly string[]): Promise<Ports> {
  const file = join(dir, "ports.json");
  const kept: Ports = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
  for (const name of names) {
    const port = kept[name];
    if (port === undefined) kept[name] = await pickFreePort(dir, new Set(Object.values(kept)));
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
