import { isProtected } from "../../../shared/crd/fields.ts";
import { hadNoEffect } from "../../../shared/kube/errors.ts";
import type { KubeObject } from "../../../shared/kube/kind.ts";
import type { KeyedSlots } from "../../../shared/program/limits.ts";
import { fullJitterMs, sleep } from "../../../shared/program/time.ts";
import type { AuditEntry } from "../../audit/index.ts";
import { runThenRollBack } from "../../db/client.ts";
import type { Deps } from "../../deps.ts";
import { type Caller, transactAs } from "../../http/contract/caller.ts";
import { objectTag, requireMatch } from "../../http/contract/etag.ts";
import type { TenantRequest } from "../../http/contract/tenant-slot.ts";
import { ApiError, clientDisconnected, notFound } from "../../http/errors.ts";
import type { WriteIntent } from "../table.ts";
import type {
  ChangeRequest,
  Collection,
  DeleteRequest,
  ObjectRef,
  ObjectWrite,
  WriteResult,
} from "./collection.ts";
import { completeChangeIntent, insertIntents, removeIntents, requireFreeName } from "./intents.ts";
import { deleteLive, patchLive, requireUnmanaged } from "./kube-write.ts";
import { keepNamespaceProtected, protectForChange } from "./protection.ts";
import { toRefusal } from "./refusals.ts";

type WriteDeps = Pick<Deps, "config" | "db" | "kube" | "now" | "writeLocks">;

/**
 * How long a write is tried anew: no round of read, decision, intent, label and patch begins later. One that has begun goes
 * on, also when its request is answered 503 by its deadline meanwhile.
 */
const RETRY_FOR_MS = 25_000;

const RETRY_BASE_MS = 50;

/** Short: only other replicas and clients can change the object meanwhile. */
const RETRY_CAP_MS = 200;

/** With so many waiting a client is better asked to retry later. */
const MAX_WAITING = 50;

const RETRY_AFTER_SECONDS = 1;

/**
 * Changes a custom resource: reads it live, lets `decide` say what changes, and patches just the fields that change, as long as
 * its spec is the one that was read. Requests of one process for one object are made in the order in which they came. A change
 * by another process or client leads to another read and decision, for at most 25 s, then 409. Throws 404, 412 for the
 * preconditions, 409 managed_elsewhere or conflict, what `decide` throws, and what `withWriteLock` and `writeObject` throw.
 */
export async function changeObject<T extends KubeObject, P extends ObjectRef, E = undefined>(
  deps: WriteDeps,
  caller: Caller,
  collection: Collection<T, P>,
  known: P,
  change: ChangeRequest<P, E>,
): Promise<WriteResult<P, E>> {
  return retryUnderLock(deps, caller, collection, { known, ...change }, async (live) => {
    const decision = change.decide(collection.project(live));
    const { spec, annotations = {}, fields = Object.keys(spec) } = decision;
    if (Object.keys(spec).length === 0 && Object.keys(annotations).length === 0)
      return resultWithoutWrite(deps, caller, collection, live, { ...change, ...decision });
    requireUnmanaged(live.metadata.managedFields, fields, collection.wireNames);
    const patch = { spec, annotations, requestId: caller.author.requestId };
    return writeObject(deps, caller, collection, {
      ...change,
      ...decision,
      verb: "change",
      objectId: known.id,
      metadata: live.metadata,
      async send(options) {
        if (!options.dryRun) await protectForChange(deps.kube, live, spec.deletionProtection);
        const manager = { fieldManager: change.fieldManager };
        const object = await patchLive(deps.kube, collection.kind, live, patch, { ...options, ...manager });
        return object && { object };
      },
    });
  });
}

/**
 * Requests the deletion of a custom resource, after the changes that came before, as long as it is the one that `decide` has
 * seen: after a change by another process or client `decide` is called again, for at most 25 s, then 409. It is served with
 * status deleting until its finalizers are removed. One that is being deleted already is returned unchanged. Throws 404,
 * 412 for the preconditions, what `decide` throws, and what `withWriteLock` and `writeObject` throw.
 */
export async function deleteObject<T extends KubeObject, P extends ObjectRef, E = undefined>(
  deps: WriteDeps,
  caller: Caller,
  collection: Collection<T, P>,
  known: P,
  deletion: DeleteRequest<P, E>,
): Promise<WriteResult<P, E>> {
  return retryUnderLock(deps, caller, collection, { known, ...deletion }, async (live) => {
    const decision = deletion.decide(collection.project(live));
    if (live.metadata.deletionTimestamp !== undefined)
      return resultWithoutWrite(deps, caller, collection, live, { ...deletion, ...decision });
    return writeObject(deps, caller, collection, {
      ...deletion,
      ...decision,
      verb: "delete",
      objectId: known.id,
      metadata: live.metadata,
      send: ({ dryRun }) => deleteLive(deps.kube, collection.kind, live, { dryRun, now: deps.now() }),
    });
  });
}

/**
 * Reads an object live and calls `write`, until that returns a result: undefined means that the object has changed since. It runs
 * under the write lock, but for a dry run, which ends with its client. Throws 404, 412 for the preconditions, 409 conflict after 25 s.
 */
async function retryUnderLock<T extends KubeObject, P extends ObjectRef, E>(
  deps: WriteDeps,
  caller: Caller,
  collection: Collection<T, P>,
  { known, preconditions, dryRun }: Pick<DeleteRequest<P, E>, "preconditions" | "dryRun"> & { known: P },
  write: (live: T) => Promise<WriteResult<P, E> | undefined>,
): Promise<WriteResult<P, E>> {
  const retryUntil = performance.now() + RETRY_FOR_MS;
  async function retry(): Promise<WriteResult<P, E>> {
    for (let attempt = 1; performance.now() < retryUntil; attempt++) {
      const live = await requireLive(deps, collection, known);
      requireMatch(preconditions, objectTag(live.metadata));
      const written = await write(live);
      if (written !== undefined) return written;
      const signal = caller.request?.signal;
      if (!(await sleep(fullJitterMs(attempt, RETRY_BASE_MS, RETRY_CAP_MS), signal)))
        throw clientDisconnected(signal?.reason);
    }
    throw beingChanged(collection.noun);
  }
  if (dryRun === true) return retry();
  return withWriteLock(deps, caller.request, collection, { ...known, withinMs: RETRY_FOR_MS }, retry);
}

/** The live object. Throws 404 for a deleted one, after it has stored that it is, as the projector would. */
async function requireLive<T extends KubeObject, P extends ObjectRef>(
  deps: Pick<Deps, "config" | "db" | "kube">,
  collection: Collection<T, P>,
  known: P,
): Promise<T> {
  const live = await deps.kube.get(collection.kind, known.namespace, known.name);
  if (live?.metadata.uid === known.uid) return live;
  await deps.db.transaction((tx) => collection.save(tx, { object: known, deleted: true }, deps.config));
  throw notFound(collection.noun);
}

/**
 * Runs a write of a custom resource after those of the same object that came to this process before it, in their order. Who
 * waits holds no slot of the tenant, and stops when the request ends. Throws 409 conflict when the write cannot begin within
 * `withinMs`, and 429 when 50 wait already, or when no slot of the tenant is free within 20 s of its turn. A write that no request
 * makes, such as a revocation, has priority, however many wait: a tenant that keeps changing the object cannot delay it.
 */
export async function withWriteLock<T>(
  { writeLocks }: Pick<Deps, "writeLocks">,
  request: TenantRequest | undefined,
  { kindName, noun }: Pick<Collection<never, never>, "kindName" | "noun">,
  { namespace, name, withinMs }: Pick<ObjectRef, "namespace" | "name"> & { withinMs: number },
  write: () => Promise<T>,
): Promise<T> {
  const key = `${kindName} ${namespace}/${name}`;
  const until = performance.now() + withinMs;
  const release = writeLocks.tryTake(key);
  if (release === undefined && request !== undefined && writeLocks.countWaiting(key) >= MAX_WAITING)
    throw new ApiError("rate_limited", `Too many requests wait to change the ${noun}; try again.`, {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    });
  const unlock = release ?? (await waitForLock(writeLocks, request, { key, noun, withinMs }));
  try {
    // The lock is held meanwhile: the order stays.
    await request?.acquireSlot();
    if (performance.now() > until) throw beingChanged(noun);
    return await write();
  } finally {
    unlock();
  }
}

async function waitForLock(
  locks: KeyedSlots,
  request: TenantRequest | undefined,
  { key, noun, withinMs }: { key: string; noun: string; withinMs: number },
): Promise<() => void> {
  request?.releaseSlot();
  const tooLong = AbortSignal.timeout(withinMs);
  try {
    if (request === undefined) return await locks.take(key, tooLong, { hasPriority: true });
    return await locks.take(key, AbortSignal.any([tooLong, request.ended]));
  } catch (error) {
    if (tooLong.aborted) throw beingChanged(noun);
    throw clientDisconnected(error);
  }
}

/** 409 conflict for an object that other requests change all the time. */
function beingChanged(noun: string): ApiError {
  return new ApiError("conflict", `The ${noun} is being changed by other requests; try again.`, {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}

/**
 * Writes one custom resource. The intent, which reserves a name and a share of the quotas, is committed first, then the
 * object is written, then audit row, projection and events are committed together; what a crash or an unknown outcome leaves
 * between them the periodic job `write-intents` completes. A write that certainly had no effect leaves nothing. Undefined when
 * the object has changed since it was read. Throws 422 for what the Kubernetes API refuses, what `caller.confirm`, `check`
 * and `requireFreeName` throw, and the KubeError of a write whose outcome is unknown.
 */
async function writeObject<T extends KubeObject, P extends ObjectRef, E>(
  deps: WriteDeps,
  caller: Caller,
  collection: Collection<T, P>,
  write: ObjectWrite<T, E>,
): Promise<WriteResult<P, E> | undefined> {
  if (write.dryRun === true) return dryRunWrite(deps, caller, collection, write);
  const { db } = deps;
  const intent = await openIntent(deps, caller, collection, write);
  let written: Awaited<ReturnType<typeof write.send>>;
  try {
    written = await write.send({ dryRun: false });
  } catch (error) {
    if (hadNoEffect(error) || error instanceof ApiError) await removeIntents(db, [intent]);
    throw toRefusal(error, collection.wireNames);
  }
  if (written === undefined) {
    await removeIntents(db, [intent]);
    return undefined;
  }
  const projected = collection.project(written.object);
  const { deleted = false } = written;
  await db.transaction(async (tx) => {
    await completeChangeIntent(tx, intent);
    await collection.save(tx, { object: projected, deleted }, deps.config);
  });
  return { projected, effects: undefined };
}

/** Confirms the caller's right, makes every check and commits the intent, in one transaction. */
async function openIntent<T extends KubeObject, P extends ObjectRef, E>(
  { db }: WriteDeps,
  caller: Caller,
  collection: Collection<T, P>,
  write: ObjectWrite<T, E>,
): Promise<WriteIntent> {
  const { action, before, after, objectId } = write;
  const entry: AuditEntry = {
    action,
    orgId: collection.orgId,
    target: { kind: collection.targetKind, id: objectId },
    ...(before === undefined ? {} : { before }),
    ...(after === undefined ? {} : { after }),
    result: "done",
  };
  return transactAs(db, caller, async (tx) => {
    await write.check?.(tx);
    if (write.displayName !== undefined) await requireFreeName(tx, collection, write.displayName, objectId);
    const [intent] = await insertIntents(tx, caller.author, [{ ...write, collection, entry }]);
    if (intent === undefined) throw new Error("an insert returned no row");
    return intent;
  });
}

async function dryRunWrite<T extends KubeObject, P extends ObjectRef, E>(
  { db }: WriteDeps,
  caller: Caller,
  collection: Collection<T, P>,
  { check, displayName, objectId, effects: findEffects, send }: ObjectWrite<T, E>,
): Promise<WriteResult<P, E> | undefined> {
  const effects = await runThenRollBack(db, async (tx) => {
    await caller.confirm(tx);
    await check?.(tx);
    if (displayName !== undefined) await requireFreeName(tx, collection, displayName, objectId);
    return findEffects?.(tx);
  });
  try {
    const written = await send({ dryRun: true });
    return written && { projected: collection.project(written.object), effects };
  } catch (error) {
    throw toRefusal(error, collection.wireNames);
  }
}

/**
 * The result of a request that changes nothing; a protected object's Namespace is labelled again if it lost its label. Throws what
 * `caller.confirm` (the record is shown to nobody else), `check` and `keepNamespaceProtected` throw.
 */
async function resultWithoutWrite<T extends KubeObject, P extends ObjectRef, E>(
  deps: WriteDeps,
  caller: Caller,
  collection: Collection<T, P>,
  live: T,
  { dryRun = false, check, effects }: Pick<ObjectWrite<T, E>, "dryRun" | "check" | "effects">,
): Promise<WriteResult<P, E>> {
  await transactAs(deps.db, caller, async (tx) => {
    await check?.(tx);
    if (!dryRun && isProtected(live)) await keepNamespaceProtected(deps.kube, live);
  });
  return { projected: collection.project(live), effects: dryRun ? await effects?.(deps.db) : undefined };
}
