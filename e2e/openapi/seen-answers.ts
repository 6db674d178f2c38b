import { appendFileSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** What the processes of one run of tests have seen: test files that began, and `<operationId> <status>` answered. */
type Kind = "file" | "answer";

const remembered = new Set<string>();

/** Notes it for the run of tests that is under way, if there is one: one file for each process. */
export function rememberSeen(kind: Kind, what: string): void {
  const folder = process.env.MARINA_TEST_SEEN_FOLDER;
  const line = `${kind} ${what}\n`;
  if (folder === undefined || remembered.has(line)) return;
  remembered.add(line);
  appendFileSync(join(folder, `${process.pid}.txt`), line);
}

/** All that was noted so far, in all processes. */
export function readSeen(kind: Kind): Set<string> {
  const folder = process.env.MARINA_TEST_SEEN_FOLDER ?? "";
  const lines = readdirSync(folder).flatMap((name) => readFileSync(join(folder, name), "utf8").split("\n"));
  const own = lines.filter((line) => line.startsWith(`${kind} `));
  return new Set(own.map((line) => line.slice(kind.length + 1)));
}
