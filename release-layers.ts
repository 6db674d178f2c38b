import { execFile } from "node:child_process";
import { closeSync, copyFileSync, mkdirSync, openSync, readSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { writeToolModule } from "./e2e/platform/stack/go-tool.ts";
import { GRYPE } from "./e2e/platform/stack/registry.ts";
import { writeImageRoot } from "./image.ts";

/** The platforms of the image, each with how the programs of Linux for it are marked (`e_machine` of ELF). */
const PLATFORMS = { amd64: 62, arm64: 183 } as const;
export type Architecture = keyof typeof PLATFORMS;
export const ARCHITECTURES = Object.keys(PLATFORMS) as Architecture[];

/** Runs a command with these variables besides its own; its output. Rejects when it fails. */
export async function run(
  command: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<string> {
  const options = { env: { ...process.env, ...env }, maxBuffer: 64 * 1024 * 1024 };
  return (await promisify(execFile)(command, args, options)).stdout.trim();
}

/** The architecture that a program of Linux is for; undefined for another file. */
export function readArchitecture(header: Uint8Array): Architecture | undefined {
  const isElf = Buffer.from(header.subarray(0, 4)).equals(Buffer.from("\x7fELF", "latin1"));
  const machine = isElf ? Buffer.from(header).readUInt16LE(18) : undefined;
  return ARCHITECTURES.find((one) => PLATFORMS[one] === machine);
}

/** Throws unless the file is a program for this platform; `what` is its name in the message. */
function requireProgram(path: string, architecture: Architecture, what: string): void {
  const header = Buffer.alloc(64);
  const file = openSync(path, "r");
  readSync(file, header);
  closeSync(file);
  const found = readArchitecture(header);
  if (found !== architecture)
    throw new Error(`${what} for ${architecture} is for ${found ?? "nothing known"}`);
}

/** Throws unless Node in the base image of a platform is a program for it. */
export async function requireArchitecture(
  folder: string,
  base: string,
  architecture: Architecture,
  insecure: readonly string[],
): Promise<void> {
  const archive = join(folder, `base-${architecture}.tar`);
  await run("crane", ["export", ...insecure, "--platform", `linux/${architecture}`, base, archive]);
  await run("tar", ["--extract", "--file", archive, "--directory", folder, "nodejs/bin/node"]);
  requireProgram(join(folder, "nodejs/bin/node"), architecture, `Node of ${base}`);
  rmSync(join(folder, "nodejs"), { recursive: true });
  rmSync(archive);
}

/** The layer that every image adds to its base. */
export async function writeProgramsLayer(folder: string): Promise<string> {
  const root = join(folder, "root");
  await writeImageRoot(root);
  return writeLayer(root, join(folder, "layer.tar"));
}

/** For each platform the layer with grype, as the Dockerfile has it. */
export async function writeScannerLayers(
  folder: string,
  given: Readonly<Record<Architecture, string>> | undefined,
  log: (line: string) => void,
): Promise<Record<Architecture, string>> {
  const module = join(folder, "grype");
  if (given === undefined) await writeToolModule(GRYPE, module);
  const layers = ARCHITECTURES.map(async (architecture) => {
    const root = join(folder, `scanner-${architecture}`);
    const file = join(root, "usr", "local", "bin", "grype");
    mkdirSync(dirname(file), { recursive: true });
    if (given === undefined) {
      log(`building grype for ${architecture}`);
      await buildGrype(module, file, architecture);
    } else copyFileSync(given[architecture], file);
    requireProgram(file, architecture, "grype");
    return [architecture, await writeLayer(root, `${root}.tar`)] as const;
  });
  return Object.fromEntries(await Promise.all(layers)) as Record<Architecture, string>;
}

async function buildGrype(module: string, file: string, architecture: Architecture): Promise<void> {
  const flags = ["-trimpath", "-ldflags", "-s -w", "-o", file];
  const env = { CGO_ENABLED: "0", GOOS: "linux", GOARCH: architecture };
  const args = ["build", "-C", module, ...flags, GRYPE.goPackage];
  await run("go", args, env);
}

/** A folder as a layer: the same files, times and owners whoever makes it. */
async function writeLayer(root: string, layer: string): Promise<string> {
  const same = [
    "--sort=name",
    "--mtime=@0",
    "--owner=0",
    "--group=0",
    "--numeric-owner",
    "--mode=u=rwX,go=rX",
  ];
  await run("tar", ["--create", "--file", layer, ...same, "--directory", root, "."]);
  return layer;
}
