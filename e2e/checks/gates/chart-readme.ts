import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { ensureGateTool } from "./tools.ts";

const CHART = join(import.meta.dirname, "..", "..", "..", "charts", "marina");
const README = join(CHART, "README.md");
/** A row of the table of values whose last cell, the description, is empty. */
const UNDESCRIBED = /^\| (\S+) \|.*\|\s*\|$/gm;

/** The chart's README with a table of all values. Throws with the names of those without a description. */
async function renderReadme(): Promise<string> {
  const { stdout } = await promisify(execFile)(await ensureGateTool("helm-docs"), [
    "--dry-run",
    "--skip-version-footer",
    "--log-level=warning",
    "--sort-values-order=file",
    `--chart-search-root=${CHART}`,
  ]);
  if (!stdout.includes("| Key |")) throw new Error("helm-docs wrote no table of values");
  const names = [...stdout.matchAll(UNDESCRIBED)].map(([, name]) => name);
  if (names.length > 0) throw new Error(`charts/marina/values.yaml does not describe ${names.join(", ")}`);
  return `${stdout.trim()}\n`;
}

async function main(): Promise<void> {
  const readme = await renderReadme();
  if (!process.argv.includes("--check")) return writeFile(README, readme);
  if (readme === (await readFile(README, "utf8").catch(() => ""))) return;
  process.stderr.write("Stale: charts/marina/README.md. Run `npm run generate`.\n");
  process.exitCode = 1;
}

await main();
