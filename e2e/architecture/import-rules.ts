import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

/** One import statement: the importing file and what it names, both relative to the repository's root. */
export interface ImportEdge {
  from: string;
  /** A repository path for relative imports ("apiserver/db/client.ts"), a package name otherwise. */
  to: string;
  line: number;
  /** `import type`: nothing of it is there at run time. */
  typeOnly?: boolean;
}

const SLICE_FREE = new Set(["http", "db", "jobs"]);
const PURE_FILES = /^operator\/[^/]+\/(reconcile|children|status)\.ts$/;
const PURE_FORBIDDEN =
  /^(shared\/kube\/(client|connection|reflector|store|transport)\.ts|shared\/controller\/(controller|lease|metrics|queue|recorder|server)\.ts|node:(?!assert$|util$))/;
const OPERATOR_FORBIDDEN = /^(drizzle-orm|postgres|hono|@hono\/.*)$/;

/**
 * The import rules of the architecture (README, "Invariants"), as one function.
 * Returns the broken rule in words, or undefined when the import is allowed.
 */
export function findBrokenRule({ from, to, typeOnly = false }: ImportEdge): string | undefined {
  const [area = "", slice = ""] = from.split("/");
  const [targetArea = "", targetSlice = "", targetFile = ""] = to.split("/");
  const isTest = /\.test\.ts$|\/testing(\/|\.ts$)|\.bench\.ts$/.test(from);

  if (area === "shared" && ["apiserver", "operator"].includes(targetArea))
    return "shared imports nothing of the two programs";
  if (area === "operator" && targetArea === "apiserver") return "the operator never imports the API server";
  if (area === "apiserver" && targetArea === "operator") return "the API server never imports the operator";
  if (area === "operator" && OPERATOR_FORBIDDEN.test(packageOf(to)))
    return "the operator knows no database and no HTTP framework";
  if (["apiserver", "operator", "shared"].includes(area) && targetArea === "e2e" && !isTest)
    return "production code imports nothing of e2e";
  if (PURE_FILES.test(from) && !typeOnly && PURE_FORBIDDEN.test(to))
    return "reconcile, children and status import no client, no clock, no randomness";
  if (area === "shared" && slice === "controller" && to.startsWith("shared/crd/"))
    return "the runtime of controllers knows no product";
  if (area === "apiserver" && targetArea === "apiserver" && !isTest) return findBrokenSliceRule(from, to);
  if (
    area === "e2e" &&
    ["apiserver", "operator"].includes(targetArea) &&
    !/^(main|migrate)\.ts$/.test(targetFile || targetSlice)
  )
    return "e2e imports the two programs through their entry points only";
  return undefined;
}

function findBrokenSliceRule(from: string, to: string): string | undefined {
  const fromParts = from.split("/");
  const toParts = to.split("/");
  const [, slice = "", file = ""] = fromParts;
  const [, targetSlice = "", targetFile = ""] = toParts;
  if (fromParts.length < 3 || toParts.length < 3 || slice === targetSlice) return undefined;
  const targetIsSlice = !SLICE_FREE.has(targetSlice);
  if (slice === "db" && file === "schema.ts" && targetFile === "table.ts") return undefined;
  // A foreign key names the other slice's table.
  if (file === "table.ts" && targetFile === "table.ts") return undefined;
  if (SLICE_FREE.has(slice) && targetIsSlice) return `${slice}/ knows no slice`;
  if (targetIsSlice && targetFile !== "store.ts") return "a slice imports another slice's store.ts only";
  return undefined;
}

/** Every import of every TypeScript file below the given folders of the repository. */
export function readImports(root: string, folders: string[]): ImportEdge[] {
  return folders
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((name) =>
        join(folder, name),
      ),
    )
    .filter((file) => file.endsWith(".ts") && !file.includes("node_modules"))
    .flatMap((file) => importsOf(root, file));
}

function importsOf(root: string, file: string): ImportEdge[] {
  const statement =
    /(?:^|\n)\s*(?:import|export)\s(?:[^;"']*?\sfrom\s*)?["']([^"']+)["']|import\(\s*["']([^"']+)["']\s*\)/g;
  const text = readFileSync(join(root, file), "utf8");
  return [...text.matchAll(statement)].flatMap((match) => {
    const name = match[1] ?? match[2];
    if (name === undefined) return [];
    const to = name.startsWith(".") ? relative(root, join(root, dirname(file), name)) : name;
    const typeOnly = /^\s*(import|export) type\b/.test(match[0]);
    return [{ from: file, to, line: text.slice(0, match.index).split("\n").length + 1, typeOnly }];
  });
}

function packageOf(specifier: string): string {
  const parts = specifier.split("/");
  return specifier.startsWith("@") ? parts.slice(0, 2).join("/") : (parts[0] ?? specifier);
}
