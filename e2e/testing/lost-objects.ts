import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Kind, KubeObject } from "../../shared/kube/kind.ts";
import type { StackInfo } from "../platform/stack/stack-info.ts";

const TIMEOUT_MS = 60_000;

/**
 * Removes a custom resource from the etcd of the stack's management cluster, as a loss of data does: no deletion is
 * seen beforehand, and no finalizer is waited for. Throws when there was none.
 */
export async function loseObject(
  stack: Pick<StackInfo, "logs">,
  { group, plural }: Pick<Kind<KubeObject>, "group" | "plural">,
  namespace: string,
  name: string,
): Promise<void> {
  const ports = JSON.parse(readFileSync(join(dirname(stack.logs), "ports.json"), "utf8"));
  const key = Buffer.from(`/registry/${group}/${plural}/${namespace}/${name}`).toString("base64");
  const response = await fetch(`http://127.0.0.1:${ports.etcd}/v3/kv/deleterange`, {
    method: "POST",
    body: JSON.stringify({ key }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const { deleted } = (await response.json()) as { deleted?: string };
  if (deleted !== "1") throw new Error(`etcd has no ${plural} ${namespace}/${name}`);
}
