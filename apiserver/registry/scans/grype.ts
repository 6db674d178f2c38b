import { execFile } from "node:child_process";
import { readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { grypeEnvironment, makeWorkFolder } from "./database.ts";
import { ScanError, toScanError } from "./scan-error.ts";

const SAMPLE_MS = 200;

interface UsageLimits {
  /** Resident memory of the scanner. */
  memoryBytes: number;
  /** The size of the image unpacked in the scanner's temporary folder. */
  diskBytes: number;
}

export interface ScannerLimits extends UsageLimits {
  timeoutSeconds: number;
}

export interface ScannerOptions extends ScannerLimits {
  /** Path of grype. */
  command: string;
  /** The folder of its vulnerability database. */
  databaseDir: string;
  /** Certificate authorities that it trusts besides the public ones. */
  caDir: string | undefined;
}

/** An image that can be pulled. */
export interface PullableImage {
  /** `<host>[:<port>]` of the registry. */
  authority: string;
  /** With the prefix of its organization. */
  repository: string;
  digest: string;
  /** A token of the registry that may pull this repository; none for one that asks for none. */
  token: string | undefined;
  isPlainHttp: boolean;
}

/** The report of 50,000 matches, about 1 KB each. */
export const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

const run = promisify(execFile);

/**
 * Scans one image with grype, which is killed when `signal` aborts or a limit is exceeded; returns its report in JSON.
 * Throws ScanError.
 */
export async function readReport(
  options: ScannerOptions,
  image: PullableImage,
  signal: AbortSignal,
): Promise<string> {
  const workDir = await makeWorkFolder();
  try {
    return await runGrype(options, image, workDir, signal);
  } finally {
    await rm(workDir, { recursive: true, force: true });
  }
}

async function runGrype(
  options: ScannerOptions,
  image: PullableImage,
  workDir: string,
  signal: AbortSignal,
): Promise<string> {
  const exceeded = new AbortController();
  const running = run(
    options.command,
    [`registry:${image.authority}/${image.repository}@${image.digest}`, "-o", "json"],
    {
      cwd: workDir,
      env: toEnvironment(options, image, workDir),
      maxBuffer: MAX_OUTPUT_BYTES,
      timeout: options.timeoutSeconds * 1000,
      killSignal: "SIGKILL",
      signal: AbortSignal.any([signal, exceeded.signal]),
    },
  );
  const watch = watchScannerUsage(running.child.pid, workDir, options, (fault) => exceeded.abort(fault));
  try {
    const { stdout } = await running;
    return stdout;
  } catch (error) {
    signal.throwIfAborted();
    exceeded.signal.throwIfAborted();
    throw toRunError(error, options);
  } finally {
    watch.stop();
  }
}

interface ChildError extends Error {
  /** An exit code, or why there is none. */
  code?: number | string | null;
  /** By this process: the time is over. */
  killed?: boolean;
  signal?: string | null;
  stderr?: string;
}

function toRunError(error: unknown, { timeoutSeconds }: ScannerLimits): unknown {
  const { code, killed, signal, stderr, message } = error as ChildError;
  if (code === "ERR_CHILD_PROCESS_STDIO_MAXBUFFER")
    return new ScanError("failed", `the report has more than ${MAX_OUTPUT_BYTES} bytes`);
  if (typeof code === "string") return new ScanError("scanner_unavailable", message);
  if (killed === true) return new ScanError("timeout", `the scan took more than ${timeoutSeconds} s`);
  if (signal === "SIGKILL") return new ScanError("out_of_memory", "the scanner was killed by the system");
  return toScanError(stderr ?? "");
}

function toEnvironment(
  options: ScannerOptions,
  { authority, token, isPlainHttp }: PullableImage,
  workDir: string,
): Record<string, string> {
  return {
    ...grypeEnvironment(options, workDir),
    // Its collector works harder before the limit ends it.
    GOMEMLIMIT: String(Math.floor(options.memoryBytes * 0.9)),
    GRYPE_REGISTRY_INSECURE_USE_HTTP: String(isPlainHttp),
    ...(token !== undefined && {
      GRYPE_REGISTRY_AUTH_AUTHORITY: authority,
      GRYPE_REGISTRY_AUTH_TOKEN: token,
    }),
  };
}

/** Calls `onExceeded` once when a process or its folder exceeds a limit. Sampled, so a moment late. */
function watchScannerUsage(
  pid: number | undefined,
  folder: string,
  limits: UsageLimits,
  onExceeded: (fault: ScanError) => void,
): { stop: () => void } {
  let isBusy = false;
  const timer = setInterval(() => {
    if (isBusy || pid === undefined) return;
    isBusy = true;
    void findFault(pid, folder, limits).then((fault) => {
      isBusy = false;
      if (fault === undefined) return;
      clearInterval(timer);
      onExceeded(fault);
    });
  }, SAMPLE_MS);
  return { stop: () => clearInterval(timer) };
}

async function findFault(
  pid: number,
  folder: string,
  { memoryBytes, diskBytes }: UsageLimits,
): Promise<ScanError | undefined> {
  if ((await readResidentBytes(pid)) > memoryBytes)
    return new ScanError("out_of_memory", `the scan needs more than ${memoryBytes} bytes of memory`);
  if ((await readFolderBytes(folder)) > diskBytes)
    return new ScanError("out_of_disk", `the image unpacked has more than ${diskBytes} bytes`);
  return undefined;
}

/** 0 for a process that has ended, and where the system has no /proc (proc_pid_status(5)). */
async function readResidentBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
}

/** Files may vanish while they are counted. */
async function readFolderBytes(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const sizes = await Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map(
        async ({ parentPath, name }) =>
          (await stat(join(parentPath, name)).catch(() => undefined))?.size ?? 0,
      ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
