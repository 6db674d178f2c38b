import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { buildPrograms, readGoVersion, runGo } from "../programs/go-build.ts";
import type { Buildable } from "./build-queue.ts";
import { fetchPinnedModule, readModuleVersion } from "./go-module.ts";
import { doLocked } from "./run-lock.ts";
import { cacheRoot } from "./tools.ts";

export interface GoTool {
  name: string;
  /** As `go build` takes it. */
  goPackage: string;
  /** The folder of its go.mod, apart from the stack's: a change there rebuilds nothing of the stack. */
  moduleDir: string;
  /** A module that go.mod pins: the program is built with that module's own go.mod and go.sum. */
  module?: string;
  /** Files of the folder that it is built from, in addition to go.mod and go.sum. */
  sources?: readonly string[];
  /** Stops the build. */
  signal?: AbortSignal;
  /** Leaves the cores to programs that run. */
  isBackground?: boolean;
}

/** A program of a module that go.mod of its folder pins. */
export type PinnedTool = GoTool & { module: string };

/** Raised with what `writeToolModule` makes of equal pins. */
const DERIVATION = "1";

interface Pins {
  /** The modules in folders of the pinned one, which its go.mod replaces by these folders. */
  nested: string[];
  /** The lines of go.mod and go.sum on all of them. */
  lines: string[];
  sums: string[];
  /** The minor version in its `go` line, the least of a program: it decides about the defaults of GODEBUG. */
  goMinor: number;
}

function readPins(moduleDir: string, module: string): Pins {
  const read = (file: string) => {
    const lines = readFileSync(join(moduleDir, file), "utf8").split("\n");
    return lines.map((line) => line.trim()).filter((line) => /^[^ ]+ v/.test(line));
  };
  const isOf = (line: string) => line.startsWith(`${module} `) || line.startsWith(`${module}/`);
  const lines = read("go.mod").filter(isOf);
  const nested = lines.flatMap((line) => line.split(" ")[0] ?? []).filter((name) => name !== module);
  const goMinor = readGoMinor(readFileSync(join(moduleDir, "go.mod"), "utf8"));
  return { nested, lines, sums: read("go.sum").filter(isOf), goMinor };
}

/** The path of a program, whether it is built or not. */
export async function pathOfGoTool({ name, moduleDir, module, sources = [] }: GoTool): Promise<string> {
  const hash = createHash("sha256").update(await readGoVersion(moduleDir));
  const files = module === undefined ? ["go.mod", "go.sum", ...sources] : sources;
  if (module !== undefined) {
    const { lines, sums, goMinor } = readPins(moduleDir, module);
    hash.update([DERIVATION, `go 1.${goMinor}`, ...lines, ...sums].join("\n"));
  }
  for (const file of files) hash.update(readFileSync(join(moduleDir, file)));
  return join(cacheRoot(), `${name}-${hash.digest("hex").slice(0, 16)}`, name);
}

/**
 * The path of a program, built when it is not in the user's cache folder yet; of several that want it at once, one
 * builds it. Throws StartError like `buildPrograms`, and when a pinned module has another sum than in go.sum.
 */
export async function ensureGoTool(tool: GoTool): Promise<string> {
  const { name, goPackage, module, signal, isBackground } = tool;
  const file = await pathOfGoTool(tool);
  const dir = dirname(file);
  mkdirSync(dir, { recursive: true });
  const build = async () => {
    if (existsSync(file)) return;
    const moduleDir = module === undefined ? tool.moduleDir : join(dir, "module");
    if (module !== undefined) await writeToolModule({ ...tool, module }, moduleDir);
    const packages = { [name]: goPackage };
    await buildPrograms({ dir, packages, moduleDir, ldflags: "-s -w", signal, isBackground });
  };
  if (!existsSync(file)) await doLocked(`${file}.lock`, build, { signal });
  return file;
}

/**
 * Writes the module that a program of a pinned module is built in to a folder, in place of what is there: the go.mod
 * of the pinned module, which requires the pinned module too, and its go.sum with the sums of the pins. A build refuses
 * what has another sum than there, or none. Throws StartError when the pinned module cannot be downloaded, has another
 * sum than pinned or none, or needs a newer Go.
 */
export async function writeToolModule(tool: PinnedTool, folder: string): Promise<void> {
  const { name, moduleDir, module, sources = [], signal } = tool;
  const published = await fetchPinnedModule(module, { moduleDir, signal });
  const { nested, sums, goMinor } = readPins(moduleDir, module);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const goMod = readFileSync(join(published, "go.mod"), "utf8");
  // Go would fetch the one that the authors prefer, only to read the file.
  writeFileSync(join(folder, "go.mod"), goMod.replace(/^toolchain .*$/m, ""));
  const ownSums = readFileSync(join(published, "go.sum"), "utf8").trimEnd();
  writeFileSync(join(folder, "go.sum"), `${[ownSums, ...sums].join("\n")}\n`);
  for (const source of sources) {
    mkdirSync(dirname(join(folder, source)), { recursive: true });
    copyFileSync(join(moduleDir, source), join(folder, source));
  }
  const edits = [
    `-module=marina.dev/programs/${name}`,
    `-require=${module}@${readModuleVersion(moduleDir, module)}`,
    ...nested.map((one) => `-dropreplace=${one}`),
    ...(readGoMinor(goMod) < goMinor ? [`-go=1.${goMinor}.0`] : []),
  ];
  await readGoVersion(folder);
  await runGo({ moduleDir: folder, args: ["mod", "edit", ...edits], subject: name, signal });
}

function readGoMinor(goMod: string): number {
  return Number(/^go 1\.(\d+)/m.exec(goMod)?.[1] ?? 0);
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
