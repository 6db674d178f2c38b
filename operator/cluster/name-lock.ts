import { elapsedMs } from "../../shared/controller/time.ts";
import type { Cluster } from "../../shared/crd/cluster.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import { type ConfigMap, configMapKind } from "../../shared/kube/core-kinds.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import type { RunContext } from "../caches.ts";
import { LABEL_LOCK } from "../subnets/lock.ts";

/** Far longer than a request takes: an older lock was left by a process that ended. */
const LEFT_AFTER_MS = 5 * 60_000;

interface LockDeps {
  client: Pick<KubeClient, "get">;
  settings: { platformNamespace: string };
  now(): Date;
}

/**
 * Runs `make` while nobody else makes a cluster of this name in any Namespace. Undefined: somebody else does at this moment. The
 * NAME of the ConfigMap is the cluster's, so only one creator succeeds. Rejects with the KubeError of the lock, or as `make` does.
 */
export async function withNameLock<Result>(
  deps: LockDeps,
  cluster: Cluster,
  { client, fieldManager, signal }: RunContext,
  make: () => Promise<Result>,
): Promise<Result | undefined> {
  const namespace = deps.settings.platformNamespace;
  const lock = composeLock(namespace, cluster);
  const { name } = lock.metadata;
  const create = () => client.create(configMapKind, lock, { fieldManager, signal });
  const { metadata, data } = await create().catch(async (error: unknown) => {
    if (!(error instanceof KubeError && error.isAlreadyExists)) throw error;
    return (await deps.client.get(configMapKind, namespace, name, { signal })) ?? create();
  });
  const isOwn = data?.uid === cluster.metadata.uid;
  try {
    return isOwn ? await make() : undefined;
  } finally {
    if (isOwn || elapsedMs(metadata.creationTimestamp, deps.now()) > LEFT_AFTER_MS)
      await client.delete(configMapKind, namespace, name, { uid: metadata.uid, signal });
  }
}

function composeLock(namespace: string, { metadata }: Cluster): ConfigMap {
  return {
    apiVersion: "v1",
    kind: configMapKind.kind,
    metadata: { name: `name-${metadata.name}`, namespace, labels: { [LABEL_LOCK]: "name" } },
    data: { namespace: metadata.namespace ?? "", uid: metadata.uid ?? "" },
  };
}
