import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { buildProgram, readGoVersion } from "../programs/go-build.ts";
import type { Buildable } from "./build-queue.ts";
import { doLocked } from "./run-lock.ts";
import { cacheRoot } from "./tools.ts";

export interface GoTool {
  name: string;
  /** As `go build` takes it. */
  goPackage: string;
  /** The folder of its go.mod, apart from the stack's: a change there rebuilds nothing of the stack. */
  moduleDir: string;
  /** Files of the folder that it is built from, in addition to go.mod and go.sum. */
  sources?: readonly string[];
  /** Stops the build. */
  signal?: AbortSignal;
  /** Leaves the cores to programs that run. */
  isBackground?: boolean;
}

/** The path of a program, whether it is built or not. */
export async function pathOfGoTool({ name, moduleDir, sources = [] }: GoTool): Promise<string> {
  const hash = createHash("sha256").update(await readGoVersion(moduleDir));
  for (const file of ["go.mod", "go.sum", ...sources]) hash.update(readFileSync(join(moduleDir, file)));
  return join(cacheRoot(), `${name}-${hash.digest("hex").slice(0, 16)}`, name);
}

/**
 * The path of a program, built when it is not in the user's cache folder yet; of several that want it at once, one
 * builds it. Throws StartError like `buildProgram`.
 */
export async function ensureGoTool(tool: GoTool): Promise<string> {
  const { goPackage, moduleDir, signal, isBackground } = tool;
  const file = await pathOfGoTool(tool);
  mkdirSync(dirname(file), { recursive: true });
  const build = async () => {
    if (!existsSync(file))
      await buildProgram({ file, goPackage, moduleDir, ldflags: "-s -w", signal, isBackground });
  };
  if (!existsSync(file)) await doLocked(`${file}.lock`, build, { signal });
  return file;
}

/** The program as an entry of a build queue. Throws StartError for a missing or old Go. */
export async function buildableOf(tool: GoTool): Promise<Buildable> {
  const file = await pathOfGoTool(tool);
  return {
    name: tool.name,
    isBuilt: () => existsSync(file),
    build: async (options) => void (await ensureGoTool({ ...tool, ...options })),
  };
}
