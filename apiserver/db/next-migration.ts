import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { toCompactJson } from "../../shared/crd/compact.ts";
import { findJournalFault, migrationsFolder, readJournal } from "./journal.ts";

const TABLES = "apiserver/**/table.ts";
const ROOT = join(import.meta.dirname, "..", "..");

/** A line for each table of a snapshot, and for each migration of the journal. */
const LINE_DEPTH = 2;

/**
 * Writes the next migration, from what changed in every table.ts. Returns the exit code of drizzle-kit, which may ask.
 */
function writeNextMigration(name: string, options: readonly string[]): number {
  const folder = relative(ROOT, migrationsFolder());
  // drizzle-kit puts "./" before both paths.
  const paths = ["--schema", TABLES, "--out", folder];
  const program = join(ROOT, "node_modules", "drizzle-kit", "bin.cjs");
  const args = ["generate", "--dialect", "postgresql", ...paths, "--name", name, ...options];
  const { status } = spawnSync(process.execPath, [program, ...args], { cwd: ROOT, stdio: "inherit" });
  keepNewestSnapshot(join(ROOT, folder, "meta"));
  return status ?? 1;
}

/** drizzle-kit compares the tables with the newest snapshot alone. */
function keepNewestSnapshot(meta: string): void {
  const snapshots = readdirSync(meta).filter((file) => file.endsWith("_snapshot.json"));
  const newest = snapshots.sort().at(-1);
  for (const file of [...snapshots, "_journal.json"]) {
    const path = join(meta, file);
    if (file === newest || file === "_journal.json")
      writeFileSync(path, `${toCompactJson(JSON.parse(readFileSync(path, "utf8")), LINE_DEPTH)}\n`);
    else rmSync(path);
  }
}

/**
 * Checks that the migrations are in order and give the tables of every table.ts below `apiserver`: drizzle-kit has
 * nothing to add. Returns a description of the fault. Works on a copy of the migrations.
 */
function findMissingMigration(): string | undefined {
  const fault = findJournalFault(readJournal());
  if (fault !== undefined) return fault;
  const copy = mkdtempSync(join(tmpdir(), "marina-migrations-"));
  try {
    cpSync(migrationsFolder(), copy, { recursive: true });
    // drizzle-kit puts "./" before both paths, and exits with 0 when it fails.
    const paths = ["--schema", TABLES, "--out", relative(ROOT, copy)];
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

const [name, ...options] = process.argv.slice(2);
if (name === undefined) {
  process.stderr.write("Name what changes: npm run migration -- <what-changes>.\n");
  process.exitCode = 2;
} else if (name === "--check") {
  const fault = findMissingMigration();
  if (fault !== undefined) process.stderr.write(`${fault}\n`);
  process.exitCode = fault === undefined ? 0 : 1;
} else process.exitCode = writeNextMigration(name, options);
