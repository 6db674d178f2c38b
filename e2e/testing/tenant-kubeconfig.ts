import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { secretKind } from "../../shared/kube/core-kinds.ts";
import { kubectl } from "../platform/stack/testing.ts";
import type { Engineer } from "./custom-resources.ts";

/** Lends a file with Cluster API's own kubeconfig of a cluster. */
export async function withTenantKubeconfig<T>(
  { client, namespace }: Pick<Engineer, "client" | "namespace">,
  cluster: string,
  use: (kubeconfig: string) => Promise<T>,
): Promise<T> {
  const secret = await client.get(secretKind, namespace, `${cluster}-kubeconfig`);
  const folder = await mkdtemp(join(tmpdir(), "marina-tenant-"));
  try {
    const file = join(folder, "config");
    await writeFile(file, Buffer.from(secret?.data?.value ?? "", "base64"), { mode: 0o600 });
    return await use(file);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Sets a node of a cluster to not ready, and keeps it so. */
export async function failNode(engineer: Engineer, cluster: string, node: string): Promise<void> {
  await withTenantKubeconfig(engineer, cluster, async (kubeconfig) => {
    // Otherwise kwok, which simulates its kubelet, reports ready again immediately.
    await kubectl(["annotate", "node", node, "kwok.x-k8s.io/node-"], { kubeconfig });
    const conditions = [{ type: "Ready", status: "False", reason: "Dead", message: "" }];
    const patch = JSON.stringify({ status: { conditions } });
    const status = ["--subresource=status", "--type=strategic"];
    await kubectl(["patch", "node", node, ...status, "-p", patch], { kubeconfig });
  });
}
