import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { cacheRoot } from "../../platform/stack/tools.ts";

const run = promisify(execFile);
const VERSION = "2.26.0";
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/** Downloads Mustang, a validator of EN 16931 with its official Schematron rules, unless the cache folder has it. */
export async function ensureMustang(): Promise<string> {
  const folder = join(cacheRoot(), `mustang-${VERSION}`);
  const jar = join(folder, `Mustang-CLI-${VERSION}.jar`);
  if (existsSync(jar)) return jar;
  const artifact = `org.mustangproject:Mustang-CLI:${VERSION}`;
  await run("mvn", ["-q", "-B", "dependency:copy", `-Dartifact=${artifact}`, `-DoutputDirectory=${folder}`]);
  return jar;
}

/** What Mustang finds wrong with an invoice; nothing for a valid one. */
export async function findInvoiceFaults(jar: string, file: string): Promise<string[]> {
  const args = ["-jar", jar, "--action", "validate", "--no-notices", "--source", file];
  const { code, stdout } = await run("java", args, { maxBuffer: MAX_OUTPUT_BYTES }).then(
    ({ stdout }) => ({ code: 0, stdout }),
    (error: { code?: number; stdout?: string }) => ({ code: error.code ?? -1, stdout: error.stdout ?? "" }),
  );
  const faults = [...stdout.matchAll(/<error [^>]*>([^<]*)/g)].map(([, text = ""]) => text.trim());
  const isValid = code === 0 && stdout.includes('<summary status="valid"/>');
  return isValid || faults.length > 0 ? faults : [`the validator ended with ${code}`];
}

/**
 * What Mustang says of each file of a folder: `valid`, or another word. One process judges all of them; it may leave out
 * files after one that is not valid.
 */
export async function judgeFolder(jar: string, folder: string): Promise<Record<string, string>> {
  const args = ["-jar", jar, "--action", "validateExpectValid", "--no-notices", "--disable-file-logging"];
  const options = { maxBuffer: MAX_OUTPUT_BYTES };
  const { stdout = "", stderr = "" } = await run("java", [...args, "-d", folder], options).catch(
    (error: { code?: unknown; stdout?: string; stderr?: string }) => {
      // With an exit code it has judged; else it did not run to its end.
      if (typeof error.code !== "number") throw error;
      return error;
    },
  );
  const judged = `${stdout}${stderr}`.matchAll(/Testing file \d+:\s+(\w+) \(([^)]*)\)/g);
  return Object.fromEntries([...judged].map(([, verdict = "", file = ""]) => [basename(file), verdict]));
}

/** The official rules of EN 16931 for the syntax Cross Industry Invoice, as Mustang has them. */
export async function readRules(jar: string): Promise<string> {
  const entry = "xslt/en16931schematron/EN16931-CII-validation.xslt";
  return (await run("unzip", ["-p", jar, entry], { maxBuffer: MAX_OUTPUT_BYTES })).stdout;
}
