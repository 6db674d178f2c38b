import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findJournalFault, migrationsFolder, readJournal } from "./migrate.ts";

/**
 * Checks that the migrations give the schema: in order, and drizzle-kit has nothing to add. Returns the fault in words.
 * Works on a copy, so that the tree stays as it is.
 */
export function findSchemaFault(): string | undefined {
  const fault = findJournalFault(readJournal());
  if (fault !== undefined) return fault;
  const copy = mkdtempSync(join(tmpdir(), "marina-migrations-"));
  try {
    cpSync(migrationsFolder(), copy, { recursive: true });
    const before = readdirSync(copy).length;
    const run = spawnSync(process.execPath, [kitProgram(), "generate", ...kitOptions(copy)], {
      encoding: "utf8",
    });
    if (run.status !== 0) return `drizzle-kit failed: ${run.stderr || run.stdout}`;
    if (readdirSync(copy).length === before) return undefined;
    return "The schema has changes that no migration makes: run drizzle-kit generate --name <what changes>.";
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

function kitProgram(): string {
  return join(import.meta.dirname, "..", "..", "node_modules", "drizzle-kit", "bin.cjs");
}

function kitOptions(out: string): string[] {
  return ["--dialect", "postgresql", "--schema", join(import.meta.dirname, "schema.ts"), "--out", out];
}

if (import.meta.main) {
  const fault = findSchemaFault();
  if (fault !== undefined) {
    process.stderr.write(`${fault}\n`);
    process.exitCode = 1;
  }
}
