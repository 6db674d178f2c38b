import { execFile } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { cacheRoot } from "./tools.ts";

const run = promisify(execFile);
const INSTALL_TIMEOUT_MS = 300_000;

/**
 * A virtual environment of Python in the user's cache folder with these packages (`name==version`), created at the
 * first use; `name` identifies it with its versions. Returns the folder of its programs. Rejects where there is no
 * Python or no package index to install from.
 */
export async function ensurePythonPackages(name: string, packages: readonly string[]): Promise<string> {
  const home = join(cacheRoot(), name);
  const programs = join(home, "bin");
  const complete = join(home, "complete");
  if (existsSync(complete)) return programs;
  mkdirSync(cacheRoot(), { recursive: true });
  await run("python3", ["-m", "venv", "--clear", home]);
  const pip = ["-m", "pip", "install", "-q", "--disable-pip-version-check", ...packages];
  await run(join(programs, "python"), pip, { timeout: INSTALL_TIMEOUT_MS });
  writeFileSync(complete, "");
  return programs;
}
