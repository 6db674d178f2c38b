import { type ClusterAccess, clusterAccessKind, findExpiry } from "../../../shared/crd/cluster-access.ts";
import { ANNOTATION_REQUEST_ID, LABEL_ORG_ID } from "../../../shared/crd/names.ts";
import type { KubeObject } from "../../../shared/kube/kind.ts";
import { objectKey, toKey } from "../../../shared/kube/object.ts";
import { createReflector } from "../../../shared/kube/reflector.ts";
import { createStore, type Store } from "../../../shared/kube/store.ts";
import {
  isAudited,
  isDeleterAwaited,
  type OutsideAudit,
  recordOutsideAudits,
  recordOutsideDeletions,
} from "../../audit/index.ts";
import type { Queryable } from "../../db/client.ts";
import { toStorable } from "../../db/statement.ts";
import type { Deps } from "../../deps.ts";
import { idSchema } from "../../http/contract/validate.ts";
import { findKnownOrganizations } from "../../organizations/index.ts";
import { isClusterStaying, outsideWritersOf } from "../../resources/project/index.ts";
import { isWriteIntended } from "../../resources/write/index.ts";
import { createBatchQueue } from "../../work/batch-queue.ts";
import { runAsLeader } from "../../work/leader.ts";
import { organizationOf } from "../holder.ts";
import { accessIdOf } from "../present.ts";
import { insertObserved, listUnended, markEnded, type NewObservedAccess } from "./store.ts";
import { giveAccessWord, lacksWord } from "./word.ts";

/** The time of a deletion is in whole seconds, and the clocks of two programs differ. */
const EXPIRY_TOLERANCE_MS = 5_000;

const BATCH_SIZE = 20;

/** An access in the cache, a deleted one, or the search for those that ended while no process watched. */
type Work = { key: string } | { gone: Gone } | { search: true };

/** An access that is deleted. */
interface Gone {
  uid: string;
  /** Null where only its record can say it. */
  createdAt: Date | null;
  /** When the deletion was requested; null where it was not seen. */
  requestedAt: Date | null;
}

/**
 * Writes what happens to accesses in the Kubernetes API to the audit log, and says of those that wait for it whether they may be
 * issued: one process of all replicas watches them.
 * Resolves when the signal has aborted and the last write is done.
 */
export function startAccessObserver(deps: Deps, signal: AbortSignal): { stopped: Promise<void> } {
  const { sql, log } = deps;
  return {
    stopped: runAsLeader({ sql, log, name: "access-observer", signal }, (leading) => observe(deps, leading)),
  };
}

async function observe(deps: Deps, signal: AbortSignal): Promise<void> {
  const { kube: client, log, kubeMetrics: metrics } = deps;
  const store = createStore<ClusterAccess>();
  const queue = createBatchQueue<Work>({
    name: "access-observer",
    batchSize: BATCH_SIZE,
    keyOf: (work) =>
      "key" in work ? `access ${work.key}` : "gone" in work ? `gone ${work.gone.uid}` : "search",
    run: async (batch) => {
      for (const work of batch) await carryOut(deps, store, work);
    },
    log,
    signal,
  });
  createReflector({
    client,
    log,
    metrics,
    kind: clusterAccessKind,
    store,
    keepManagedFields: true,
    onChange: ({ type, object }) =>
      queue.add(type === "deleted" ? { gone: toGone(object) } : { key: objectKey(object) }),
    onRelist: () => queue.add({ search: true }),
  }).start(signal);
  await queue.stopped;
}

async function carryOut(deps: Deps, store: Store<ClusterAccess>, work: Work): Promise<void> {
  if ("gone" in work) return recordGone(deps, work.gone);
  if ("search" in work) return recordMissing(deps, store);
  const access = store.get(work.key);
  if (access === undefined) return;
  // The record of an access is what decides about one that comes back from a backup.
  if (lacksWord(access)) await giveAccessWord(deps, access);
  else await recordObservation(deps, access);
}

/** Each is confirmed by a live read, since it may have been created after the list in which it is missing. */
async function recordMissing(deps: Deps, store: Store<ClusterAccess>): Promise<void> {
  for (const { uid, namespace, name } of await listUnended(deps.db)) {
    if (store.get(toKey(namespace, name))?.metadata.uid === uid) continue;
    const live = await deps.kube.get(clusterAccessKind, namespace, name);
    if (live?.metadata.uid !== uid) await recordGone(deps, { uid, createdAt: null, requestedAt: null });
  }
}

/**
 * Records what is seen of an access: its creation and its end in the audit log, each once, unless REST has made or audited
 * it or the access only expired or ended with its cluster.
 */
async function recordObservation(
  { config, db }: Pick<Deps, "config" | "db">,
  access: ClusterAccess,
): Promise<void> {
  const seen = toObserved(access);
  if (seen === undefined) return;
  if (!(await findKnownOrganizations(db, [seen.orgId])).has(seen.orgId)) return;
  await db.transaction(async (tx) => {
    if (await insertObserved(tx, seen)) await recordOutsideAudits(tx, auditsOfCreation(access, seen));
    if (access.metadata.deletionTimestamp !== undefined) await recordEnd(tx, config, toGone(access));
  });
}

/** Records the end of an access that is deleted. */
async function recordGone({ config, db }: Pick<Deps, "config" | "db">, gone: Gone): Promise<void> {
  await db.transaction((tx) => recordEnd(tx, config, gone));
}

function toGone({ metadata: { uid = "", creationTimestamp, deletionTimestamp } }: KubeObject): Gone {
  return { uid, createdAt: toDate(creationTimestamp), requestedAt: toDate(deletionTimestamp) };
}

function toDate(timestamp: string | undefined): Date | null {
  return timestamp === undefined ? null : new Date(timestamp);
}

/**
 * Where neither the object nor its record says when it was created, its deleter stays unknown: requests for an earlier access of
 * the name could not be told from those for this one.
 */
async function recordEnd(tx: Queryable, config: Deps["config"], gone: Gone): Promise<void> {
  const ended = await markEnded(tx, gone.uid);
  const { requestedAt } = gone;
  const seenAt = new Date();
  const at = requestedAt ?? seenAt;
  if (ended === undefined || ended.expiresAt.getTime() - EXPIRY_TOLERANCE_MS <= at.getTime()) return;
  if (await isWriteIntended(tx, { verb: "delete", targetId: ended.id })) return;
  const { orgId, id: targetId } = ended;
  if (await isAudited(tx, { orgId, targetId, action: "cluster_access.revoke" })) return;
  // An access whose kubeconfig REST could not return has no audit row, and no user ever had it.
  if (!(await isAudited(tx, { orgId, targetId, action: "cluster_access.create" }))) return;
  if (!(await isClusterStaying(tx, ended.namespace, ended.clusterName))) return;
  const entry = { ...toEntry("revoke", ended), before: toFields(ended) };
  const place = { orgId, resource: "clusteraccesses", name: ended.name } as const;
  const createdAt = gone.createdAt ?? ended.createdAt;
  await recordOutsideDeletions(
    tx,
    [{ ...place, createdAt: createdAt ?? seenAt, requestedAt, seenAt, entry }],
    { isAwaited: createdAt !== null && isDeleterAwaited(config) },
  );
}

function auditsOfCreation({ metadata }: ClusterAccess, seen: NewObservedAccess): OutsideAudit[] {
  if (metadata.annotations?.[ANNOTATION_REQUEST_ID] !== undefined) return [];
  const [first] = outsideWritersOf(metadata.managedFields);
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
