import { clusterKind } from "../../../shared/crd/cluster.ts";
import type { Protectable } from "../../../shared/crd/fields.ts";
import { idOf } from "../../../shared/crd/identity.ts";
import type { NodePool } from "../../../shared/crd/node-pool.ts";
import type { QuotaAmounts } from "../../../shared/crd/quota.ts";
import type { KubeClient } from "../../../shared/kube/client.ts";
import { hadNoEffect, KubeError } from "../../../shared/kube/errors.ts";
import type { KubeObject } from "../../../shared/kube/kind.ts";
import { type AuditEntry, isAudited } from "../../audit/index.ts";
import { type Queryable, runThenRollBack } from "../../db/client.ts";
import type { Deps } from "../../deps.ts";
import { type Caller, transactAs } from "../../http/contract/caller.ts";
import { ApiError, notFound } from "../../http/errors.ts";
import { hasRecord, type ProjectedObject, projectObservations } from "../project/index.ts";
import type { WriteIntent } from "../table.ts";
import {
  abandonCreate,
  deleteCreatedObjects,
  insertAbandoned,
  keepOpen,
  stillDeleting,
  takenOver,
} from "./abandon.ts";
import {
  type Collection,
  kindOf,
  projectWritten,
  type WriteDecision,
  type WriteRequest,
  type WriteResult,
} from "./collection.ts";
import {
  completeCreateIntents,
  insertIntents,
  isAbandoned,
  listCreate,
  requireFreeName,
  resumeCreate,
} from "./intents.ts";
import { createOrFind } from "./kube-write.ts";
import { protectNamespace } from "./protection.ts";
import { toRefusal } from "./refusals.ts";

type CreateDeps = Pick<Deps, "config" | "db" | "kube" | "log">;

/** How old intents may be when the write of an object begins; it has ended 50 s later at most: see STALE_SECONDS of the job. */
const FRESH_MS = 5_000;

/** A create that a request is making; fresh until that time of performance.now(). */
interface OpenCreate extends Pick<Deps, "db"> {
  intents: readonly WriteIntent[];
  freshUntil: number;
}

/** An object to create, with its public id, which `object` carries as a label, and its display name. */
interface NewObject<T extends KubeObject = KubeObject> {
  collection: Pick<Collection<never, never>, "kindName" | "orgId" | "parent">;
  id: string;
  object: T;
  displayName: string;
  /** What it uses of the quotas. */
  amounts: QuotaAmounts;
}

interface CreateRequest<T extends KubeObject, P, E>
  extends WriteRequest,
    WriteDecision<E>,
    Pick<AuditEntry, "after"> {
  /** What is created before the object, and is no use without it. */
  parts?: readonly NewObject[];
  newObject: Omit<NewObject<T>, "collection">;
  /** Throws while nothing can be created in the parent, under the lock of the organization's row: it may have ended since it was read. */
  requireParent?: (tx: Queryable) => Promise<void>;
  /** Makes the organization's Namespace, if it is missing, once the intents are committed; not for a dry run. */
  prepare?: (deps: CreateDeps, orgId: string) => Promise<unknown>;
  /** The object as it is served now, for a repeated request; undefined = it is deleted. */
  findServed: (db: Queryable) => Promise<P | undefined>;
}

/**
 * Creates a custom resource, after its parts, exactly once: repeated with the same id, also after a crash, it completes what it
 * began. Throws what `caller.confirm`, `requireParent`, `check`, `requireFreeName`, `prepare`, `keepOpen` and `requireClusterOf`
 * throw, 422 for what Kubernetes refuses, 409 conflict when the object was deleted since or another has its object name, and the
 * KubeError of a write whose outcome is unknown.
 */
export async function createObject<T extends KubeObject, P extends ProjectedObject, E = undefined>(
  deps: CreateDeps,
  caller: Caller,
  collection: Collection<T, P>,
  request: CreateRequest<T, P, E>,
): Promise<WriteResult<P, E>> {
  if (request.dryRun === true) return dryRunCreate(deps, caller, collection, request);
  const freshUntil = performance.now() + FRESH_MS;
  // They reserve names and quotas before any object is written; the object comes last, and once it exists all is completed.
  const { intents, isResumed } = await openCreate(deps, caller, collection, request);
  if (intents === undefined) {
    const served = await request.findServed(deps.db);
    if (served !== undefined) return { projected: served, effects: undefined };
    throw new ApiError(
      "conflict",
      `The ${collection.noun} that this request created has been deleted since.`,
    );
  }
  const open = { db: deps.db, intents, freshUntil };
  const objects: KubeObject[] = [];
  let isPrepared = false;
  try {
    await request.prepare?.(deps, collection.orgId);
    isPrepared = true;
    await createAll(deps.kube, intents, { dryRun: false, isResumed, created: objects, open });
    await requireClusterOf(deps.kube, intents);
  } catch (error) {
    // What an earlier attempt wrote may exist, although this one did not get so far: the job `write-intents` finds out.
    const isComplete = objects.length === intents.length;
    const isOutcomeKnown = !isPrepared || (!isComplete && hadNoEffect(error)) || error instanceof ApiError;
    if (isOutcomeKnown && !isResumed)
      await abandonCreate(deps, open.intents, intents.slice(0, objects.length));
    throw isPrepared ? toRefusal(error, collection.wireNames) : error;
  }
  await completeCreate(deps, intents, objects);
  // The last one is of the kind of the collection.
  return { projected: collection.project(objects.at(-1) as T), effects: undefined };
}

/**
 * Confirms the caller's right, makes every check and commits the intents, in one transaction; those of an earlier
 * attempt are returned as they are. Undefined when the object exists or existed.
 */
async function openCreate<T extends KubeObject, P extends ProjectedObject, E>(
  { db }: CreateDeps,
  caller: Caller,
  collection: Collection<T, P>,
  request: CreateRequest<T, P, E>,
): Promise<{ intents: WriteIntent[] | undefined; isResumed: boolean }> {
  const { action, after, parts = [], newObject, requireParent, check } = request;
  const { orgId, targetKind } = collection;
  const entry: AuditEntry = {
    action,
    orgId,
    target: { kind: targetKind, id: newObject.id },
    ...(after === undefined ? {} : { after }),
    result: "done",
  };
  return transactAs(db, caller, async (tx) => {
    if (await hasRecord(tx, targetKind === "node_pool" ? targetKind : "cluster", orgId, newObject.id))
      return { intents: undefined, isResumed: false };
    await requireParent?.(tx);
    const earlier = await resumeCreate(tx, newObject.id);
    if (earlier.some(isAbandoned)) throw stillDeleting();
    if (earlier.length > 0) return { intents: earlier, isResumed: true };
    await check?.(tx);
    await requireFreeName(tx, collection, newObject.displayName, newObject.id);
    const toWrite = (one: NewObject, own: AuditEntry | null) => ({
      ...one,
      verb: "create" as const,
      objectId: one.id,
      metadata: one.object.metadata,
      entry: own,
    });
    const intents = await insertIntents(tx, caller.author, [
      ...parts.map((part) => toWrite(part, null)),
      toWrite({ ...newObject, collection }, entry),
    ]);
    return { intents, isResumed: false };
  });
}

/** Every check of a create, and its result; nothing is stored. Throws 409 conflict while the objects would have no Namespace. */
async function dryRunCreate<T extends KubeObject, P extends ProjectedObject, E>(
  { db, kube }: CreateDeps,
  caller: Caller,
  collection: Collection<T, P>,
  { parts = [], newObject, requireParent, check, effects: findEffects }: CreateRequest<T, P, E>,
): Promise<WriteResult<P, E>> {
  const effects = await runThenRollBack(db, async (tx) => {
    await caller.confirm(tx);
    await requireParent?.(tx);
    await check?.(tx);
    await requireFreeName(tx, collection, newObject.displayName, newObject.id);
    return findEffects?.(tx);
  });
  const toCreate = [...parts, { ...newObject, collection }].map((one) => ({
    ...one,
    kind: one.collection.kindName,
  }));
  try {
    const objects = await createAll(kube, toCreate, { dryRun: true });
    return { projected: collection.project(objects.at(-1) as T), effects };
  } catch (error) {
    const isMissing = error instanceof KubeError && error.details?.kind === "namespaces";
    if (isMissing || (error instanceof KubeError && error.isNamespaceTerminating))
      throw new ApiError("conflict", "The organization's namespace is not ready; try again.", {
        retryAfterSeconds: 15,
      });
    throw toRefusal(error, collection.wireNames);
  }
}

/**
 * Creates the objects in their order, or finds that they exist; adds each to `created`. Throws 409 conflict for one that is being
 * deleted, unless it is the last one of a resumed create: an earlier attempt made it, so that the create is completed all the same;
 * and what `keepOpen` and `protectNamespace` throw.
 */
async function createAll(
  kube: KubeClient,
  toCreate: readonly Pick<WriteIntent, "kind" | "object">[],
  {
    dryRun,
    isResumed = false,
    created: objects = [],
    open,
  }: { dryRun: boolean; isResumed?: boolean; created?: KubeObject[]; open?: OpenCreate },
): Promise<KubeObject[]> {
  const wanted: readonly (Protectable | null)[] = toCreate.map(({ object }) => object);
  const guarded = wanted.findLast((object) => object?.spec?.deletionProtection === true);
  if (guarded && !dryRun) await protectNamespace(kube, guarded);
  for (const [index, { kind, object }] of toCreate.entries()) {
    if (object === null) throw new Error("an intent without the object to create");
    while (open !== undefined && performance.now() > open.freshUntil) {
      open.freshUntil = performance.now() + FRESH_MS;
      open.intents = await keepOpen(open.db, open.intents);
    }
    const created = await createOrFind(kube, kindOf({ kind }), object, { dryRun });
    const mayBeDeleted = isResumed && index === toCreate.length - 1;
    if (!mayBeDeleted && created.metadata.deletionTimestamp !== undefined) throw stillDeleting();
    objects.push(created);
  }
  return objects;
}

/**
 * Throws 404 when the cluster of a pool that was just created is gone, and 409 conflict when it is being deleted: it may have ended
 * between the intent and the write, so that nothing deletes the pool with it.
 */
async function requireClusterOf(kube: KubeClient, intents: readonly WriteIntent[]): Promise<void> {
  const state = await readClusterState(kube, intents);
  if (state === "deleted") throw notFound("cluster");
  if (state === "deleting")
    throw new ApiError("conflict", "The cluster is being deleted; no node pool can be added.");
}

/** The cluster of the pool that a create makes by itself, read live; undefined where it makes the cluster too. */
export async function readClusterState(
  kube: Pick<KubeClient, "get">,
  intents: readonly WriteIntent[],
): Promise<"deleted" | "deleting" | "active" | undefined> {
  const last = intents.at(-1);
  if (last?.kind !== "NodePool") return undefined;
  const { spec } = last.object as NodePool;
  const cluster = await kube.get(clusterKind, last.namespace, spec.clusterName);
  if (cluster === undefined || idOf(cluster)?.toLowerCase() !== last.parentId) return "deleted";
  return cluster.metadata.deletionTimestamp === undefined ? "active" : "deleting";
}

/**
 * Commits a create whose last object exists or existed; a second call for the same create records nothing again. Throws
 * 409 conflict for one that was abandoned meanwhile: what it has made is deleted.
 */
export async function completeCreate(
  deps: CreateDeps,
  intents: readonly WriteIntent[],
  objects: readonly (KubeObject | undefined)[],
): Promise<void> {
  const observations = intents.flatMap((intent, index) => {
    const live = objects[index];
    const object = live && projectWritten(intent, live);
    return object === undefined ? [] : [{ object }];
  });
  const isCompleted = await deps.db.transaction(async (tx) => {
    if (!(await completeCreateIntents(tx, intents)) && !(await wasCompleted(tx, intents))) {
      await insertAbandoned(tx, intents);
      return false;
    }
    await projectObservations(tx, observations, deps.config);
    return true;
  });
  if (isCompleted) return;
  await deleteCreatedObjects(deps, intents);
  throw stillDeleting();
}

/** Whether a create without intents was completed, as its audit row says. Throws 409 conflict while others have it in hand. */
async function wasCompleted(tx: Queryable, intents: readonly WriteIntent[]): Promise<boolean> {
  const last = intents.at(-1);
  if (last === undefined || last.entry === null) throw new Error("a create without an audit row");
  if ((await listCreate(tx, last.groupId)).length > 0) throw takenOver();
  return isAudited(tx, { orgId: last.orgId, action: last.entry.action, targetId: last.objectId });
}
