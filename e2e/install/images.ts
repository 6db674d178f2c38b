import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { APP, writeImageRoot } from "../../image.ts";
import { messageOf } from "../../shared/program/errors.ts";
import { ROOT } from "../platform/stack/marina.ts";
import { imagesOf } from "../platform/stack/workloads.ts";
import { packageChart } from "../testing/chart.ts";
import { CHART } from "./release.ts";

const run = promisify(execFile);

/** The version of the chart, and of the image that it runs, in this tree. */
export const VERSION: string = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")).version;
export const PREVIOUS_VERSION = "0.0.9";
/** What was released as the previous version: programs, migrations and chart of this commit. */
const PREVIOUS_COMMIT = "f28b68e2";

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

/** A version that differs from this tree in its number and in migrations that it has besides. */
export interface NextVersion {
  version: string;
  /** The SQL of each, by its name without a number. */
  migrations: Record<string, string>;
  /** The default of its chart for `migrate.deadlineSeconds`; undefined: that of this tree. */
  deadlineSeconds?: number;
}

/**
 * Writes the image of another version, of that of this tree in the same folder, and packages its chart. Returns the path of the
 * package.
 */
export async function writeNextVersion(
  dir: string,
  helm: string,
  { version, migrations, deadlineSeconds }: NextVersion,
): Promise<string> {
  const image = join(imagesOf(dir), version);
  cpSync(join(imagesOf(dir), VERSION), image, { recursive: true });
  const folder = join(image, APP, "migrations");
  const file = join(folder, "meta", "_journal.json");
  const journal = JSON.parse(readFileSync(file, "utf8"));
  for (const [name, sql] of Object.entries(migrations)) {
    const { idx, when, ...last } = journal.entries.at(-1);
    const tag = `${String(idx + 1).padStart(4, "0")}_${name}`;
    journal.entries.push({ ...last, idx: idx + 1, when: when + 1, tag });
    writeFileSync(join(folder, `${tag}.sql`), sql);
  }
  writeFileSync(file, JSON.stringify(journal));
  const chart =
    deadlineSeconds === undefined ? CHART : copyChart(join(dir, `chart-${version}`), deadlineSeconds);
  return packageChart(dir, helm, { chart, version });
}

/** The chart of this tree with another deadline of migrations, in this folder. */
function copyChart(folder: string, deadlineSeconds: number): string {
  cpSync(CHART, folder, { recursive: true, dereference: true });
  const file = join(folder, "values.yaml");
  const values = readFileSync(file, "utf8");
  writeFileSync(file, values.replace(/^( +deadlineSeconds:) .*$/m, `$1 ${deadlineSeconds}`));
  return folder;
}

async function writeVersion(dir: string, helm: string, sources: string): Promise<string> {
  const image = join(imagesOf(dir), PREVIOUS_VERSION);
  await run(process.execPath, [join(sources, "image.ts"), image], { cwd: sources });
  return packageChart(dir, helm, { chart: join(sources, "charts", "marina"), version: PREVIOUS_VERSION });
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
export type Behind = "apiserver" | "operator" | "programs" | "policies";

/** A copy of this tree's chart in which this part is that of the previous version. Returns its folder. */
export function writeMixedChart(dir: string, behind: Behind): string {
  const chart = join(dir, `marina-with-previous-${behind}`);
  cpSync(CHART, chart, { recursive: true, dereference: true });
  if (behind === "policies") {
    const previous = existsSync(sourcesIn(dir)) ? sourcesIn(dir) : ROOT;
    const template = "templates/platform/policies.yaml";
    const text = readFileSync(join(previous, "charts", "marina", template), "utf8");
    const files = [...text.matchAll(/"(files\/[^"]+)"/g)].flatMap(([, file = ""]) => file);
    for (const file of [template, ...files])
      cpSync(join(previous, "charts", "marina", file), join(chart, file), { dereference: true });
    return chart;
  }
  const image = `image: marina/marina:${PREVIOUS_VERSION}`;
  for (const program of behind === "programs" ? ["apiserver", "operator"] : [behind]) {
    const file = join(chart, "templates", program, "deployment.yaml");
    const text = readFileSync(file, "utf8");
    const mixed = text.replace('image: {{ include "marina.image" . | quote }}', image);
    if (mixed === text) throw new Error(`${file} names its image in another way`);
    writeFileSync(file, mixed);
  }
  return chart;
}
