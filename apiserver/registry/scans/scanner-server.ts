import { rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { readDatabaseBuiltAt, removeAbandonedWorkFolders, updateDatabase } from "./database.ts";
import { type PullableImage, readReport, type ScannerOptions } from "./grype.ts";
import { ScanError, toScannerUnavailable } from "./scan-error.ts";
import { SCANNER_CALLS, type ScannerCall } from "./scanner-program.ts";

interface CallBody {
  options: ScannerOptions & { databaseUrl: string };
  image: PullableImage;
}

const CALLS: Readonly<Record<ScannerCall, (body: CallBody, signal: AbortSignal) => Promise<string>>> = {
  report: ({ options, image }, signal) => readReport(options, image, signal),
  "database-built-at": async ({ options }) => (await readDatabaseBuiltAt(options)).toISOString(),
  "database-update": async ({ options }, signal) => {
    await updateDatabase(options, signal);
    return "";
  },
};

/**
 * Runs grype for the process at the other end of a Unix socket, whose configuration it takes and trusts. A call ends
 * when its connection does. Resolves once it listens.
 */
export async function serveScanner(socketPath: string): Promise<Server> {
  // A process that was killed leaves its socket and what it scanned.
  await rm(socketPath, { force: true });
  await removeAbandonedWorkFolders();
  const server = createServer((request, response) => void respond(request, response));
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen(socketPath, resolve);
  await promise;
  return server;
}

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const disconnected = new AbortController();
  response.once("close", () => disconnected.abort());
  try {
    const name = SCANNER_CALLS.find((one) => request.url === `/${one}`);
    if (name === undefined) throw new ScanError("scanner_unavailable", "there is no such call");
    // The process at the other end makes it: see scanner-program.ts.
    response.end(await CALLS[name]((await json(request)) as CallBody, disconnected.signal));
  } catch (error) {
    const { fault, message } = error instanceof ScanError ? error : toScannerUnavailable(error);
    response.writeHead(500).end(JSON.stringify({ fault, message: message.slice(0, 2000) }));
  }
}
