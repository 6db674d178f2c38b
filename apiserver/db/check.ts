import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { findJournalFault, migrationsFolder, readJournal } from "./journal.ts";

const ROOT = join(import.meta.dirname, "..", "..");

/**
 * Checks that the migrations are in order and give the tables of every table.ts below `apiserver`: drizzle-kit has
 * nothing to add. Returns a description of the fault. Works on a copy of the migrations.
 */
export function findSchemaFault(apiserver = "apiserver"): string | undefined {
  const fault = findJournalFault(readJournal());
  if (fault !== undefined) return fault;
  const copy = mkdtempSync(join(tmpdir(), "marina-migrations-"));
  try {
    cpSync(migrationsFolder(), copy, { recursive: true });
    // drizzle-kit puts "./" before both paths, and exits with 0 when it fails.
    const paths = ["--schema", `${apiserver}/**/table.ts`, "--out", relative(ROOT, copy)];
    const program = join(ROOT, "node_modules", "drizzle-kit", "bin.cjs");
    const options = ["generate", "--dialect", "postgresql", ...paths];
    const { stdout, stderr } = spawnSync(process.execPath, [program, ...options], {
      cwd: ROOT,
      encoding: "utf8",
    });
    if (stdout.includes("No schema changes")) return undefined;
    if (!stdout.includes("Your SQL migration file")) return `drizzle-kit failed: ${stderr}${stdout}`;
    return "The tables have changes that no migration makes: run npm run migration -- <what-changes>.";
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const fault = findSchemaFault();
  if (fault !== undefined) {
    process.stderr.write(`${fault}\n`);
    process.exitCode = 1;
  }
}
