import { access, constants, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { ScanError } from "./scan-error.ts";

/** The model of grype's database; its files lie in a folder of this name (grype v0.120.1). */
const MODEL = "6";
const importSchema = z.object({ digest: z.string().min(1) });

/** The vulnerability database that a scan uses now. */
export interface ScannerDatabase {
  /** The digest of its content. */
  version: string;
  builtAt: Date;
}

/** Reads which database grype uses. Throws ScanError when there is none, or no grype. */
export async function readScannerDatabase(command: string, databaseDir: string): Promise<ScannerDatabase> {
  const folder = join(databaseDir, MODEL);
  try {
    await access(command, constants.X_OK);
    const { digest } = importSchema.parse(JSON.parse(await readFile(join(folder, "import.json"), "utf8")));
    const { mtime } = await stat(join(folder, "vulnerability.db"));
    return { version: digest, builtAt: mtime };
  } catch (error) {
    throw new ScanError("scanner_unavailable", error instanceof Error ? error.message : String(error));
  }
}
