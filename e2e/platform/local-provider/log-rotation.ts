import { copyFileSync, statSync, truncateSync } from "node:fs";

const LIMIT_BYTES = 10 * 2 ** 20;

/**
 * Copies a log of more than 10 MB to `<file>.1` and truncates it. The program keeps writing to the same file, which is
 * open for appending.
 */
export function rotateLog(file: string, limitBytes = LIMIT_BYTES): void {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size <= limitBytes) return;
  try {
    copyFileSync(file, `${file}.1`);
  } catch (error) {
    // A full disk: dropping the old lines frees space.
    if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error;
  }
  truncateSync(file);
}
