import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { ensurePythonPackages } from "../../platform/stack/python.ts";

const run = promisify(execFile);
const VERSION = "1.0.0";
/** The last version that has what the validator's own dependency imports, and does not pin. */
const MULTIMETHOD = "multimethod==1.10";

/** The columns that FOCUS 1.0 names otherwise than the rules of the validator. */
const NAMES_OF_VALIDATOR = {
  InvoiceIssuerName: "InvoiceIssuer",
  ProviderName: "Provider",
  PublisherName: "Publisher",
  ResourceId: "ResourceID",
};
/** This rule is written for the column ChargeType, which FOCUS 1.0 has not. */
const OVERRIDES = "overrides:\n  - SkuPriceId_Nullable\n";

/** Installs the validator of FOCUS in a separate virtual environment. Returns the folder of its programs. */
export function ensureFocusValidator(): Promise<string> {
  return ensurePythonPackages(`focus-validator-${VERSION}`, [`focus_validator==${VERSION}`, MULTIMETHOD]);
}

/**
 * What the validator says of a file in the columns of FOCUS 1.0; it ends with `Validation succeeded.` for a valid one.
 */
export async function judgeFocusCsv(programs: string, csv: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "marina-focus-"));
  try {
    const [data, overrides] = [join(folder, "data.csv"), join(folder, "overrides.yaml")];
    const end = csv.indexOf("\r\n");
    const columns = csv.slice(0, end).split(",");
    const renamed = columns.map(
      (column) => new Map(Object.entries(NAMES_OF_VALIDATOR)).get(column) ?? column,
    );
    writeFileSync(data, renamed.join(",") + csv.slice(end));
    writeFileSync(overrides, OVERRIDES);
    const args = ["--data-file", data, "--override-file", overrides, "--validate-version", "1.0"];
    // It reads its list of currencies from the current folder.
    const lib = join(programs, "..", "lib");
    const cwd = join(lib, readdirSync(lib)[0] ?? "", "site-packages");
    const { stdout } = await run(join(programs, "focus-validator"), args, { cwd });
    return stdout.trim();
  } finally {
    rmSync(folder, { recursive: true });
  }
}
