import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { ensureGateTool } from "./tools.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");
const CHARTS = [join("charts", "marina"), join("charts", "marina-classes")];
/** A row of the table of values whose last cell, the description, is empty. */
const UNDESCRIBED = /^\| (\S+) \|.*\|\s*\|$/gm;

/** The README of a chart with a table of all values. Throws with the names of those without a description. */
async function renderReadme(chart: string): Promise<string> {
  const { stdout } = await promisify(execFile)(await ensureGateTool("helm-docs"), [
    "--dry-run",
    "--skip-version-footer",
    "--log-level=warning",
    "--sort-values-order=file",
    `--chart-search-root=${join(ROOT, chart)}`,
  ]);
  if (!stdout.includes("| Key |")) throw new Error("helm-docs wrote no table of values");
  const names = [...stdout.matchAll(UNDESCRIBED)].map(([, name]) => name);
  if (names.length > 0) throw new Error(`${chart}/values.yaml does not describe ${names.join(", ")}`);
  return `${stdout.trim()}\n`;
}

async function main(): Promise<void> {
  for (const chart of CHARTS) {
    const file = join(ROOT, chart, "README.md");
    const readme = await renderReadme(chart);
    if (!process.argv.includes("--check")) await writeFile(file, readme);
    else if (readme !== (await readFile(file, "utf8").catch(() => ""))) {
      process.stderr.write(`Stale: ${chart}/README.md. Run \`npm run generate\`.\n`);
      process.exitCode = 1;
    }
  }
}

await main();
