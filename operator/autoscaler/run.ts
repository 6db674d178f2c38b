import { isAutoscaled } from "../../shared/crd/autoscaling.ts";
import type { Cluster } from "../../shared/crd/cluster.ts";
import { LABEL_CLUSTER_ID, LABEL_ID, MANAGER_OPERATOR } from "../../shared/crd/names.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import {
  deploymentKind,
  roleBindingKind,
  roleKind,
  serviceAccountKind,
} from "../../shared/kube/core-kinds.ts";
import type { Kind, KubeObject } from "../../shared/kube/kind.ts";
import { objectKey } from "../../shared/kube/object.ts";
import type { Caches } from "../caches.ts";
import { hasFinalizer } from "../identity.ts";
import { INDEX_CLUSTER } from "../indexes.ts";
import type { PoolDefaults } from "../node-pool/children.ts";
import { isApplied } from "../runtime/applied.ts";
import type { ReconcileResult } from "../runtime/controller.ts";
import { type AutoscalerChild, composeAutoscaler, nameAutoscaler } from "./children.ts";

export interface AutoscalerSettings {
  /** Undefined = the platform runs no autoscalers. */
  autoscalerImage: string | undefined;
}

export interface AutoscalerDeps {
  client: Pick<KubeClient, "apply" | "delete">;
  caches: Caches;
  settings: AutoscalerSettings & { poolDefaults: PoolDefaults };
  /** After each write, so that the cache can be waited for. */
  onWritten(kind: Kind<unknown>, resourceVersion: string): void;
}

/**
 * Gives a cluster with an autoscaled pool its one autoscaler, and takes it away with the last such pool. Rejects with the
 * KubeError of whoever refused; running it again is safe.
 */
export async function runAutoscaler(
  deps: AutoscalerDeps,
  key: string,
  signal: AbortSignal,
): Promise<ReconcileResult> {
  const cluster = deps.caches.clusters.get(key);
  const id = cluster?.metadata.labels?.[LABEL_ID];
  if (cluster === undefined || id === undefined) return undefined;
  const image = deps.settings.autoscalerImage;
  const wanted =
    image !== undefined && isWanted(deps.caches, cluster)
      ? composeAutoscaler(cluster, id, image, deps.settings.poolDefaults)
      : [];
  for (const child of wanted) await applyChild(deps, child, signal);
  if (wanted.length === 0) await removeAll(deps, key, id, signal);
  return undefined;
}

function isWanted(caches: Caches, cluster: Cluster): boolean {
  const { metadata } = cluster;
  if (metadata.deletionTimestamp !== undefined || !hasFinalizer(metadata)) return false;
  return caches.nodePools
    .byIndex(INDEX_CLUSTER, objectKey(cluster))
    .some((pool) => pool.metadata.deletionTimestamp === undefined && isAutoscaled(pool.spec));
}

async function applyChild(deps: AutoscalerDeps, child: AutoscalerChild, signal: AbortSignal): Promise<void> {
  const { kind, object } = child;
  if (isApplied(object, findLive(deps.caches, kind, objectKey(object)))) return;
  const options = { fieldManager: MANAGER_OPERATOR, force: true, signal };
  const written = await deps.client.apply(kind, object, options);
  deps.onWritten(kind, written.metadata.resourceVersion ?? "");
}

/** The Deployment first: without its rights it would only fail. */
async function removeAll(deps: AutoscalerDeps, key: string, id: string, signal: AbortSignal): Promise<void> {
  for (const kind of [deploymentKind, roleBindingKind, roleKind, serviceAccountKind]) {
    const live = findLive(deps.caches, kind, nameAutoscaler(key));
    if (live?.metadata.labels?.[LABEL_CLUSTER_ID] !== id) continue;
    const { namespace, name, uid } = live.metadata;
    await deps.client.delete(kind as Kind<KubeObject>, namespace, name, { uid, signal });
  }
}

function findLive(caches: Caches, kind: Kind<unknown>, key: string): KubeObject | undefined {
  if (kind === serviceAccountKind) return caches.serviceAccounts.get(key);
  if (kind === roleKind) return caches.roles.get(key);
  if (kind === roleBindingKind) return caches.roleBindings.get(key);
  return caches.deployments.get(key);
}
