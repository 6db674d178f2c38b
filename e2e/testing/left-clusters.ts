import { clusterKind } from "../../shared/crd/cluster.ts";
import { createClient } from "../../shared/kube/client.ts";
import { loadConnection } from "../../shared/kube/connection.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { createTransport } from "../../shared/kube/transport.ts";

const organizations = new Set<string>();

/** Has the clusters of an organization deleted once the tests of this file have ended. */
export function rememberOrganization(id: string): void {
  organizations.add(id);
}

/** As `rememberOrganization`, of the response to any request. */
export function rememberCreated(method: string, path: string, { status, body }: Answer): void {
  if (method === "POST" && path.endsWith("/organizations") && status === 201) rememberOrganization(body.id);
}

interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: the body is whatever the operation declares.
  body: any;
}

/**
 * Deletes the clusters that the tests of a file have left, and does not wait: each idle tenant control plane takes a fortieth of a core
 * from the tests that follow. One that is protected or held, or cannot be deleted now, stays.
 */
export async function deleteLeftClusters(kubeconfig: string): Promise<void> {
  const namespaces = new Set([...organizations].map((id) => `org-${id}`));
  organizations.clear();
  if (namespaces.size === 0) return;
  const transport = createTransport({ connection: loadConnection(kubeconfig) });
  const client = createClient(transport);
  try {
    for (const { metadata } of await client.listAll(clusterKind)) {
      const { name, namespace = "", deletionTimestamp } = metadata;
      if (!namespaces.has(namespace) || deletionTimestamp !== undefined) continue;
      await client.delete(clusterKind, namespace, name).catch((error: unknown) => {
        if (!(error instanceof KubeError)) throw error;
      });
    }
  } finally {
    await transport.close();
  }
}
