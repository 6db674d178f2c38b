import { execFile } from "node:child_process";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** The rules by which kwok plays a kubelet, in its own module: a node becomes ready and stays so, its pods run. */
const STAGES = [
  "node/fast/node-initialize",
  "node/heartbeat-with-lease/node-heartbeat-with-lease",
  "pod/fast/pod-ready",
  "pod/fast/pod-complete",
  "pod/fast/pod-delete",
];

/** Writes the rules of the kwok version in go.mod to one file, so that a start needs no Go module cache. */
export async function writeKwokStages(moduleDir: string, file: string): Promise<void> {
  // `go list -m` names no folder for a module that no program built so far needed.
  const { stdout } = await run("go", ["mod", "download", "-json", "sigs.k8s.io/kwok"], { cwd: moduleDir });
  const { Dir: moduleFolder } = JSON.parse(stdout) as { Dir: string };
  const folder = join(moduleFolder, "kustomize", "stage");
  const texts = STAGES.map((stage) => readFileSync(join(folder, `${stage}.yaml`), "utf8"));
  const draft = `${file}.${process.pid}.part`;
  writeFileSync(draft, texts.join("---\n"));
  renameSync(draft, file);
}
