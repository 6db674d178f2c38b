import { statfsSync } from "node:fs";
import { StartError } from "../programs/start-error.ts";

const GIB = 2 ** 30;

/** Throws a StartError when the file system of `dir` has less than `neededGB` GiB free for `what`. */
export function requireFreeSpace(dir: string, neededGB: number, what: string): void {
  const { bavail, bsize } = statfsSync(dir);
  const freeGB = (bavail * bsize) / GIB;
  if (freeGB >= neededGB) return;
  throw new StartError(
    `The disk of ${dir} is full: ${what} needs ${neededGB} GB there and ${freeGB.toFixed(1)} GB are free; delete something and start again.`,
  );
}
