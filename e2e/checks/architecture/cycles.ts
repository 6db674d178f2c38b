import { basename, dirname } from "node:path";
import type { ImportEdge } from "./imports.ts";

/**
 * Folders that import one another, directly or through others: each cycle sorted. Imports of types count. A file next
 * to folders counts by itself, for `main.ts` may import them all, and so does every `config.ts`, of which the
 * configuration is composed. Cycles of files are found by oxlint.
 */
export function findFolderCycles(edges: readonly ImportEdge[]): string[][] {
  const parents = new Set(edges.flatMap(({ from, to }) => [from, to]).map((file) => dirname(dirname(file))));
  const nodeOf = (file: string) =>
    parents.has(dirname(file)) || basename(file) === "config.ts" ? file : dirname(file);
  return findCycles(edges.map(({ from, to }) => [nodeOf(from), nodeOf(to)]));
}

/** The strongly connected components of two nodes or more (Tarjan's algorithm). */
function findCycles(arrows: readonly (readonly [from: string, to: string])[]): string[][] {
  const targets = new Map<string, Set<string>>();
  for (const [from, to] of arrows) targets.set(from, (targets.get(from) ?? new Set()).add(to));
  const indexes = new Map<string, number>();
  const path: string[] = [];
  const cycles: string[][] = [];

  /** Returns the lowest index on the path that the node reaches. */
  const visit = (node: string): number => {
    const index = indexes.size;
    indexes.set(node, index);
    path.push(node);
    let lowest = index;
    for (const target of targets.get(node) ?? []) {
      const known = indexes.get(target);
      if (known === undefined) lowest = Math.min(lowest, visit(target));
      else if (path.includes(target)) lowest = Math.min(lowest, known);
    }
    if (lowest === index) {
      const component = path.splice(path.indexOf(node));
      if (component.length > 1) cycles.push(component.sort());
    }
    return lowest;
  };
  for (const node of targets.keys()) if (!indexes.has(node)) visit(node);
  return cycles.sort((one, other) => String(one).localeCompare(String(other)));
}
