import { readFileSync } from "node:fs";
import { join } from "node:path";
import { findFolderCycles } from "./cycles.ts";
import { findRepeatedExports } from "./exported-names.ts";
import { findBrokenFileRules } from "./file-rules.ts";
import { findBrokenRule } from "./import-rules.ts";
import { isTestFile, listSourceFiles, readImports } from "./imports.ts";

const FOLDERS = ["apiserver", "operator", "shared", "e2e"];

/** Everything in the repository that breaks a rule of its architecture, one line each. */
export function findViolations(root: string): string[] {
  const edges = readImports(root, FOLDERS);
  const own = edges.filter(({ from, to }) => FOLDERS.includes(to.split("/")[0] ?? "") && !isTestFile(from));
  const sources = listSourceFiles(root, FOLDERS).map((file) => ({
    file,
    text: readFileSync(join(root, file), "utf8"),
  }));
  return [
    ...edges.flatMap((edge) => {
      const rule = findBrokenRule(edge);
      return rule === undefined ? [] : [`${edge.from} imports ${edge.to}: ${rule}`];
    }),
    ...findFolderCycles(own).map((folders) => `import cycle of folders: ${folders.join(", ")}`),
    ...sources.flatMap(({ file, text }) => findBrokenFileRules(file, text).map((rule) => `${file}: ${rule}`)),
    ...findRepeatedExports(sources.filter(({ file }) => !isTestFile(file))),
  ];
}
