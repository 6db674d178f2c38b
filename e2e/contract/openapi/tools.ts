import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { cacheRoot } from "../../platform/stack/tools.ts";

const run = promisify(execFile);

/**
 * The linters with their rules, and the type generator, which needs a separate version of TypeScript: see its
 * package.json.
 */
export const TOOLS_SOURCE = join(import.meta.dirname, "tools");

/** The `node_modules` of the tools. */
export function ensureOpenApiTools(): Promise<string> {
  return ensureNodePackages("openapi-tools", TOOLS_SOURCE);
}

/**
 * The `node_modules` of a folder's package.json in the user's cache folder, installed from its lock file at the first
 * use (half a minute). Safe against a second process that does the same.
 */
export async function ensureNodePackages(name: string, source: string): Promise<string> {
  const files = ["package.json", "package-lock.json"];
  const hash = createHash("sha256");
  for (const file of files) hash.update(readFileSync(join(source, file)));
  const home = join(cacheRoot(), `${name}-${hash.digest("hex").slice(0, 16)}`);
  if (!existsSync(home)) {
    const draft = `${home}.${process.pid}.part`;
    mkdirSync(draft, { recursive: true });
    try {
      for (const file of files) copyFileSync(join(source, file), join(draft, file));
      await run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: draft });
      if (!existsSync(home)) renameSync(draft, home);
    } finally {
      rmSync(draft, { recursive: true, force: true });
    }
  }
  return join(home, "node_modules");
}
