import { StepError } from "../../shared/controller/plan.ts";
import type { Cluster } from "../../shared/crd/cluster.ts";
import { identityStateOf, idOf } from "../../shared/crd/identity.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import { type ConfigMap, configMapKind } from "../../shared/kube/core-kinds.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import type { KubeObject } from "../../shared/kube/kind.ts";
import { isOlder } from "../../shared/kube/object.ts";
import type { Store } from "../../shared/kube/store.ts";
import { elapsedMs, formatTime } from "../../shared/program/time.ts";
import type { RunContext } from "../caches.ts";
import { isFinalized } from "../identity/identity.ts";
import { INDEX_SUBNET_OWNER } from "../indexes.ts";
import { LABEL_LOCK, readAllocation } from "../subnets/allocation.ts";

type Subnets = Pick<Store<ConfigMap>, "byIndex">;

/** Whether the name of a Cluster that Cluster API does not know yet is another Namespace's, by the caches. */
export function isNameTakenElsewhere(
  caches: Record<"clusters" | "capiClusters", Pick<Store<KubeObject>, "list">> & {
    subnetAllocations: Subnets;
  },
  cluster: Cluster,
): boolean {
  const { clusters, capiClusters, subnetAllocations } = caches;
  return isNameTakenAmong(cluster, clusters.list(), capiClusters.list(), subnetAllocations);
}

/**
 * Whether the name of a Cluster that Cluster API does not know yet is another Namespace's: of any cluster that Cluster
 * API has there, or of a Cluster that was made before, which may come back; if both were made, the older owns the name.
 * A Cluster that was never made owns none: no tenant may block a name by one.
 */
export function isNameTakenAmong(
  cluster: Cluster,
  clusters: readonly (KubeObject & Pick<Cluster, "status">)[],
  capiClusters: readonly KubeObject[],
  allocations: Subnets,
): boolean {
  const { metadata } = cluster;
  const isNamesake = (other: KubeObject) =>
    other.metadata.name === metadata.name && other.metadata.namespace !== metadata.namespace;
  if (capiClusters.some(isNamesake)) return true;
  const otherOwners = clusters.filter((other) => isNamesake(other) && mayOwnName(other, allocations));
  return mayOwnName(cluster, allocations)
    ? otherOwners.some((other) => isOlder(other.metadata, metadata))
    : otherOwners.length > 0;
}

/**
 * Whether the name of a Cluster may be its own: it was provisioned (`wasProvisioned`), or its id, as from a backup, is not
 * confirmed yet. The name of what is gone, or is a duplicate, is not.
 */
function mayOwnName(cluster: KubeObject & Pick<Cluster, "status">, allocations: Subnets): boolean {
  if (isFinalized(cluster) || identityStateOf(cluster) === "refused") return false;
  const id = idOf(cluster);
  return (
    cluster.status?.firstReadyAt !== undefined ||
    ["known", "unconfirmed"].includes(identityStateOf(cluster)) ||
    (id !== undefined &&
      allocations.byIndex(INDEX_SUBNET_OWNER, id).some((one) => readAllocation(one)?.capiUid !== undefined))
  );
}

/** Far longer than a request takes: an older lock was left by a process that ended. */
const STALE_AFTER_MS = 5 * 60_000;

interface LockDeps {
  client: Pick<KubeClient, "get">;
  settings: { platformNamespace: string };
  now(): Date;
}

/**
 * Runs `make` while no other reconcile makes a cluster of this name in any Namespace. Undefined: another one does, or did and ended.
 * The NAME of the ConfigMap is the cluster's, so only one creator succeeds. Rejects with the KubeError of the lock, or as `make` does.
 */
export async function withNameLock<Result>(
  deps: LockDeps,
  cluster: Cluster,
  context: RunContext,
  make: () => Promise<Result>,
): Promise<Result | undefined> {
  const lock = await takeLock(deps, cluster, context);
  if (lock === undefined) return undefined;
  // A stale lock is taken again by its cluster at the next attempt, and by any other after 5 minutes.
  const release = () => deleteLock(context, lock).catch(() => undefined);
  try {
    const result = await make();
    await release();
    return result;
  } catch (error) {
    if (isRefusal(error)) await release();
    throw error;
  }
}

/** The lock, made or taken again by the cluster that has it; undefined while it is another's. A stale one is removed. */
async function takeLock(
  deps: LockDeps,
  cluster: Cluster,
  context: RunContext,
): Promise<ConfigMap | undefined> {
  const { client, fieldManager, signal } = context;
  const namespace = deps.settings.platformNamespace;
  const lock = composeLock(namespace, cluster, deps.now());
  const { name } = lock.metadata;
  const create = () => client.create(configMapKind, lock, { fieldManager, signal });
  try {
    return await create();
  } catch (error) {
    if (!(error instanceof KubeError && error.isAlreadyExists)) throw error;
  }
  const found = await deps.client.get(configMapKind, namespace, name, { signal });
  if (found === undefined) return create();
  if (found.data?.uid !== cluster.metadata.uid) {
    if (elapsedMs(found.data?.takenAt, deps.now()) > STALE_AFTER_MS) await deleteStaleLock(context, found);
    return undefined;
  }
  // Its age begins anew: while it is used, it must not be removed as stale.
  const renewal = [
    { op: "test" as const, path: "/metadata/uid", value: found.metadata.uid },
    { op: "replace" as const, path: "/data/takenAt", value: lock.data?.takenAt },
  ];
  return client.jsonPatch(configMapKind, namespace, name, renewal, { fieldManager, signal });
}

/** Not one that its owner has taken again since it was read. */
async function deleteStaleLock(context: RunContext, lock: ConfigMap): Promise<void> {
  await deleteLock(context, lock, lock.metadata.resourceVersion).catch((error: unknown) => {
    if (!(error instanceof KubeError && error.isConflict)) throw error;
  });
}

function deleteLock({ client, signal }: RunContext, lock: ConfigMap, resourceVersion?: string) {
  const { namespace, name, uid } = lock.metadata;
  return client.delete(configMapKind, namespace, name, { uid, resourceVersion, signal });
}

/** Whether the Kubernetes API refused the request. After a deadline or a 5xx it may still make what was asked for. */
function isRefusal(error: unknown): boolean {
  const cause = error instanceof StepError ? error.cause : error;
  return cause instanceof KubeError && cause.status >= 400 && cause.status < 500;
}

function composeLock(namespace: string, { metadata }: Cluster, now: Date): ConfigMap {
  return {
    apiVersion: "v1",
    kind: configMapKind.kind,
    metadata: { name: `name-${metadata.name}`, namespace, labels: { [LABEL_LOCK]: "name" } },
    data: { namespace: metadata.namespace ?? "", uid: metadata.uid ?? "", takenAt: formatTime(now) },
  };
}
