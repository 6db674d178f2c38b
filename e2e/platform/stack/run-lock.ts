import { linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { identifyProcess, isRunning, type ProcessIdentity } from "../programs/process-identity.ts";
import { StartError } from "../programs/start-error.ts";

/** The content of a lock file. */
export type LockHolder<T> = ProcessIdentity & T;

function readHolder<T>(file: string): LockHolder<T> | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    // Deleted meanwhile, or truncated by a full disk: in both cases the lock is free.
    return undefined;
  }
}

/**
 * Takes a lock file for this process. Returns undefined on success, otherwise the holder. A lock whose holder has
 * ended (kill -9) is taken over.
 */
export function takeLock<T extends object>(file: string, about: T): LockHolder<T> | undefined {
  const self = identifyProcess(process.pid);
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, JSON.stringify({ ...self, ...about }));
  try {
    for (;;) {
      try {
        // link(2) fails when the name exists, and the file is complete from the start.
        linkSync(draft, file);
        return undefined;
      } catch (error) {
        if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
      }
      const holder = readHolder<T>(file);
      if (holder !== undefined && isRunning(holder)) return holder;
      rmSync(file, { force: true });
    }
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Releases a lock of this process. */
export function releaseLock(file: string): void {
  if (readHolder(file)?.pid === process.pid) rmSync(file, { force: true });
}

const WAIT_MS = 500;

/**
 * Does work while this process holds a lock file, after any other that holds it, also one in this process; `onWait` is
 * called once with that holder. Throws StartError when `signal` aborts before the lock is free.
 */
export async function doLocked<T>(
  file: string,
  work: () => Promise<T>,
  { onWait, signal }: { onWait?: (holder: ProcessIdentity) => void; signal?: AbortSignal | undefined } = {},
): Promise<T> {
  let isReported = false;
  for (let holder = takeLock(file, {}); holder !== undefined; holder = takeLock(file, {})) {
    if (!isReported) onWait?.(holder);
    isReported = true;
    await sleep(WAIT_MS, undefined, { signal }).catch(() => {
      throw new StartError("stopped");
    });
  }
  try {
    return await work();
  } finally {
    releaseLock(file);
  }
}
