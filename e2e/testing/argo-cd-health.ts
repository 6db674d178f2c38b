import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { ROOT } from "../platform/stack/marina.ts";
import { ensureTestTool } from "../platform/stack/test-tools.ts";

/** The health of an object in Argo CD. `Missing` is not among them: it is said of objects that are not there. */
export type ArgoCDHealth = "Healthy" | "Progressing" | "Degraded" | "Suspended";

const settingsShape = z.object({ data: z.record(z.string(), z.string()) });
const ignoredShape = z.object({ managedFieldsManagers: z.array(z.string()) });

function readSettings(): Record<string, string> {
  return settingsShape.parse(parse(readFileSync(join(ROOT, "examples/argo-cd/argocd-cm.yaml"), "utf8"))).data;
}

/** The field managers whose fields of this kind Argo CD does not compare, by the settings of `examples/argo-cd`. */
export function readIgnoredManagers(kind: string): string[] {
  const text = readSettings()[`resource.customizations.ignoreDifferences.cloud.marina.dev_${kind}`] ?? "";
  return ignoredShape.parse(parse(text)).managedFieldsManagers;
}

/**
 * The health of each object as Argo CD computes it with the scripts of `examples/argo-cd`. An object that is being
 * deleted is progressing before any script is asked (gitops-engine, health.GetResourceHealth).
 */
export async function readArgoCDHealth(
  objects: readonly { kind: string; metadata: { deletionTimestamp?: string | undefined } }[],
): Promise<ArgoCDHealth[]> {
  const data = readSettings();
  const input = objects
    .map((object) =>
      JSON.stringify({
        script: data[`resource.customizations.health.cloud.marina.dev_${object.kind}`] ?? "",
        object,
      }),
    )
    .join("\n");
  const program = spawnSync(await ensureTestTool("argo-cd-health"), { input, encoding: "utf8" });
  if (program.status !== 0) throw new Error(`the scripts failed: ${program.stderr}`);
  const answers = program.stdout.trim().split("\n");
  return objects.map(({ metadata }, n) =>
    metadata.deletionTimestamp === undefined ? JSON.parse(answers[n] ?? "").status : "Progressing",
  );
}
