import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type ImportEdge, isTestFile, readImports } from "../architecture/imports.ts";

/** What the inputs of tests are found in. */
export interface Sources {
  /** The digest of each file of the repository. */
  digests: ReadonlyMap<string, string>;
  /** Files that name Markdown files, which they may read. */
  readers: ReadonlySet<string>;
  imports: readonly Pick<ImportEdge, "from" | "to">[];
}

const FOLDERS = ["apiserver", "operator", "shared", "e2e"];
const STACK = /^(operator|shared|e2e\/platform\/(stack|local-provider|programs))\//;
const SYSTEM = /^(apiserver|operator|shared|e2e\/platform\/(stack|local-provider|programs))\//;

/** The files of the programs that run during a test, none of which it imports: in a story the API server too. */
function besideOf(test: string): RegExp | undefined {
  if (test.startsWith("e2e/stories/")) return SYSTEM;
  return /\.(int|long|extended)\.test\.ts$/.test(test) ? STACK : undefined;
}

/**
 * One digest for all that the outcome of each test can depend on: what it imports, also over others, the programs that
 * run during it, and every file that is no TypeScript; Markdown only where the test or what it imports names some.
 */
export function digestInputs(tests: readonly string[], sources: Sources): Map<string, string> {
  const { digests, readers, imports } = sources;
  const targets = Map.groupBy(imports, ({ from }) => from);
  const files = [...digests.keys()].toSorted();
  const data = files.filter((file) => !/\.(ts|md)$/.test(file));
  const pages = files.filter((file) => file.endsWith(".md"));
  return new Map(
    tests.map((test) => {
      const reached = new Set([test]);
      for (const file of reached) for (const { to } of targets.get(file) ?? []) reached.add(to);
      const beside = besideOf(test);
      const programs = files.filter((file) => beside?.test(file) === true && !isTestFile(file));
      const readPages = [...reached].some((file) => readers.has(file)) ? pages : [];
      const all = new Set([...reached, ...programs, ...data, ...readPages]);
      const hash = createHash("sha256");
      for (const file of [...all].toSorted()) hash.update(`${file} ${digests.get(file)}\n`);
      return [test, hash.digest("hex").slice(0, 16)];
    }),
  );
}

/**
 * Reads the sources of a checkout: the files that git tracks, and new ones that it does not ignore. Undefined for a
 * folder that is no checkout.
 */
export function readSources(root: string): Sources | undefined {
  if (!existsSync(join(root, ".git"))) return undefined;
  const listed = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 16 * 2 ** 20,
  });
  const digests = new Map<string, string>();
  const readers = new Set<string>();
  for (const file of listed.trim().split("\n")) {
    const bytes = readIfThere(join(root, file));
    if (bytes === undefined) continue;
    digests.set(file, createHash("sha256").update(bytes).digest("hex"));
    if (file.endsWith(".ts") && bytes.includes('.md"')) readers.add(file);
  }
  return { digests, readers, imports: readImports(root, FOLDERS) };
}

function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    // Deleted, and not committed yet.
    return undefined;
  }
}
