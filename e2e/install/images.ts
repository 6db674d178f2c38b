import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { writeImageRoot } from "../../image.ts";
import { messageOf } from "../../shared/program/errors.ts";
import { ROOT } from "../platform/stack/marina.ts";
import { imagesOf } from "../platform/stack/workloads.ts";
import { CHART } from "./release.ts";

const run = promisify(execFile);

/** The version of the chart, and of the image that it runs, in this tree. */
export const VERSION = "0.1.0";
export const PREVIOUS_VERSION = "0.0.9";
/** What was released as the previous version: programs, migrations and chart of this commit. */
const PREVIOUS_COMMIT = "30274770";

/** Writes the image of this tree where the Nodes of the stack in `dir` find it. */
export async function writeImage(dir: string): Promise<void> {
  await writeImageRoot(join(imagesOf(dir), VERSION));
}

/**
 * Writes the image of the previous version, built from its own sources with the libraries of this tree, and packages its
 * chart. Returns the path of the package. Without its commit (a shallow clone) this tree stands for it, and says so.
 */
export async function writePreviousVersion(dir: string, helm: string): Promise<string> {
  return writeVersion(dir, helm, await readPreviousSources(dir));
}

/** Writes the image and the chart of this tree as the previous version: only the number differs. Returns the path of the package. */
export function writeEqualVersion(dir: string, helm: string): Promise<string> {
  return writeVersion(dir, helm, ROOT);
}

async function writeVersion(dir: string, helm: string, sources: string): Promise<string> {
  const image = join(imagesOf(dir), PREVIOUS_VERSION);
  await run(process.execPath, [join(sources, "image.ts"), image], { cwd: sources });
  const versions = ["--version", PREVIOUS_VERSION, "--app-version", PREVIOUS_VERSION];
  await run(helm, ["package", join(sources, "charts", "marina"), ...versions, "--destination", dir]);
  return join(dir, `marina-${PREVIOUS_VERSION}.tgz`);
}

const sourcesIn = (dir: string): string => join(dir, "previous");

async function readPreviousSources(dir: string): Promise<string> {
  const sources = sourcesIn(dir);
  rmSync(sources, { recursive: true, force: true });
  mkdirSync(sources, { recursive: true });
  try {
    const archive = join(sources, "sources.tar");
    await run("git", ["archive", "--output", archive, PREVIOUS_COMMIT], { cwd: ROOT });
    await run("tar", ["--extract", "--file", archive, "--directory", sources]);
    rmSync(archive);
  } catch (error) {
    console.warn(
      `The sources of the previous version are not here; this tree stands for them: ${messageOf(error)}`,
    );
    return ROOT;
  }
  symlinkSync(join(ROOT, "node_modules"), join(sources, "node_modules"));
  return sources;
}

/** What of a release may be a version behind while the rest is new. */
export type Behind = "apiserver" | "operator" | "policies";

/** A copy of this tree's chart in which this part is that of the previous version. Returns its folder. */
export function writeMixedChart(dir: string, behind: Behind): string {
  const chart = join(dir, `marina-with-previous-${behind}`);
  cpSync(CHART, chart, { recursive: true, dereference: true });
  if (behind === "policies") {
    const previous = existsSync(sourcesIn(dir)) ? sourcesIn(dir) : ROOT;
    for (const file of ["templates/platform/policies.yaml", "files/validating-admission-policy.yaml"])
      cpSync(join(previous, "charts", "marina", file), join(chart, file), { dereference: true });
    return chart;
  }
  const file = join(chart, "templates", behind, "deployment.yaml");
  const text = readFileSync(file, "utf8");
  const image = `image: marina/marina:${PREVIOUS_VERSION}`;
  const mixed = text.replace('image: {{ include "marina.image" . | quote }}', image);
  if (mixed === text) throw new Error(`${file} names its image in another way`);
  writeFileSync(file, mixed);
  return chart;
}
