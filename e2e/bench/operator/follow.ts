import { type Cluster, clusterKind } from "../../../shared/crd/cluster.ts";
import type { KubeClient } from "../../../shared/kube/client.ts";

/** Calls `take` with every Marina Cluster, now and at each change. */
export async function followClusters(
  client: KubeClient,
  take: (cluster: Cluster) => void,
): Promise<{ stop(): void }> {
  const stopping = new AbortController();
  const { items, resourceVersion } = await client.list(clusterKind);
  for (const cluster of items) take(cluster);
  const watch = async () => {
    const options = { resourceVersion, timeoutSeconds: 3600, signal: stopping.signal };
    for await (const event of client.watch(clusterKind, options)) {
      if (event.type !== "BOOKMARK") take(event.object);
    }
  };
  watch().catch((error: Error) => {
    if (!stopping.signal.aborted) console.error(`the watch of the benchmark ended: ${error.message}`);
  });
  return { stop: () => stopping.abort() };
}
