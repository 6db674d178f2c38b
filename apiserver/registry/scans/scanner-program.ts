import { access, constants } from "node:fs/promises";
import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { z } from "zod";
import type { ScannerConfig } from "../config.ts";
import { parseGrypeOutput, type ReportInProgress } from "../report.ts";
import { readDatabaseBuiltAt, updateDatabase } from "./database.ts";
import { MAX_OUTPUT_BYTES, type PullableImage, readReport, type ScannerOptions } from "./grype.ts";
import { SCAN_FAULTS, ScanError, toScannerUnavailable } from "./scan-error.ts";

/** Grype, as a child process or in a separate container. All throw ScanError. */
export interface ScannerProgram {
  /** Throws when it is not there. */
  requireThere(): Promise<void>;
  /** Adds what it finds in an image to a report. */
  scan(
    report: ReportInProgress,
    options: ScannerOptions,
    image: PullableImage,
    signal: AbortSignal,
  ): Promise<void>;
  readDatabaseBuiltAt(): Promise<Date>;
  updateDatabase(databaseUrl: string, signal: AbortSignal): Promise<void>;
}

/** What the container of grype is asked for: see scanner-server.ts. */
export const SCANNER_CALLS = ["report", "database-built-at", "database-update"] as const;
export type ScannerCall = (typeof SCANNER_CALLS)[number];

const failureSchema = z.object({ fault: z.enum(SCAN_FAULTS), message: z.string().max(4096) });

/** The program that the configuration names: by its path, or by the socket of its container. */
export function createScannerProgram(config: ScannerConfig): ScannerProgram {
  const { socket, command, databaseDir, caDir } = config;
  if (socket === undefined)
    return {
      requireThere: () => access(command, constants.X_OK).catch(throwUnavailable),
      scan: async (report, options, image, signal) =>
        addFound(report, [Buffer.from(await readReport(options, image, signal))]),
      readDatabaseBuiltAt: () => readDatabaseBuiltAt(config),
      updateDatabase: (databaseUrl, signal) => updateDatabase({ ...config, databaseUrl }, signal),
    };
  const options = { command, databaseDir, caDir };
  return {
    requireThere: () => access(socket, constants.W_OK).catch(throwUnavailable),
    scan: (report, limits, image, signal) =>
      call(socket, "report", { options: limits, image }, (found) => addFound(report, found), signal),
    async readDatabaseBuiltAt() {
      const built = z.coerce.date().safeParse(await call(socket, "database-built-at", { options }, text));
      if (!built.success) throw toScannerUnavailable(built.error);
      return built.data;
    },
    async updateDatabase(databaseUrl, signal) {
      await call(socket, "database-update", { options: { ...options, databaseUrl } }, text, signal);
    },
  };
}

/** What tenants push runs through that container: nothing that it responds with is trusted, nor is its length. */
async function call<T>(
  socketPath: string,
  name: ScannerCall,
  body: object,
  read: (content: AsyncIterable<Uint8Array>) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  try {
    const response = await post(socketPath, `/${name}`, JSON.stringify(body), signal);
    const content = readBounded(response);
    if (response.statusCode === 200) return await read(content);
    const { fault, message } = failureSchema.parse(JSON.parse(await text(content)));
    throw new ScanError(fault, message);
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof ScanError) throw error;
    // With its memory limit Kubernetes ends the whole container, whatever process in it needed most.
    if (name === "report" && isConnectionLost(error))
      throw new ScanError("out_of_memory", "the scanner was killed in the scan");
    throw toScannerUnavailable(error);
  }
}

async function* readBounded(response: IncomingMessage): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > MAX_OUTPUT_BYTES) throw new ScanError("failed", "the scanner responds with too many bytes");
    yield chunk;
  }
}

function isConnectionLost(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ECONNRESET";
}

function post(
  socketPath: string,
  path: string,
  body: string,
  signal?: AbortSignal,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const options = { socketPath, path, method: "POST", ...(signal === undefined ? {} : { signal }) };
  const outgoing = request(options, resolve);
  outgoing.on("error", reject);
  outgoing.end(body);
  return promise;
}

async function addFound(
  report: ReportInProgress,
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<void> {
  try {
    for await (const found of parseGrypeOutput(content)) report.add(found);
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof z.ZodError)
      throw new ScanError("failed", `the report is not as expected: ${String(error).slice(0, 500)}`);
    throw error;
  }
}

function throwUnavailable(error: unknown): never {
  throw toScannerUnavailable(error);
}
