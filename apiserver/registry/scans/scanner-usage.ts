import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { ScanError } from "./scan-error.ts";

const SAMPLE_MS = 200;

export interface UsageLimits {
  /** Resident memory of the scanner. */
  memoryBytes: number;
  /** Of the image unpacked in the scanner's temporary folder. */
  diskBytes: number;
}

/** Calls `onExceeded` once when a process or its folder exceeds a limit. Sampled, so a moment late. */
export function watchScannerUsage(
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
