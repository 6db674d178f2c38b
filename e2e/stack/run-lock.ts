import { linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { identifyProcess, isRunning, type ProcessIdentity } from "../programs/process-identity.ts";

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
