import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import type { ScannerConfig } from "../config.ts";
import { toScannerUnavailable } from "./scan-error.ts";

/** The model of grype's database; its files lie in a folder of this name (grype v0.120.1). */
const MODEL = "6";
/** A database has some 100 MB packed. */
const UPDATE_TIMEOUT_MS = 600_000;
const STATUS_TIMEOUT_MS = 30_000;
/** A download unpacks into a folder next to the database; when killed, it leaves that folder (grype v0.120.1). */
const DOWNLOAD_PREFIX = "grype-db-download";
/** No download lasts longer, not one of another process either. */
const ABANDONED_AFTER_MS = 2 * UPDATE_TIMEOUT_MS;
/** In a container every process may have the same number: when it began distinguishes it from the one before. */
const OWN_PREFIX = `marina-grype-${process.pid}-${Math.round(performance.timeOrigin)}-`;
const WORK_FOLDER = /^marina-grype-(\d+)-\d+-/;
const importSchema = z.object({ digest: z.string().min(1) });
const statusSchema = z.object({ built: z.coerce.date() });

type DatabaseConfig = Pick<ScannerConfig, "command" | "databaseDir" | "caDir">;

const run = promisify(execFile);

/** Reads the digest of the database that grype uses now. Throws ScanError when there is none. */
export async function readDatabaseVersion({
  databaseDir,
}: Pick<DatabaseConfig, "databaseDir">): Promise<string> {
  try {
    const text = await readFile(join(databaseDir, MODEL, "import.json"), "utf8");
    return importSchema.parse(JSON.parse(text)).digest;
  } catch (error) {
    throw toScannerUnavailable(error);
  }
}

/** When the database was built by its provider. Throws ScanError. */
export async function readDatabaseBuiltAt(config: DatabaseConfig): Promise<Date> {
  try {
    const args = ["db", "status", "-o", "json"];
    const { stdout } = await runGrype(config, args, { timeout: STATUS_TIMEOUT_MS });
    return statusSchema.parse(JSON.parse(stdout)).built;
  } catch (error) {
    throw toScannerUnavailable(error);
  }
}

/**
 * Downloads the newest database, if it is another one; scans that run go on with the one that they began with. Throws
 * ScanError.
 */
export async function updateDatabase(
  config: DatabaseConfig & { databaseUrl: string },
  signal: AbortSignal,
): Promise<void> {
  try {
    await removeAbandonedDownloads(config.databaseDir);
    const environment = { GRYPE_DB_UPDATE_URL: config.databaseUrl };
    await runGrype(config, ["db", "update"], { timeout: UPDATE_TIMEOUT_MS, signal, environment });
  } catch (error) {
    throw toScannerUnavailable(error);
  }
}

/** Deletes what downloads left in the folder of the database when they were killed. */
export async function removeAbandonedDownloads(databaseDir: string): Promise<void> {
  const names = await readdir(databaseDir).catch(() => []);
  for (const name of names.filter((one) => one.startsWith(DOWNLOAD_PREFIX))) {
    const folder = join(databaseDir, name);
    const { mtimeMs } = await stat(folder);
    if (Date.now() - mtimeMs > ABANDONED_AFTER_MS) await rm(folder, { recursive: true, force: true });
  }
}

/** A temporary folder for one call of grype, whose name says which process made it. */
export function makeWorkFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), OWN_PREFIX));
}

/** Deletes the temporary folders that killed processes have left: the volume of a container's scanner outlives them. */
export async function removeAbandonedWorkFolders(): Promise<void> {
  for (const name of await readdir(tmpdir()).catch(() => [])) {
    const [, pid] = WORK_FOLDER.exec(name) ?? [];
    if (pid === undefined || name.startsWith(OWN_PREFIX)) continue;
    if (Number(pid) !== process.pid && isRunning(Number(pid))) continue;
    // One that another user owns stays.
    await rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => undefined);
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

/** The settings of grype that every call has. */
export function grypeEnvironment(
  { databaseDir, caDir }: Pick<ScannerConfig, "databaseDir" | "caDir">,
  workDir: string,
): Record<string, string> {
  return {
    HOME: workDir,
    TMPDIR: workDir,
    GRYPE_DB_CACHE_DIR: databaseDir,
    GRYPE_DB_AUTO_UPDATE: "false",
    // The age of the database is a metric with an alert: an old result is worth more than none.
    GRYPE_DB_VALIDATE_AGE: "false",
    GRYPE_CHECK_FOR_APP_UPDATE: "false",
    ...(caDir !== undefined && { SSL_CERT_DIR: caDir }),
  };
}

async function runGrype(
  config: DatabaseConfig,
  args: readonly string[],
  options: { timeout: number; signal?: AbortSignal; environment?: Record<string, string> },
): Promise<{ stdout: string }> {
  const { environment, ...limits } = options;
  const workDir = await makeWorkFolder();
  try {
    const env = { ...grypeEnvironment(config, workDir), ...environment };
    return await run(config.command, args, { env, killSignal: "SIGKILL", ...limits });
  } finally {
    await rm(workDir, { recursive: true, force: true });
  }
}
