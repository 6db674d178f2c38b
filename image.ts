import { execFile } from "node:child_process";
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { writeBundles } from "./build.ts";

const ROOT = import.meta.dirname;

/**
 * Where the programs are in the image: `node apiserver`, `node operator`, `node scanner` and `node migrate` run there.
 */
export const APP = "app";

/**
 * Writes the files that the image adds to its base image into a folder: the bundles, the migrations, the license and
 * a list of the libraries in the bundles (CycloneDX). Equal sources give equal files.
 */
export async function writeImageRoot(folder: string): Promise<void> {
  const app = join(folder, APP);
  rmSync(app, { recursive: true, force: true });
  mkdirSync(app, { recursive: true });
  await writeBundles(app, { sourcemap: false });
  cpSync(join(ROOT, "LICENSE"), join(app, "LICENSE"));
  writeFileSync(join(app, "package.json"), `${JSON.stringify({ type: "module" })}\n`);
  writeFileSync(join(app, "sbom.cdx.json"), await composeSbom());
}

interface Component {
  "bom-ref": string;
  properties: { name: string }[];
}

/**
 * The libraries of the lock file that the programs use; without the time and the random id that npm puts in. Those of
 * development are sorted out here, for `--omit=dev` of npm 11.19 leaves out libraries that both use.
 */
async function composeSbom(): Promise<string> {
  const args = ["sbom", "--package-lock-only", "--sbom-format=cyclonedx", "--sbom-type=application"];
  const { stdout } = await promisify(execFile)("npm", args, { cwd: ROOT, maxBuffer: 64 * 1024 * 1024 });
  const { serialNumber: _, metadata, components, dependencies, ...sbom } = JSON.parse(stdout);
  const { timestamp: __, ...described } = metadata;
  const used: Component[] = components.filter(
    ({ properties }: Component) => !properties.some(({ name }) => name === "cdx:npm:package:development"),
  );
  const refs = new Set([described.component["bom-ref"], ...used.map((component) => component["bom-ref"])]);
  const edges = dependencies
    .filter(({ ref }: { ref: string }) => refs.has(ref))
    .map(({ ref, dependsOn }: { ref: string; dependsOn: string[] }) => ({
      ref,
      dependsOn: dependsOn.filter((one) => refs.has(one)),
    }));
  return `${JSON.stringify({ ...sbom, metadata: described, components: used, dependencies: edges }, undefined, 2)}\n`;
}

if (import.meta.main) {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) throw new Error("usage: node image.ts FOLDER");
  await writeImageRoot(resolve(folder));
}
