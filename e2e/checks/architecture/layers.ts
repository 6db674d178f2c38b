import { basename } from "node:path";

/**
 * The slices of the API server, the lowest first: one may import the `index.ts` of those that are listed before it.
 */
export const SLICES = [
  "organizations",
  "members",
  "users",
  "api-tokens",
  "quotas",
  "billing",
  "node-pools",
  "clusters",
  "network-policies",
  "cluster-accesses",
  "system-events",
  "tickets",
  "webhooks",
  "storage-quotas",
  "registry",
];

/** The layers of the API server, the highest first: a file imports from its own layer and from those below it. */
const LAYERS: readonly (readonly string[])[] = [
  ["main.ts", "background.ts", "check-token.ts", "openapi"],
  ["app.ts"],
  SLICES,
  ["resources"],
  ["events"],
  ["audit"],
  ["deps.ts"],
  ["http", "config.ts"],
  ["db", "work"],
];

/** What the layers above the slices may import of one. */
const ENTRY_FILES = /^(index|(.+-)?routes)\.ts$/;

/** Returns the broken rule when a file of the API server may not import another, both from the repository's root. */
export function findBrokenLayer(from: string, to: string): string | undefined {
  const [source = "", target = ""] = [from, to].map((file) => file.split("/")[1]);
  if (source === target) return undefined;
  // The configuration is composed of what each slice reads, which needs nothing of the slice.
  if (from === "apiserver/config.ts" && basename(to) === "config.ts") return undefined;
  if (basename(from) === "config.ts" && SLICES.includes(target)) return "a config.ts imports no slice";
  const [layer, targetLayer] = [layerOf(source), layerOf(target)];
  if (layer === -1) return `apiserver/${source} has no layer: add it to LAYERS or SLICES`;
  if (targetLayer === -1) return `apiserver/${target} has no layer: add it to LAYERS or SLICES`;
  if (targetLayer < layer) return "imports go down only";
  if (!SLICES.includes(target)) return undefined;
  if (!SLICES.includes(source))
    return ENTRY_FILES.test(basename(to))
      ? undefined
      : "what stands above the slices imports their routes and index.ts only";
  if (SLICES.indexOf(target) > SLICES.indexOf(source)) return `the slice ${target} stands above ${source}`;
  // A foreign key names the other slice's table.
  if (basename(from) === "table.ts" && basename(to) === "table.ts") return undefined;
  return basename(to) === "index.ts" ? undefined : "a slice imports another slice's index.ts only";
}

function layerOf(name: string): number {
  return LAYERS.findIndex((layer) => layer.includes(name));
}
