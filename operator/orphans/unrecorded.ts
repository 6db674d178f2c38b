import type { Controller, ReconcileResult } from "../../shared/controller/controller.ts";
import { asNew } from "../../shared/controller/plan.ts";
import { LABEL_ID, LABEL_ORG_ID, UNRECORDED_CONFIG_MAP, UNRECORDED_KEY } from "../../shared/crd/names.ts";
import { readUnrecorded, type UnrecordedUse, writeUnrecorded } from "../../shared/crd/published-config.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import { configMapKind } from "../../shared/kube/core-kinds.ts";
import { objectKey, toKey } from "../../shared/kube/object.ts";
import type { Logger } from "../../shared/program/log.ts";
import { elapsedMs, formatTime } from "../../shared/program/time.ts";
import { type CacheSet, type Caches, enqueueTo, type RunContext } from "../caches.ts";
import { type CapiCluster, LABEL_CAPI_CLUSTER, LABEL_CAPI_POOL, type Machine } from "../capi/kinds.ts";
import { isFinalized } from "../identity/identity.ts";
import { isOrphaned } from "../identity/ownership.ts";
import { INDEX_CLUSTER_AND_POOL } from "../indexes.ts";

/** The only key of the controller of what runs unrecorded. */
export const UNRECORDED = "unrecorded";

const RECHECK_AFTER_MS = 60_000;
/** A new machine is in a status within seconds. */
const RECORDED_WITHIN_MS = 60_000;
/** As the machines of a pool that are gone: long enough for a reader that was away. */
const KEPT_MS = 24 * 3_600_000;

export type UnrecordedCaches = {
  [Name in "clusters" | "nodePools" | "capiClusters" | "machines" | "namespaces"]: Pick<
    Caches[Name],
    "list" | "get"
  >;
};

export interface UnrecordedDeps {
  caches: UnrecordedCaches;
  client: Pick<KubeClient, "get">;
  platformNamespace: string;
  log: Logger;
  now(): Date;
}

/**
 * Publishes what runs unrecorded in the ConfigMap that Marina's API server reads, unless it is as it should be: each
 * use until a day after it ended, or until an object of Marina records it again. Rejects with a KubeError; with a conflict
 * when the ConfigMap has changed meanwhile, and then leaves it as it is.
 */
export async function publishUnrecorded(
  { caches, client, platformNamespace: namespace, log, ...deps }: UnrecordedDeps,
  { client: writer, fieldManager, signal }: RunContext,
): Promise<ReconcileResult> {
  const found = await client.get(configMapKind, namespace, UNRECORDED_CONFIG_MAP, { signal });
  const data = writeUnrecorded(decideUnrecorded(caches, readPublished(found, log), deps.now()));
  const before = found?.data ?? writeUnrecorded([]);
  if (data[UNRECORDED_KEY] !== before[UNRECORDED_KEY]) {
    const resourceVersion = found?.metadata.resourceVersion;
    const metadata = { name: UNRECORDED_CONFIG_MAP, namespace, ...(resourceVersion && { resourceVersion }) };
    const desired = { apiVersion: "v1", kind: "ConfigMap", metadata, data };
    const written = found === undefined ? asNew(desired) : desired;
    await writer.apply(configMapKind, written, { fieldManager, force: true, signal });
  }
  return { requeueAfterMs: RECHECK_AFTER_MS };
}

/** What another writer has made of it is replaced. */
function readPublished(live: Parameters<typeof readUnrecorded>[0], log: Logger): UnrecordedUse[] {
  try {
    return readUnrecorded(live);
  } catch {
    log.warn(
      { configMap: UNRECORDED_CONFIG_MAP },
      "what runs unrecorded is not what the operator has written",
    );
    return [];
  }
}

/** What runs first, then what has ended, the newest first: the last entries are left out where there are too many. */
export function decideUnrecorded(
  caches: UnrecordedCaches,
  last: readonly UnrecordedUse[],
  now: Date,
): UnrecordedUse[] {
  const machines = findUnrecordedMachines(caches, now).flatMap(({ metadata }) => metadata.uid ?? []);
  const clusters = findOrphanedClusters(caches).map(({ metadata }) => metadata.labels?.[LABEL_ID] ?? "");
  const running: UnrecordedUse[] = [
    ...[...new Set(clusters)].sort().map((subject) => ({ kind: "cluster" as const, subject })),
    ...machines.sort().map((subject) => ({ kind: "machine" as const, subject })),
  ];
  const isListed = new Set(running.map(toText));
  const exists = new Set([
    ...caches.capiClusters.list().map(({ metadata }) => `cluster ${metadata.labels?.[LABEL_ID]}`),
    ...caches.machines.list().map(({ metadata }) => `machine ${metadata.uid}`),
  ]);
  const gone = last
    .filter((use) => !isListed.has(toText(use)) && !exists.has(toText(use)))
    .map((use) => ({ ...use, goneAt: use.goneAt ?? formatTime(now) }))
    .filter(({ goneAt }) => elapsedMs(goneAt, now) < KEPT_MS)
    .sort((left, right) => Date.parse(right.goneAt) - Date.parse(left.goneAt));
  return [...running, ...gone];
}

function toText({ kind, subject }: UnrecordedUse): string {
  return `${kind} ${subject}`;
}

/**
 * Machines of pools of Cluster API clusters that Marina made, which no status lists. Where their Cluster of Cluster API
 * does not exist, those in the Namespace of an organization.
 */
export function findUnrecordedMachines(caches: UnrecordedCaches, now: Date): Machine[] {
  const recorded = new Set(
    caches.nodePools.list().flatMap(({ status }) => (status?.machines ?? []).map(({ uid }) => uid)),
  );
  return caches.machines.list().filter(({ metadata }) => {
    if (recorded.has(metadata.uid ?? "")) return false;
    const cluster = metadata.labels?.[LABEL_CAPI_CLUSTER];
    if (cluster === undefined || metadata.labels?.[LABEL_CAPI_POOL] === undefined) return false;
    const capiCluster = caches.capiClusters.get(toKey(metadata.namespace, cluster));
    const owner = capiCluster ?? caches.namespaces.get(metadata.namespace ?? "");
    const isOurs =
      owner?.metadata.labels?.[capiCluster === undefined ? LABEL_ORG_ID : LABEL_ID] !== undefined;
    return isOurs && elapsedMs(metadata.creationTimestamp, now) >= RECORDED_WITHIN_MS;
  });
}

/** Cluster API clusters with an id of Marina and no Cluster, though another Cluster may have their name. */
export function findOrphanedClusters({
  capiClusters,
  clusters,
}: Pick<UnrecordedCaches, "capiClusters" | "clusters">): CapiCluster[] {
  return capiClusters.list().filter((object) => isOrphaned(clusters.get(objectKey(object)), object));
}

/** Looks again when an object comes or goes whose resources exist, and when a resource does that no object records. */
export function watchUnrecorded(cacheSet: CacheSet, controller: Pick<Controller, "add">): void {
  const { caches } = cacheSet;
  const add = enqueueTo(controller);
  cacheSet.listen("clusters", (change) => {
    const isLeft = caches.capiClusters.get(objectKey(change.object)) !== undefined;
    if ((change.type !== "updated" || isFinalized(change.object)) && isLeft) add(UNRECORDED, change);
  });
  cacheSet.listen("capiClusters", (change) => {
    const isLeft = isOrphaned(caches.clusters.get(objectKey(change.object)), change.object);
    if (change.type !== "updated" && isLeft) add(UNRECORDED, change);
  });
  cacheSet.listen("nodePools", (change) => {
    const { metadata, spec } = change.object;
    const key = toKey(metadata.namespace, toKey(spec.clusterName, metadata.name));
    const isLeft = caches.machines.byIndex(INDEX_CLUSTER_AND_POOL, key).length > 0;
    if (change.type === "deleted" && isLeft) add(UNRECORDED, change);
  });
  cacheSet.listen("machines", (change) => {
    const { namespace, labels } = change.object.metadata;
    const pool = labels?.[LABEL_CAPI_POOL];
    const isRecorded = pool === undefined || caches.nodePools.get(toKey(namespace, pool)) !== undefined;
    if (change.type !== "updated" && !isRecorded) add(UNRECORDED, change);
  });
}
