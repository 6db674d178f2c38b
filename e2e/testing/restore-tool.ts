import type { Kind, KubeObject } from "../../shared/kube/kind.ts";
import { createId } from "../../shared/program/id.ts";
import { kubectl } from "../platform/stack/testing.ts";

/** As the values restore.subjects of the chart bind it. */
const TOOL = "system:serviceaccount:restore-tool:velero";
export const AS_TOOL = [`--as=${TOOL}`, "--as-group=system:serviceaccounts"];

/** Binds the chart's role for restoring; the function that is returned ends that. */
export async function bindRestoreTool(): Promise<() => Promise<void>> {
  const binding = `restore-tool-${createId()}`;
  const subject = ["--serviceaccount=restore-tool:velero", "--clusterrole=marina-restore"];
  await kubectl(["create", "clusterrolebinding", binding, ...subject]);
  return async () => {
    await kubectl(["delete", "clusterrolebinding", binding]);
  };
}

/**
 * Restores an object as Velero does: as it was, without status and uid; then its managedFields. `sender`: who does it,
 * as options of kubectl.
 */
export async function restoreObject<T extends KubeObject & { spec: object }>(
  { group, plural }: Pick<Kind<T>, "group" | "plural">,
  backup: T,
  { name = backup.metadata.name, sender = AS_TOOL } = {},
): Promise<void> {
  const { labels, annotations, finalizers, namespace, managedFields } = backup.metadata;
  const metadata = { name, namespace, labels, annotations, finalizers };
  const manifest = { apiVersion: backup.apiVersion, kind: backup.kind, metadata, spec: backup.spec };
  await kubectl(["create", "-f", "-", ...sender], { stdin: JSON.stringify(manifest) });
  const patch = JSON.stringify({ metadata: { managedFields } });
  const target = ["patch", `${plural}.${group}`, name, `-n=${namespace}`];
  await kubectl([...target, "--type=merge", "-p", patch, ...sender]);
}
