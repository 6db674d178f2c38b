import { appendFileSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { findSecrets } from "./secrets.ts";

/**
 * Observations of all processes of one test run: test files that started, responses (`<operationId> <status>`), the
 * identifying part of every credential that was sent or received, messages about wrong fields, and texts to tenants
 * (both as JSON).
 */
type Kind = "file" | "response" | "secret" | "message" | "text";

const remembered = new Set<string>();

/** The folder of the current test run, if any; programs in test processes log there too. */
export function findSeenFolder(): string | undefined {
  return process.env.MARINA_TEST_SEEN_FOLDER;
}

/** Records it for the current test run, if any: one file for each process. */
export function rememberSeen(kind: Kind, what: string): void {
  const folder = findSeenFolder();
  const line = `${kind} ${what}\n`;
  if (folder === undefined || remembered.has(line)) return;
  remembered.add(line);
  appendFileSync(join(folder, `${process.pid}.seen`), line, { mode: 0o600 });
}

/** Records every credential in the texts. */
export function rememberSecrets(...texts: (string | null | undefined)[]): void {
  if (findSeenFolder() === undefined) return;
  for (const text of texts) for (const secret of findSecrets(text ?? "")) rememberSeen("secret", secret);
}

/** Everything recorded so far, in all processes. */
export function readSeen(kind: Kind): Set<string> {
  const folder = findSeenFolder() ?? "";
  const names = readdirSync(folder).filter((name) => name.endsWith(".seen"));
  const lines = names.flatMap((name) => readFileSync(join(folder, name), "utf8").split("\n"));
  const own = lines.filter((line) => line.startsWith(`${kind} `));
  return new Set(own.map((line) => line.slice(kind.length + 1)));
}
