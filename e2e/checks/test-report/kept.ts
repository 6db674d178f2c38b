import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** A JSON object of this checkout that outlives a run of tests. */
export function openKept<T>(name: string): {
  read(): Record<string, T>;
  add(entries: Record<string, T>): void;
} {
  const file = join(import.meta.dirname, "..", "..", "..", ".marina", name);
  const read = (): Record<string, T> => {
    try {
      return JSON.parse(readFileSync(file, "utf8"));
    } catch {
      // Nothing was kept here yet.
      return {};
    }
  };
  return {
    read,
    add(entries) {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, `${JSON.stringify({ ...read(), ...entries }, null, 2)}\n`);
    },
  };
}

/** How long the latest green run of a command took here, in seconds. */
export const lastSeconds = openKept<number>("test-seconds.json");

/** The digest of the inputs with which a test file was green. */
export const greenInputs = openKept<string>("test-green.json");
