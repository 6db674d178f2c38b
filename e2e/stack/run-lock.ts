import { linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { identifyProcess, isRunning, type ProcessIdentity } from "../programs/process-identity.ts";

/** What a lock file says about who holds it. */
export type LockHolder<T> = ProcessIdentity & T;

function readHolder<T>(file: string): LockHolder<T> | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    // Gone meanwhile, or cut short by a full disk: in both cases nobody holds it.
    return undefined;
  }
}

/**
 * Takes a lock file for this process. Returns undefined when it is ours now, else who holds it. A lock whose holder
 * has ended (kill -9) is taken over.
 */
export function takeLock<T extends object>(file: string, about: T): LockHolder<T> | undefined {
  const self = identifyProcess(process.pid);
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, JSON.stringify({ ...self, ...about }));
  try {
    for (;;) {
      try {
        // A link fails when the name exists, and shows the whole text at once.
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

/** Gives a lock of this process back. */
export function releaseLock(file: string): void {
  if (readHolder(file)?.pid === process.pid) rmSync(file, { force: true });
}
