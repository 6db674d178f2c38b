import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { messageOf } from "../../../shared/program/errors.ts";
import { StartError } from "../programs/start-error.ts";

const run = promisify(execFile);

/** The folder whose go.mod and go.sum pin the modules that are taken as they are published. */
export const PINNED_DIR = join(import.meta.dirname, "tools", "pinned");

/** The version of a module in go.mod in `moduleDir`, with `v`. Throws when it is not required there. */
export function readModuleVersion(moduleDir: string, module: string): string {
  const lines = readFileSync(join(moduleDir, "go.mod"), "utf8").split("\n");
  const [, version] = lines.map((line) => line.trim().split(" ")).find(([name]) => name === module) ?? [];
  if (version === undefined) throw new Error(`go.mod in ${moduleDir} does not require ${module}`);
  return version;
}

/**
 * The source folder of a module that go.mod in `moduleDir` names; downloaded when needed. Throws StartError when that
 * fails, also because its sum is another than that in go.sum, or when it is stopped.
 */
export async function fetchGoModule(
  moduleDir: string,
  module: string,
  signal?: AbortSignal,
): Promise<string> {
  const options = { cwd: moduleDir, ...(signal === undefined ? {} : { signal }) };
  try {
    const { stdout } = await run("go", ["mod", "download", "-json", module], options);
    return JSON.parse(stdout).Dir;
  } catch (error) {
    if (signal?.aborted === true) throw new StartError("stopped");
    throw new StartError(`Downloading ${module} failed:\n${readFault(error)}`);
  }
}

/** Go says in its output why a download failed. */
function readFault(error: unknown): string {
  const stdout = error instanceof Error && "stdout" in error ? String(error.stdout) : "";
  return stdout === "" ? messageOf(error) : JSON.parse(stdout).Error;
}

/**
 * The source folder of a module that go.mod in `moduleDir` pins; downloaded when needed. Throws StartError like
 * `fetchGoModule`, and when go.sum lacks a sum of it.
 */
export async function fetchPinnedModule(
  module: string,
  { moduleDir = PINNED_DIR, signal }: { moduleDir?: string; signal?: AbortSignal | undefined } = {},
): Promise<string> {
  const version = readModuleVersion(moduleDir, module);
  const sums = readFileSync(join(moduleDir, "go.sum"), "utf8").split("\n");
  for (const summed of [`${module} ${version}`, `${module} ${version}/go.mod`]) {
    // A download would add it to go.sum, whatever was downloaded.
    if (!sums.some((line) => line.startsWith(`${summed} h1:`)))
      throw new StartError(`missing go.sum entry: ${summed} in ${moduleDir}`);
  }
  // Named with its version, it needs no other module.
  return fetchGoModule(moduleDir, `${module}@${version}`, signal);
}
