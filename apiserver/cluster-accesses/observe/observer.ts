import { type Cluster, clusterKind } from "../../../shared/crd/cluster.ts";
import { type ClusterAccess, clusterAccessKind, findExpiry } from "../../../shared/crd/cluster-access.ts";
import { ANNOTATION_REQUEST_ID, LABEL_ORG_ID } from "../../../shared/crd/names.ts";
import type { KubeObject } from "../../../shared/kube/kind.ts";
import { objectKey, toKey } from "../../../shared/kube/object.ts";
import { createReflector } from "../../../shared/kube/reflector.ts";
import { createStore, type Store } from "../../../shared/kube/store.ts";
import { remainingMs } from "../../../shared/program/time.ts";
import {
  type ExternalAudit,
  isAudited,
  recordExternalAudits,
  recordExternalDeletions,
} from "../../audit/index.ts";
import { toStorable } from "../../db/statement.ts";
import type { Deps } from "../../deps.ts";
import { idSchema } from "../../http/contract/validate.ts";
import { findKnownOrganizations } from "../../organizations/index.ts";
import { externalWritersOf } from "../../resources/project/index.ts";
import { isWriteIntended } from "../../resources/write/index.ts";
import { createBatchQueue } from "../../work/batch-queue.ts";
import { runAsLeader } from "../../work/leader.ts";
import { pause } from "../../work/loop.ts";
import { organizationOf } from "../holder.ts";
import { accessIdOf } from "../present.ts";
import type { ObservedAccess } from "../table.ts";
import { lacksConfirmation, writeAccessConfirmation } from "./confirmation.ts";
import { findUnended, insertObserved, listUnended, markEnded, type NewObservedAccess } from "./store.ts";

/** The time of a deletion is in whole seconds, and the clocks of two programs differ. */
const EXPIRY_TOLERANCE_MS = 5_000;

/** What takes a cluster away takes its accesses too, and may take them first: until then it is open whether one was revoked. */
const LOST_WITHIN_MS = 10_000;
const RECHECK_AFTER_MS = 2_000;

const BATCH_SIZE = 20;

/** An access in the cache, a deleted one, or the search for those that ended while no process watched. */
type Work = { key: string } | { deleted: DeletedAccess } | { findMissing: true };

/** An access that is deleted. */
interface DeletedAccess {
  uid: string;
  /** Null where only its record can say it. */
  createdAt: Date | null;
  /** When the deletion was requested; null where it was not seen. */
  requestedAt: Date | null;
  seenAt: Date;
}

/**
 * Writes what happens to accesses in the Kubernetes API to the audit log, and says of those that wait for it whether they may be
 * issued: one process of all replicas watches them. `lostWithinMs` is how long an access may be gone before its cluster.
 * Resolves when the signal has aborted and the last write is done.
 */
export function startAccessObserver(
  deps: Deps,
  signal: AbortSignal,
  lostWithinMs = LOST_WITHIN_MS,
): { stopped: Promise<void> } {
  const { sql, log } = deps;
  const lead = (leading: AbortSignal) => observe({ ...deps, lostWithinMs }, leading);
  return { stopped: runAsLeader({ sql, log, name: "access-observer", signal }, lead) };
}

async function observe(deps: Deps & { lostWithinMs: number }, signal: AbortSignal): Promise<void> {
  const { kube: client, log, kubeMetrics: metrics } = deps;
  const store = createStore<ClusterAccess>();
  const queue = createBatchQueue<Work>({
    name: "access-observer",
    batchSize: BATCH_SIZE,
    keyOf: (work) =>
      "key" in work ? `access ${work.key}` : "deleted" in work ? `deleted ${work.deleted.uid}` : "missing",
    run: async (batch) => {
      for (const work of batch) await carryOut({ ...deps, store, addLater }, work);
    },
    log,
    signal,
  });
  async function addLater(work: Work, afterMs: number): Promise<void> {
    await pause(afterMs, signal);
    if (!signal.aborted) queue.add(work);
  }
  createReflector({
    client,
    log,
    metrics,
    kind: clusterAccessKind,
    store,
    keepManagedFields: true,
    onChange: ({ type, object }) =>
      queue.add(type === "deleted" ? { deleted: toDeletedAccess(object) } : { key: objectKey(object) }),
    onRelist: () => queue.add({ findMissing: true }),
  }).start(signal);
  await queue.stopped;
}

type ObserverDeps = Deps & {
  store: Store<ClusterAccess>;
  lostWithinMs: number;
  /** Work that waits must tolerate that it is never done: the next list of accesses brings it again. */
  addLater(work: Work, afterMs: number): Promise<void>;
};

async function carryOut(deps: ObserverDeps, work: Work): Promise<void> {
  if ("deleted" in work) return recordEndWhenKnown(deps, work.deleted);
  if ("findMissing" in work) return findMissing(deps);
  const access = deps.store.get(work.key);
  if (access === undefined) return;
  // The record of an access is what decides about one that comes back from a backup.
  if (!lacksConfirmation(access)) await recordObservation(deps, access);
  else if (!(await writeAccessConfirmation(deps, access))) void deps.addLater(work, RECHECK_AFTER_MS);
}

/** Each is confirmed by a live read, since it may have been created after the list in which it is missing. */
async function findMissing(deps: ObserverDeps): Promise<void> {
  for (const { uid, namespace, name } of await listUnended(deps.db)) {
    if (deps.store.get(toKey(namespace, name))?.metadata.uid === uid) continue;
    const live = await deps.kube.get(clusterAccessKind, namespace, name);
    const deleted = { uid, createdAt: null, requestedAt: null, seenAt: new Date() };
    if (live?.metadata.uid !== uid) await recordEndWhenKnown(deps, deleted);
  }
}

/** Records the end of an access once it is known whether its cluster went with it. */
async function recordEndWhenKnown(deps: ObserverDeps, deleted: DeletedAccess): Promise<void> {
  const waitsMs = remainingMs(deleted.seenAt.toISOString(), deps.lostWithinMs, new Date());
  if (waitsMs !== undefined) void deps.addLater({ deleted }, waitsMs);
  else await recordEnd(deps, deleted);
}

/**
 * Records what is seen of an access: its creation and its end in the audit log, each once, unless REST has made or audited
 * it or the access only expired or ended with its cluster.
 */
async function recordObservation(deps: ObserverDeps, access: ClusterAccess): Promise<void> {
  const seen = toObserved(access);
  if (seen === undefined) return;
  if (!(await findKnownOrganizations(deps.db, [seen.orgId])).has(seen.orgId)) return;
  await deps.db.transaction(async (tx) => {
    if (await insertObserved(tx, seen)) await recordExternalAudits(tx, auditsOfCreation(access, seen));
  });
  if (access.metadata.deletionTimestamp !== undefined)
    await recordEndWhenKnown(deps, toDeletedAccess(access));
}

function toDeletedAccess({
  metadata: { uid = "", creationTimestamp, deletionTimestamp },
}: KubeObject): DeletedAccess {
  const requestedAt = toDate(deletionTimestamp);
  return { uid, createdAt: toDate(creationTimestamp), requestedAt, seenAt: new Date() };
}

function toDate(timestamp: string | undefined): Date | null {
  return timestamp === undefined ? null : new Date(timestamp);
}

async function recordEnd({ config, db, kube }: ObserverDeps, deleted: DeletedAccess): Promise<void> {
  const { uid, requestedAt, seenAt } = deleted;
  const at = requestedAt ?? seenAt;
  const found = await findUnended(db, uid);
  if (found === undefined) return;
  const cluster = await kube.get(clusterKind, found.namespace, found.clusterName);
  await db.transaction(async (tx) => {
    const ended = await markEnded(tx, uid);
    if (ended === undefined || ended.expiresAt.getTime() - EXPIRY_TOLERANCE_MS <= at.getTime()) return;
    if (wentWithCluster(cluster, at)) return;
    if (await isWriteIntended(tx, { verb: "delete", objectId: ended.id })) return;
    const { orgId, id: targetId } = ended;
    if (await isAudited(tx, { orgId, targetId, action: "cluster_access.revoke" })) return;
    // An access whose kubeconfig REST could not return has no audit row, and no user ever had it.
    if (!(await isAudited(tx, { orgId, targetId, action: "cluster_access.create" }))) return;
    const isCreationKnown = (deleted.createdAt ?? ended.createdAt) !== null;
    await recordExternalDeletions(tx, [toDeletion(ended, deleted)], isCreationKnown ? config : {});
  });
}

/** Whether the cluster of an access that ended at `at` is gone, is being deleted, or was made again since. */
function wentWithCluster(cluster: Cluster | undefined, at: Date): boolean {
  if (cluster === undefined || cluster.metadata.deletionTimestamp !== undefined) return true;
  return Date.parse(cluster.metadata.creationTimestamp ?? "") > at.getTime();
}

/**
 * Where neither the object nor its record says when it was created, its deleter stays unknown: requests for an earlier access of
 * the name could not be distinguished from those for this one.
 */
function toDeletion(ended: ObservedAccess, { createdAt, requestedAt, seenAt }: DeletedAccess) {
  const entry = { ...toEntry("revoke", ended), before: toFields(ended) };
  const place = { orgId: ended.orgId, resource: "clusteraccesses", name: ended.name } as const;
  return { ...place, createdAt: createdAt ?? ended.createdAt ?? seenAt, requestedAt, seenAt, entry };
}

function auditsOfCreation({ metadata }: ClusterAccess, seen: NewObservedAccess): ExternalAudit[] {
  if (metadata.annotations?.[ANNOTATION_REQUEST_ID] !== undefined) return [];
  const [first] = externalWritersOf(metadata.managedFields);
  if (first === undefined) return [];
  return [{ manager: first.manager, entry: { ...toEntry("create", seen), after: toFields(seen) } }];
}

function toEntry(verb: "create" | "revoke", { id, orgId }: NewObservedAccess) {
  return {
    action: `cluster_access.${verb}`,
    orgId,
    target: { kind: "cluster_access", id },
    result: "done" as const,
  };
}

function toFields({ clusterName, subject, expiresAt }: NewObservedAccess) {
  return { cluster_name: clusterName, subject, expires_at: expiresAt.toISOString() };
}

/** Undefined until the operator has given an access its id and its organization, and for one that has another's. */
function toObserved(access: ClusterAccess): NewObservedAccess | undefined {
  const { metadata, spec } = toStorable(access);
  const { uid, namespace, name, labels = {} } = metadata;
  const [id, orgId] = [idSchema.safeParse(accessIdOf(access)), idSchema.safeParse(labels[LABEL_ORG_ID])];
  if (uid === undefined || namespace === undefined || !id.success || !orgId.success) return undefined;
  if (orgId.data !== organizationOf(access)) return undefined;
  const { clusterName, subject } = spec;
  return {
    uid,
    id: id.data,
    orgId: orgId.data,
    namespace,
    name,
    clusterName,
    subject,
    expiresAt: findExpiry(access),
    createdAt: toDate(metadata.creationTimestamp),
  };
}
