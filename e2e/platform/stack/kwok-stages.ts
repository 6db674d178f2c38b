import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fetchGoModule } from "./go-module.ts";

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
  const folder = join(await fetchGoModule(moduleDir, "sigs.k8s.io/kwok"), "kustomize", "stage");
  const texts = STAGES.map((stage) => readFileSync(join(folder, `${stage}.yaml`), "utf8"));
  const draft = `${file}.${process.pid}.part`;
  writeFileSync(draft, texts.join("---\n"));
  renameSync(draft, file);
}
