import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { toCompactJson } from "../../shared/crd/compact.ts";
import { migrationsFolder } from "./journal.ts";

const ROOT = join(import.meta.dirname, "..", "..");

/** A line for each table of a snapshot, and for each migration of the journal. */
const LINE_DEPTH = 2;

/**
 * Writes the next migration, from what changed in every table.ts. Returns the exit code of drizzle-kit, which may ask.
 */
function writeNextMigration(name: string, options: readonly string[]): number {
  const folder = relative(ROOT, migrationsFolder());
  // drizzle-kit puts "./" before both paths.
  const paths = ["--schema", "apiserver/**/table.ts", "--out", folder];
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

const [name, ...options] = process.argv.slice(2);
if (name === undefined) {
  process.stderr.write("Name what changes: npm run migration -- <what-changes>.\n");
  process.exitCode = 2;
} else process.exitCode = writeNextMigration(name, options);
