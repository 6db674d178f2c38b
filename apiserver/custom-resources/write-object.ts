import type { KubeObject, ObjectMeta } from "../../shared/kube/kind.ts";
import type { AuditEntry } from "../audit/index.ts";
import type { Queryable } from "../db/client.ts";
import { runThenRollBack } from "../db/dry-run.ts";
import type { Deps } from "../deps.ts";
import type { Origin } from "../http/authentication/principal.ts";
import { ApiError } from "../http/errors.ts";
import { discardIntent, openIntent, recordWrite } from "./intents.ts";
import { isNotApplied, toRefusal } from "./refusal.ts";
import type { Reservation } from "./reservations.ts";
import type { ObjectRef, Resource, WriteResult } from "./resource.ts";
import type { WriteIntent } from "./table.ts";

export type WriteDeps = Pick<Deps, "db" | "kube" | "now">;

/** The part of a request that every write has. */
export interface WriteRequest {
  /** Of the audit row: `<resource>.<verb>`. */
  action: string;
  /** Every check is made, the result is computed, and nothing is stored. */
  dryRun?: boolean;
}

/** What a slice decides, from the object as it is. */
export interface WritePlan<E> extends Pick<AuditEntry, "before" | "after"> {
  reservations?: readonly Reservation[];
  /** What else the write does; called by a dry run only. Throws what `reservations` would. */
  effects?: (db: Queryable) => Promise<E>;
}

/** One call of the Kubernetes API, and what goes with it. */
interface Write<T, E> extends WriteRequest, WritePlan<E> {
  verb: WriteIntent["verb"];
  objectId: string;
  /** Of the object as it was read; of one to be created, as it will be. */
  metadata: ObjectMeta;
  /** Undefined when the object has changed since it was read. */
  apply: (options: { dryRun: boolean }) => Promise<{ object: T; gone?: boolean } | undefined>;
}

/**
 * Writes one custom resource. Intent and reservations are committed first, then the object is written, then audit row and
 * projection are committed together; what a crash leaves between them is completed by the sweep. A write that certainly
 * had no effect leaves nothing. Undefined when the object has changed since it was read. Throws 422 for what the
 * Kubernetes API refuses, what the reservations throw, and the KubeError of a write that is not confirmed.
 */
export async function writeObject<T extends KubeObject, P extends ObjectRef, E>(
  deps: WriteDeps,
  origin: Origin,
  resource: Resource<T, P>,
  write: Write<T, E>,
): Promise<WriteResult<P, E> | undefined> {
  if (write.dryRun === true) return tryWrite(deps, resource, write);
  const { action, before, after, reservations = [] } = write;
  const target = { kind: resource.targetKind, id: write.objectId };
  const intent = await openIntent(deps.db, origin, reservations, {
    kind: resource.kindName,
    verb: write.verb,
    metadata: write.metadata,
    entry: {
      action,
      orgId: resource.orgId,
      target,
      ...(before === undefined ? {} : { before }),
      ...(after === undefined ? {} : { after }),
      result: "done",
    },
  });
  let written: Awaited<ReturnType<typeof write.apply>>;
  try {
    written = await write.apply({ dryRun: false });
  } catch (error) {
    if (isNotApplied(error) || error instanceof ApiError) await discardIntent(deps.db, intent, reservations);
    throw toRefusal(error, resource.wireNames);
  }
  if (written === undefined) {
    await discardIntent(deps.db, intent, reservations);
    return undefined;
  }
  const object = resource.project(written.object);
  const { gone = false } = written;
  await deps.db.transaction(async (tx) => {
    await recordWrite(tx, intent);
    for (const one of reservations) await one.complete(tx);
    await resource.save(tx, object, { gone });
  });
  return { object, effects: undefined };
}

async function tryWrite<T extends KubeObject, P extends ObjectRef, E>(
  deps: WriteDeps,
  resource: Resource<T, P>,
  { reservations = [], effects: findEffects, apply }: Write<T, E>,
): Promise<WriteResult<P, E> | undefined> {
  const effects = await runThenRollBack(deps.db, async (tx) => {
    const found = await findEffects?.(tx);
    for (const one of reservations) await one.take(tx);
    return found;
  });
  try {
    const written = await apply({ dryRun: true });
    return written && { object: resource.project(written.object), effects };
  } catch (error) {
    throw toRefusal(error, resource.wireNames);
  }
}

/** The result of a request that changes nothing. */
export async function keepObject<T extends KubeObject, P extends ObjectRef, E>(
  deps: WriteDeps,
  resource: Resource<T, P>,
  live: T,
  { dryRun = false, effects }: Pick<Write<T, E>, "dryRun" | "effects">,
): Promise<WriteResult<P, E>> {
  return { object: resource.project(live), effects: dryRun ? await effects?.(deps.db) : undefined };
}
