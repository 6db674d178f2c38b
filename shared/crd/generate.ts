import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { toCompactYaml } from "./compact.ts";
import { resourceDefinitions } from "./definitions.ts";
import { buildIdentityPolicy } from "./identity-policy.ts";
import { buildCustomResourceDefinition } from "./manifest.ts";
import { renderReservations } from "./reserved/document.ts";
import { buildReservedPolicies } from "./reserved/policy.ts";

const HEADER = "# Generated from shared/crd by `npm run generate`. Do not edit.\n";

/** The generated files of `crds/` by name. */
export function renderFiles(): Map<string, string> {
  const files = new Map<string, string>();
  for (const definition of resourceDefinitions) {
    const { plural, group } = definition.kind;
    files.set(`${group}_${plural}.yaml`, render([buildCustomResourceDefinition(definition)]));
  }
  files.set("validating-admission-policy.yaml", render(buildIdentityPolicy()));
  return files;
}

/**
 * The generated files of `crds/policy/`: what fits an installation only where Marina's programs have separate
 * identities.
 */
export function renderPolicies(): Map<string, string> {
  return new Map([["reserved.yaml", render(buildReservedPolicies())]]);
}

/** Names of files in the folder that are outdated, missing, or not generated. */
export async function findStaleFiles(folder: string, wanted = renderFiles()): Promise<string[]> {
  const found = await readFolder(folder);
  return [...new Set([...wanted.keys(), ...found.keys()])]
    .filter((name) => wanted.get(name) !== found.get(name))
    .sort();
}

async function readFolder(folder: string): Promise<Map<string, string>> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
  return new Map(names.map((name, index) => [name, texts[index] ?? ""]));
}

function render(documents: unknown[]): string {
  return HEADER + documents.map(toCompactYaml).join("---\n");
}

async function main(): Promise<void> {
  const root = join(import.meta.dirname, "../..");
  const folder = join(root, "crds");
  const policies = join(folder, "policy");
  const page = join(root, "docs", "operators", "reserved.md");
  if (!process.argv.includes("--check")) {
    await mkdir(policies, { recursive: true });
    for (const [name, text] of renderFiles()) await writeFile(join(folder, name), text);
    for (const [name, text] of renderPolicies()) await writeFile(join(policies, name), text);
    await writeFile(page, renderReservations());
    return;
  }
  const stale = [...(await findStaleFiles(folder)), ...(await findStaleFiles(policies, renderPolicies()))];
  if ((await readFile(page, "utf8").catch(() => "")) !== renderReservations())
    stale.push("docs/operators/reserved.md");
  if (stale.length === 0) return;
  process.stderr.write(`Stale in crds/ and docs/: ${stale.join(", ")}. Run \`npm run generate\`.\n`);
  process.exitCode = 1;
}

if (import.meta.main) await main();
