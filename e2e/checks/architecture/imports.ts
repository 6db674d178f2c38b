import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

/** One import or re-export statement. */
export interface ImportEdge {
  /** The importing file, relative to the repository's root. */
  from: string;
  /** A repository path for relative imports ("apiserver/db/client.ts"), a package name otherwise. */
  to: string;
  line: number;
  /** `import type`: absent at run time. */
  typeOnly?: boolean;
}

/** Every TypeScript file below the given folders, relative to the repository's root. */
export function listSourceFiles(root: string, folders: readonly string[]): string[] {
  return folders
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((name) =>
        join(folder, name),
      ),
    )
    .filter((file) => file.endsWith(".ts") && !file.includes("node_modules"))
    .sort();
}

/** Every import of every TypeScript file below the given folders. */
export function readImports(root: string, folders: readonly string[]): ImportEdge[] {
  return listSourceFiles(root, folders).flatMap((file) => importsOf(root, file));
}

/** Whether a file is a test, a benchmark, or code that only these use. */
export function isTestFile(file: string): boolean {
  return /\.(test|bench)\.ts$|(^|\/)(testing|bench)\/|(^|\/)testing(-[^/]+)?\.ts$/.test(file);
}

/**
 * The npm package or built-in module that a specifier names: "@hono/node-server/serve-static" is of
 * "@hono/node-server".
 */
export function packageOf(specifier: string): string {
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
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
