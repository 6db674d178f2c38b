import { copyFileSync, statSync, truncateSync } from "node:fs";

const LIMIT_BYTES = 10 * 2 ** 20;

/**
 * Moves a log that has grown over 10 MB to `<file>.1` and empties it. The program writes on to the same file: it was
 * opened for appending.
 */
export function rotateLog(file: string, limitBytes = LIMIT_BYTES): void {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size <= limitBytes) return;
  try {
    copyFileSync(file, `${file}.1`);
  } catch (error) {
    // A full disk: the old lines are lost, and that is what frees it.
    if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error;
  }
  truncateSync(file);
}
