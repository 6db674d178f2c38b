import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const PROGRAM = join(import.meta.dirname, "recompute.py");

/**
 * Recomputes invoices in Python, from the CSV files of all of an organization's invoices. Returns the net total of each
 * by its number, in cents; rejects with every amount that is not the price of what the line says.
 */
export async function recomputeInvoices(files: readonly string[]): Promise<Map<string, number>> {
  const folder = mkdtempSync(join(tmpdir(), "marina-invoices-"));
  try {
    const paths = files.map((text, index) => {
      const path = join(folder, `${index}.csv`);
      writeFileSync(path, text);
      return path;
    });
    const { stdout } = await run("python3", [PROGRAM, ...paths]);
    const totals = stdout
      .trim()
      .split("\n")
      .map((line) => line.split(" "));
    return new Map(totals.map(([number = "", total = ""]) => [number, Number(total.replace(".", ""))]));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
