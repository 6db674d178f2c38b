import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const FILE = join(import.meta.dirname, "..", "..", ".marina", "test-seconds.json");

function readAll(): Record<string, number> {
  try {
    return JSON.parse(readFileSync(FILE, "utf8"));
  } catch {
    // No run was recorded here yet.
    return {};
  }
}

/** How long the latest green run of this command took here, in seconds; undefined when there was none. */
export function readLastSeconds(command: string): number | undefined {
  return readAll()[command];
}

/** Records a green run. */
export function writeLastSeconds(command: string, seconds: number): void {
  mkdirSync(dirname(FILE), { recursive: true });
  writeFileSync(FILE, `${JSON.stringify({ ...readAll(), [command]: Math.round(seconds) }, null, 2)}\n`);
}
