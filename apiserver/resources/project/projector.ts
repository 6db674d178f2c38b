import { sql } from "drizzle-orm";
import { type Cluster, clusterKind } from "../../../shared/crd/cluster.ts";
import { changesProtection, type Protectable } from "../../../shared/crd/fields.ts";
import { LABEL_ORG_ID } from "../../../shared/crd/names.ts";
import { type NodePool, nodePoolKind } from "../../../shared/crd/node-pool.ts";
import {
  INDEX_ORGANIZATION,
  indexByOrganization,
  listConcernedNamespaces,
} from "../../../shared/crd/organization.ts";
import { type Namespace, namespaceKind } from "../../../shared/kube/core-kinds.ts";
import { objectKey } from "../../../shared/kube/object.ts";
import { type Change, createReflector, type Reflector } from "../../../shared/kube/reflector.ts";
import { createStore } from "../../../shared/kube/store.ts";
import { createId } from "../../../shared/program/id.ts";
import { Gauge, type Registry } from "../../../shared/program/metrics.ts";
import type { Queryable } from "../../db/client.ts";
import type { Deps } from "../../deps.ts";
import { type BatchQueue, createBatchQueue } from "../../work/batch-queue.ts";
import { runAsLeader } from "../../work/leader.ts";
import { runLoop } from "../../work/loop.ts";
import { createUnauditedVersions, type UnauditedVersions } from "./audit-versions.ts";
import { type Caches, findConfirmedId } from "./caches.ts";
import { keyOf, projectBatch, type Work } from "./project-batch.ts";
import { syncPeriods } from "./table.ts";

const BATCH_SIZE = 100;

export interface Projector {
  /** Whether this process leads and has projected everything that the Kubernetes API held when it started. */
  synced(): boolean;
  /** Resolves when the signal has aborted and the last write is done. */
  stopped: Promise<void>;
}

/** What slices do when what the projector follows changes. */
export interface ProjectorHooks {
  /** Called for a Namespace of an organization with the Clusters and NodePools in it when what is protected there may have changed; retried until it resolves. */
  keepProtection?: (namespace: Namespace, objects: readonly Protectable[]) => Promise<void>;
}

/**
 * Keeps the projection equal to the Kubernetes API: one process of all replicas watches Clusters and NodePools and
 * writes every change to the database. Runs until the signal aborts; after lost leadership it campaigns again.
 */
export function startProjector(deps: Deps, signal: AbortSignal, hooks: ProjectorHooks = {}): Projector {
  let synced = false;
  const stopped = runAsLeader(
    { sql: deps.sql, log: deps.log, name: "projector", signal },
    async (leading) => {
      try {
        await lead(deps, leading, hooks, () => {
          synced = true;
        });
      } finally {
        synced = false;
      }
    },
  );
  return { synced: () => synced, stopped };
}

async function lead(
  deps: Deps,
  signal: AbortSignal,
  hooks: ProjectorHooks,
  onSynced: () => void,
): Promise<void> {
  const caches: Caches = {
    namespaces: createStore<Namespace>({ [INDEX_ORGANIZATION]: indexByOrganization }),
    clusters: createStore<Cluster>({ namespace: ({ metadata }) => [metadata.namespace ?? ""] }),
    nodePools: createStore<NodePool>({
      namespace: ({ metadata }) => [metadata.namespace ?? ""],
      cluster: ({ metadata, spec }) => [`${metadata.namespace}/${spec.clusterName}`],
    }),
  };
  const unaudited = createUnauditedVersions();
  const queue = createBatchQueue<Work>({
    name: "projector",
    batchSize: BATCH_SIZE,
    keyOf: keyOf,
    run: (batch) => projectBatch(deps, caches, batch, unaudited),
    log: deps.log,
    signal,
  });
  observeFailing(deps.metrics, queue);
  const allProjected = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => allProjected.resolve(), { once: true });
  const protection = createBatchQueue<string>({
    name: "namespace-protection",
    batchSize: 1,
    keyOf: (namespace) => namespace,
    run: async ([name = ""]) => {
      await allProjected.promise;
      const namespace = caches.namespaces.get(name);
      if (namespace !== undefined && !signal.aborted)
        await hooks.keepProtection?.(namespace, listObjects(caches, name));
    },
    log: deps.log,
    signal,
  });
  await follow(deps, { caches, queue, unaudited, protection }, signal, () => {
    allProjected.resolve();
    onSynced();
  });
  await Promise.all([queue.stopped, protection.stopped]);
}

function listObjects({ clusters, nodePools }: Caches, namespace: string): Protectable[] {
  return [...clusters.byIndex("namespace", namespace), ...nodePools.byIndex("namespace", namespace)];
}

/**
 * `marina_apiserver_projection_failing_objects`, of the replica that projects; the metric of a former term is replaced.
 */
function observeFailing(registry: Registry, queue: Pick<BatchQueue<Work>, "failing">): void {
  const name = "marina_apiserver_projection_failing_objects";
  registry.removeSingleMetric(name);
  new Gauge({
    name,
    help: "Objects whose projection has failed for half a minute: REST shows them as they were, and their usage stands still",
    registers: [registry],
    collect() {
      this.set(queue.failing());
    },
  });
}

/** What one term of leadership holds. */
interface Term {
  caches: Caches;
  queue: BatchQueue<Work>;
  unaudited: UnauditedVersions;
  /** The Namespaces whose label of what is protected in them may have to change. */
  protection: Pick<BatchQueue<string>, "add">;
}

/** Namespaces first, since they determine the organization; then clusters, then pools, which belong to clusters. */
async function follow(deps: Deps, term: Term, signal: AbortSignal, onSynced: () => void): Promise<void> {
  const aborted = new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  const { queue } = term;
  const reflectors = createReflectors(deps, term);
  for (const reflector of reflectors) {
    reflector.start(signal);
    await Promise.race([reflector.synced, aborted]);
    if (signal.aborted) return;
  }
  queue.add({ kind: "findMissing" });
  await Promise.race([queue.idle(), aborted]);
  if (signal.aborted) return;
  onSynced();
  await recordSyncPeriods(deps, signal, {
    isCurrent: () => reflectors.every((reflector) => reflector.staleMs() === 0),
    flush: () => queue.idle(),
  });
}

function createReflectors(deps: Deps, { caches, queue, unaudited, protection }: Term): Reflector[] {
  const { kube: client, log, kubeMetrics: metrics } = deps;
  const onRelist = (epoch: number) => {
    if (epoch > 1) queue.add({ kind: "findMissing" });
  };
  const addProtection = (change: Change<Cluster | NodePool>) => {
    if (changesProtection(change)) protection.add(change.object.metadata.namespace ?? "");
  };
  return [
    createReflector({
      client,
      log,
      metrics,
      kind: namespaceKind,
      store: caches.namespaces,
      labelSelector: LABEL_ORG_ID,
      onChange(change) {
        for (const name of listConcernedNamespaces(caches.namespaces, change))
          addNamespace(caches, name, queue);
        protection.add(change.object.metadata.name);
      },
    }),
    createReflector({
      client,
      log,
      metrics,
      kind: clusterKind,
      store: caches.clusters,
      keepManagedFields: true,
      onChange(change) {
        if (change.type !== "deleted") unaudited.add(change.object, change.previous);
        onClusterChange(caches, change, queue);
        addProtection(change);
      },
      onRelist,
    }),
    createReflector({
      client,
      log,
      metrics,
      kind: nodePoolKind,
      store: caches.nodePools,
      keepManagedFields: true,
      onChange(change) {
        const { type, object, previous } = change;
        if (type !== "deleted") unaudited.add(object, previous);
        queue.add(type === "deleted" ? { deleted: object } : { kind: "NodePool", key: objectKey(object) });
        addProtection(change);
      },
      onRelist,
    }),
  ];
}

/**
 * A pool is projected with the id of its cluster, so a cluster that is new, or whose id is given or confirmed, has its
 * pools projected too.
 */
function onClusterChange(
  caches: Caches,
  { type, object, previous }: Change<Cluster>,
  queue: BatchQueue<Work>,
): void {
  const key = objectKey(object);
  queue.add(type === "deleted" ? { deleted: object } : { kind: "Cluster", key });
  if (type === "deleted") return;
  if (type === "updated" && previous !== undefined && findConfirmedId(previous) === findConfirmedId(object))
    return;
  for (const pool of caches.nodePools.byIndex("cluster", key))
    queue.add({ kind: "NodePool", key: objectKey(pool) });
}

/** A Namespace that arrives late, is assigned to an organization, or is its only one at last, makes its objects visible. */
function addNamespace(caches: Caches, namespace: string, queue: BatchQueue<Work>): void {
  for (const cluster of caches.clusters.byIndex("namespace", namespace))
    queue.add({ kind: "Cluster", key: objectKey(cluster) });
  for (const pool of caches.nodePools.byIndex("namespace", namespace))
    queue.add({ kind: "NodePool", key: objectKey(pool) });
}

const RECORD_EVERY_MS = 10_000;
/** A watch is renewed every few minutes, which takes a moment; what is lost meanwhile is seen when it is open again. */
const MAX_RECORDED_GAP_MS = 30_000;

/**
 * Records the periods during which the projection was up to date, until the signal aborts: `isCurrent` returns whether all
 * watches are open, and `flush` resolves when everything that they delivered is written. A failure is logged.
 */
async function recordSyncPeriods(
  { db, log, now }: Pick<Deps, "db" | "log" | "now">,
  signal: AbortSignal,
  { isCurrent, flush }: { isCurrent: () => boolean; flush: () => Promise<void> },
): Promise<void> {
  let period: { id: string; seenAt: Date } | undefined;
  const failure = "the time of the projection is not recorded";
  await runLoop({ log, signal, failure, retryMs: RECORD_EVERY_MS }, async () => {
    const seenAt = now();
    if (!isCurrent()) return RECORD_EVERY_MS;
    await flush();
    if (signal.aborted) return 0;
    const gapMs = period === undefined ? Infinity : Math.abs(seenAt.getTime() - period.seenAt.getTime());
    const id: string = period !== undefined && gapMs <= MAX_RECORDED_GAP_MS ? period.id : createId();
    await writeSyncPeriod(db, id, seenAt);
    period = { id, seenAt };
    return RECORD_EVERY_MS;
  });
}

async function writeSyncPeriod(db: Queryable, id: string, seenAt: Date): Promise<void> {
  await db
    .insert(syncPeriods)
    .values({ id, startedAt: seenAt, seenAt })
    .onConflictDoUpdate({
      target: syncPeriods.id,
      set: { seenAt },
      setWhere: sql`${syncPeriods.seenAt} < excluded.seen_at`,
    });
}
