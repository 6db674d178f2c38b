import { idOf } from "../../../shared/crd/identity.ts";
import { ANNOTATION_REQUEST_ID } from "../../../shared/crd/names.ts";
import type { KubeObject } from "../../../shared/kube/kind.ts";
import { NIL_ID } from "../../../shared/program/id.ts";
import type { Deps } from "../../deps.ts";
import { isRepeatable } from "../../http/idempotency/store.ts";
import { collectErrors, type PeriodicJob, throwFirst } from "../../work/periodic.ts";
import { findLastStored, projectObservations } from "../project/index.ts";
import type { WriteIntent } from "../table.ts";
import { abandonStaleCreate } from "./abandon.ts";
import { kindOf, projectWritten } from "./collection.ts";
import { completeCreate, readClusterState } from "./create-object.ts";
import {
  completeChangeIntent,
  isAbandoned,
  listCreate,
  listIntentsOf,
  listStaleIntents,
  removeIntents,
} from "./intents.ts";

const EVERY_MS = 15_000;
/**
 * No write takes this long from its intent, or from when that of a create was renewed: it begins within 5 s (FRESH_MS, or for the
 * label of a Namespace), is sent for the last time 25 s later, and kube-apiserver ends that in 25 s. An access that takes longer is abandoned.
 */
const STALE_SECONDS = 60;
/** A client may repeat its create by its Idempotency-Key until then; afterwards what it left is deleted. */
const ABANDON_SECONDS = 600;
/** A create without a key cannot be repeated; only its own process, which may be slow, can still complete it. */
const ABANDON_UNKEYED_SECONDS = 120;
const BATCH_SIZE = 50;

/** The job that completes or undoes writes whose process ended, or lost the response, before it could. */
export function writeIntentJobs(deps: Deps): PeriodicJob[] {
  return [{ name: "write-intents", everyMs: EVERY_MS, run: (signal) => sweepIntents(deps, signal) }];
}

/** One object that fails delays no other. Throws the first error. */
async function sweepIntents(deps: Deps, signal: AbortSignal): Promise<void> {
  const errors: unknown[] = [];
  let afterId: string | undefined = NIL_ID;
  while (afterId !== undefined && !signal.aborted) {
    const stale = await listStaleIntents(deps.db, STALE_SECONDS, { afterId, limit: BATCH_SIZE });
    errors.push(...(await sweepBatch(deps, stale, signal)));
    afterId = stale.length < BATCH_SIZE ? undefined : stale.at(-1)?.id;
  }
  throwFirst(errors);
}

async function sweepBatch(
  deps: Deps,
  stale: readonly WriteIntent[],
  signal: AbortSignal,
): Promise<unknown[]> {
  const byObject = Map.groupBy(
    stale,
    ({ verb, kind, namespace, name }) => `${verb === "create"} ${kind} ${namespace}/${name}`,
  );
  return collectErrors([...byObject.values()], signal, async (intents) => {
    const [first] = intents;
    if (first?.verb === "create") await sweepCreate(deps, first);
    else await resolveIntents(deps, intents);
  });
}

/**
 * A create whose last object exists or existed is completed; another is undone when no request can resume it any more. So is that of
 * a pool whose cluster is gone, and that of an access: the key of its kubeconfig was in its request alone, and it counts in the quotas.
 */
async function sweepCreate(deps: Deps, last: WriteIntent): Promise<void> {
  const { db, log } = deps;
  const id = last.objectId;
  const intents = await listCreate(db, last.groupId);
  if (intents.length === 0) return;
  const objects = await Promise.all(intents.map((intent) => readObject(deps, intent)));
  if (!(await mustBeAbandoned(deps, last)) && (await isCreated(deps, last, objects.at(-1)))) {
    await completeCreate(deps, intents, objects);
    log.info({ id }, "completed a create that was left unfinished");
    return;
  }
  if (await abandonStaleCreate(deps, last.groupId, await findAbandonSeconds(deps, intents)))
    log.info({ id }, "abandoned a create that was left unfinished");
}

/** Whether what a create has made is to be removed, although its last object may exist. */
async function mustBeAbandoned({ kube }: Pick<Deps, "kube">, last: WriteIntent): Promise<boolean> {
  if (last.kind === "ClusterAccess" || isAbandoned(last)) return true;
  return (await readClusterState(kube, [last])) === "deleted";
}

async function isCreated(
  { db }: Pick<Deps, "db">,
  last: WriteIntent,
  live: KubeObject | undefined,
): Promise<boolean> {
  const lastStored = live === undefined ? await findLastStored(db, last.objectId) : undefined;
  return findWritten([last], { live, lastStored: lastStored?.object }).length > 0;
}

/** The object of an intent, as the Kubernetes API has it. */
async function readObject(
  { kube }: Pick<Deps, "kube">,
  intent: WriteIntent,
): Promise<KubeObject | undefined> {
  const live = await kube.get(kindOf(intent), intent.namespace, intent.name);
  return live !== undefined && idOf(live) === intent.objectId ? live : undefined;
}

/**
 * How long a create may stay unfinished. One of a single object has left nothing, and an abandoned one is resumed by
 * none, so that a repeated one begins anew.
 */
async function findAbandonSeconds(
  { db }: Pick<Deps, "db">,
  intents: readonly WriteIntent[],
): Promise<number> {
  const last = intents.at(-1);
  if (last === undefined || intents.length === 1 || isAbandoned(last)) return STALE_SECONDS;
  const isKeyed = await isRepeatable(db, last.objectId);
  return isKeyed ? ABANDON_SECONDS : ABANDON_UNKEYED_SECONDS;
}

/** From a live read: writes that had their effect get their audit rows; the other stale ones were never made. */
async function resolveIntents({ config, db, kube, log }: Deps, stale: readonly WriteIntent[]): Promise<void> {
  const [first] = stale;
  if (first === undefined) return;
  // Before the live read: a later write may build on one of these, and then writes its audit row itself.
  const pending = await listIntentsOf(db, first);
  const live = await kube.get(kindOf(first), first.namespace, first.name);
  const lastStored = live === undefined ? await findLastStored(db, first.objectId) : undefined;
  const written = findWritten(pending, { live, lastStored: lastStored?.object });
  const object = live === undefined ? undefined : projectWritten(first, live);
  await db.transaction(async (tx) => {
    for (const intent of written) await completeChangeIntent(tx, intent);
    await removeIntents(tx, stale);
    if (object?.id === first.objectId) await projectObservations(tx, [{ object }], config);
  });
  log.info({ name: first.name, stale: stale.length, written: written.length }, "resolved stale intents");
}

/**
 * Which of the pending intents of one object have had their effect, from the live object or the last stored one: a
 * creation when an object with this id exists or existed, a deletion when it is being deleted or does not exist, a
 * change when the object carries its request id, or when a later change built on it.
 */
export function findWritten(
  intents: readonly WriteIntent[],
  { live, lastStored }: { live: KubeObject | undefined; lastStored: KubeObject | undefined },
): WriteIntent[] {
  // Among several deletions the latest is the likeliest to have been made, and gets the audit row.
  const latestFirst = intents.toSorted((left, right) => (left.id < right.id ? 1 : -1));
  const written = latestFirst.filter((intent) => {
    if (intent.verb === "delete")
      return live?.metadata.uid !== intent.uid || live?.metadata.deletionTimestamp !== undefined;
    if (intent.verb === "change") return false;
    return [live, lastStored].some((object) => object !== undefined && idOf(object) === intent.objectId);
  });
  return [...written, ...findChanges(intents, live ?? lastStored)];
}

function findChanges(intents: readonly WriteIntent[], object: KubeObject | undefined): WriteIntent[] {
  const open = intents.filter(({ verb, uid }) => verb === "change" && uid === object?.metadata.uid);
  const written: WriteIntent[] = [];
  let version = object?.metadata.resourceVersion ?? null;
  let requestId = object?.metadata.annotations?.[ANNOTATION_REQUEST_ID] ?? null;
  for (;;) {
    const index = open.findIndex(
      (intent) => intent.requestId === requestId && intent.resourceVersion !== version,
    );
    const [found] = index < 0 ? [] : open.splice(index, 1);
    if (found === undefined) return written;
    written.push(found);
    ({ resourceVersion: version, previousRequestId: requestId } = found);
  }
}
