import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { cacheRoot } from "../../platform/stack/tools.ts";

const run = promisify(execFile);

/** The linters with their rules, and the generators, some of which need another version of TypeScript: see its package.json. */
export const TOOLS_SOURCE = join(import.meta.dirname, "tools");

/**
 * The `node_modules` of the tools in the user's cache folder, installed from their lock file at the first use (half a
 * minute). Safe against a second process that does the same.
 */
export async function ensureOpenApiTools(): Promise<string> {
  const files = ["package.json", "package-lock.json"];
  const hash = createHash("sha256");
  for (const file of files) hash.update(readFileSync(join(TOOLS_SOURCE, file)));
  const home = join(cacheRoot(), `openapi-tools-${hash.digest("hex").slice(0, 16)}`);
  if (!existsSync(home)) {
    const draft = `${home}.${process.pid}.part`;
    mkdirSync(draft, { recursive: true });
    try {
      for (const file of files) copyFileSync(join(TOOLS_SOURCE, file), join(draft, file));
      await run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: draft });
      if (!existsSync(home)) renameSync(draft, home);
    } finally {
      rmSync(draft, { recursive: true, force: true });
    }
  }
  return join(home, "node_modules");
}
