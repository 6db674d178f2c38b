import { sql } from "drizzle-orm";
import {
  type KubernetesAuditConfig,
  recordExternalAudits,
  recordExternalDeletions,
} from "../../audit/index.ts";
import type { Queryable } from "../../db/client.ts";
import { emitWebhookEvents, type NewWebhookEvent } from "../../events/emit.ts";
import { appendFeedEvents, findLastStatuses, type NewStatusEvent, notifyReaders } from "../../events/feed.ts";
import { type Batch, type Observation, toBatches } from "./batches.ts";
import { auditsOfCreation, findExternalDeletions, hasBegunDeleting } from "./external-audits.ts";
import { clusterIdOf, isPool, type ProjectedObject, statusMessageOf } from "./project.ts";
import {
  findRecordedPlaces,
  markRecordsDeleted,
  type Place,
  type SeparatedPools,
  separatePools,
  upsertRecords,
} from "./records.ts";
import {
  findServedIds,
  findStored,
  markReplacedDeleted,
  mayReplace,
  type Stored,
  writeRows,
} from "./rows.ts";
import { deletedEntry, hasNewTransitions, recordTransitions, transitionEntriesOf } from "./transitions.ts";

/** What became of observations. */
export interface ProjectionOutcome {
  /** The ids of objects that were refused: another object has their id, or the id of their cluster. */
  refused: string[];
  /** The ids of pools that were not written because their cluster has no record yet. */
  unrecorded: string[];
  /** How many transitions no process saw while a status listed them. */
  missedTransitions: number;
}

/**
 * Projects observations, in one transaction, with all that follows from them: records, transition log, events of the feed and
 * for webhooks. One that is older than the stored row changes nothing, unless it is `authoritative` or its pool belongs to another
 * cluster by now. By `config` audit rows of deletions may wait for the names of the deleters. The number of statements does not
 * grow with that of the objects.
 */
export async function projectObservations(
  tx: Queryable,
  observations: readonly Observation[],
  config: KubernetesAuditConfig = {},
): Promise<ProjectionOutcome> {
  await beginProjection(tx, observations);
  const refused: string[] = [];
  const unrecorded: string[] = [];
  const recorded = new Map<string, Place>();
  const statusEvents: NewStatusEvent[] = [];
  const webhookEvents: NewWebhookEvent[] = [];
  let missedTransitions = 0;
  for (const { kind, deleted, present } of toBatches(observations)) {
    webhookEvents.push(...(await remove(tx, kind, deleted.map(toObject), config)));
    const outcome = await upsert(tx, { kind, present, config }, statusEvents, recorded);
    for (const [id, place] of outcome.recorded) recorded.set(id, place);
    refused.push(...outcome.refused);
    unrecorded.push(...outcome.unrecorded);
    statusEvents.push(...outcome.statusEvents);
    missedTransitions += outcome.missedTransitions;
    webhookEvents.push(...outcome.webhookEvents);
  }
  await emitWebhookEvents(tx, webhookEvents);
  await appendFeedEvents(tx, statusEvents);
  return { refused, unrecorded, missedTransitions };
}

/**
 * Locks the objects, always in the same order, so that two transactions never deadlock; and has each later statement planned anew:
 * a plan cached while the tables were empty, as in a rebuild, scans them entirely.
 */
async function beginProjection(tx: Queryable, observations: readonly Observation[]): Promise<void> {
  const uids = [...new Set(observations.map(({ object }) => object.uid))].sort();
  if (uids.length === 0) return;
  await tx.execute(sql`select set_config('plan_cache_mode', 'force_custom_plan', true),
      pg_advisory_xact_lock(hashtextextended('marina object ' || uid, 0))
    from json_array_elements_text(${JSON.stringify(uids)}::text::json) as uid`);
}

/** An object to write, and its stored row. */
interface Upsert {
  object: ProjectedObject;
  stored: Stored | undefined;
  firstVersion: Observation["firstVersion"];
}

interface UpsertOutcome extends ProjectionOutcome {
  /** The clusters whose records were written, by id. */
  recorded: ReadonlyMap<string, Place>;
  statusEvents: NewStatusEvent[];
  webhookEvents: NewWebhookEvent[];
}

/** `statusEventsBefore` and `recordedBefore` come from earlier batches of this transaction. */
async function upsert(
  tx: Queryable,
  { kind, present: observations, config }: Omit<Batch, "deleted"> & { config: KubernetesAuditConfig },
  statusEventsBefore: readonly NewStatusEvent[],
  recordedBefore: ReadonlyMap<string, Place>,
): Promise<UpsertOutcome> {
  if (observations.length === 0)
    return {
      refused: [],
      unrecorded: [],
      missedTransitions: 0,
      recorded: new Map(),
      statusEvents: [],
      webhookEvents: [],
    };
  const storedByUid = await findStored(tx, kind, observations.map(toObject));
  const found = observations.flatMap(({ object, authoritative = false, firstVersion }): Upsert[] => {
    const stored = storedByUid.get(object.uid);
    return mayWrite(object, stored, authoritative) ? [{ object, stored, firstVersion }] : [];
  });
  const {
    writable: upserts,
    misplaced,
    unrecorded,
  } = await separateMisplacedPools(tx, kind, found, recordedBefore);
  const needingRecord = upserts.filter(needsRecord);
  const records = await upsertRecords(tx, kind, needingRecord.map(toObject));
  const recorded = kind === "cluster" ? needingRecord.filter(({ object }) => records.has(object.id)) : [];
  const isRefused = (one: Upsert) => needsRecord(one) && !records.has(one.object.id);
  const accepted = upserts.filter((one) => !isRefused(one));
  const unstored = accepted.filter(({ stored }) => stored === undefined).map(toObject);
  // Before the new rows: an id and a namespaced name are unique among the rows that are not deleted.
  const replacedStatuses = await markReplacedDeleted(tx, kind, unstored);
  const lost = unstored.filter(({ id }) => !replacedStatuses.has(id) && records.get(id) === "updated");
  const lostStatuses = await findLostStatuses(tx, lost, statusEventsBefore);
  await writeRows(tx, kind, accepted.map(toObject));
  const newlyDeleting = accepted.filter(({ object, stored }) => hasBegunDeleting(stored?.object, object));
  await recordExternalAudits(
    tx,
    accepted
      .filter((one) => needsRecord(one) && records.get(one.object.id) === "created")
      .flatMap(({ object, firstVersion }) => auditsOfCreation(object, firstVersion)),
  );
  await recordExternalDeletions(tx, await findExternalDeletions(tx, newlyDeleting.map(toObject)), config);
  const { webhookEvents, missed } = await recordTransitions(
    tx,
    accepted
      .filter(({ object, stored }) => stored === undefined || hasNewTransitions(stored.object, object.object))
      .map(({ object }) => ({ object, entries: transitionEntriesOf(object) })),
  );
  return {
    recorded: new Map(recorded.map(({ object }) => [object.id, placeOf(object)])),
    webhookEvents,
    missedTransitions: missed,
    refused: [...misplaced, ...upserts.filter(isRefused).map(({ object }) => object.id)],
    unrecorded,
    statusEvents: accepted.flatMap(({ object, stored }) => {
      const previousStatus =
        stored?.status ?? replacedStatuses.get(object.id) ?? lostStatuses.get(object.id) ?? null;
      return previousStatus === object.status ? [] : [toStatusEvent(object, previousStatus)];
    }),
  };
}

/**
 * A pool that is new or comes under another cluster is compared with the record of that cluster. `recordedBefore` are
 * the records that this transaction has written.
 */
async function separateMisplacedPools(
  tx: Queryable,
  kind: Batch["kind"],
  upserts: readonly Upsert[],
  recordedBefore: ReadonlyMap<string, Place>,
): Promise<SeparatedPools<Upsert>> {
  if (kind === "cluster") return { writable: [...upserts], misplaced: [], unrecorded: [] };
  const needingRecord = upserts.filter(needsRecord);
  const clusterIds = needingRecord
    .map(({ object }) => clusterIdOf(object))
    .filter((id) => !recordedBefore.has(id));
  const recorded = await findRecordedPlaces(tx, "cluster", clusterIds);
  const separated = separatePools(needingRecord, new Map([...recorded, ...recordedBefore]));
  return { ...separated, writable: [...upserts.filter((one) => !needsRecord(one)), ...separated.writable] };
}

function placeOf({ orgId, namespace, name }: ProjectedObject): Place {
  return { orgId, namespace, objectName: name };
}

function toObject({ object }: { object: ProjectedObject }): ProjectedObject {
  return object;
}

function mayWrite(object: ProjectedObject, stored: Stored | undefined, authoritative: boolean): boolean {
  if (mayReplace(stored, { resourceVersion: object.resourceVersion, authoritative })) return true;
  return stored?.deletedAt === null && stored.clusterId !== clusterIdOf(object);
}

/** Whether the object is new, was renamed or belongs to another cluster: its record must be checked. */
function needsRecord({ object, stored }: Pick<Upsert, "object" | "stored">): boolean {
  return (
    stored === undefined ||
    stored.clusterId !== clusterIdOf(object) ||
    stored.displayName !== object.displayName
  );
}

/** The last reported status of objects whose rows were lost and are being rebuilt, by id. */
async function findLostStatuses(
  tx: Queryable,
  objects: readonly ProjectedObject[],
  statusEventsBefore: readonly NewStatusEvent[],
): Promise<Map<string, string>> {
  const inFeed = await findLastStatuses(tx, objects.map(subjectOf));
  return new Map(
    objects.flatMap((object, n): [string, string][] => {
      const status = findLastIn(statusEventsBefore, object) ?? inFeed[n];
      return status === undefined ? [] : [[object.id, status]];
    }),
  );
}

/** Status events are appended last, so those of an earlier batch are not in the feed yet. */
function findLastIn(statusEvents: readonly NewStatusEvent[], object: ProjectedObject): string | undefined {
  const { clusterId, nodePoolId } = subjectOf(object);
  return statusEvents.findLast((event) => event.clusterId === clusterId && event.nodePoolId === nodePoolId)
    ?.payload.status;
}

function toStatusEvent(object: ProjectedObject, previousStatus: string | null): NewStatusEvent {
  const message = statusMessageOf(object.object) ?? null;
  return {
    kind: "status",
    ...subjectOf(object),
    payload: { status: object.status, previousStatus, message, at: new Date().toISOString() },
  };
}

function subjectOf(object: ProjectedObject) {
  return {
    orgId: object.orgId,
    clusterId: clusterIdOf(object),
    nodePoolId: isPool(object) ? object.id : null,
  };
}

/**
 * Writes tombstones of deleted objects. Unless another object replaced one, its record is marked as deleted, which
 * frees its name, and its deletion is recorded in the transition log, and in the audit log when it was requested
 * directly in the Kubernetes API and has not been seen before. Returns the webhook events of the deletions.
 */
async function remove(
  tx: Queryable,
  kind: Batch["kind"],
  objects: readonly ProjectedObject[],
  config: KubernetesAuditConfig,
): Promise<NewWebhookEvent[]> {
  if (objects.length === 0) return [];
  const stored = await findStored(tx, kind, objects);
  const undeleted = objects.filter(({ uid }) => (stored.get(uid)?.deletedAt ?? null) === null);
  await writeRows(tx, kind, undeleted, new Date());
  const ids = objects.map(({ id }) => id);
  const served = await findServedIds(tx, kind, ids);
  const unserved = objects.filter(({ id }) => !served.has(id));
  const closed = await markRecordsDeleted(tx, kind, unserved);
  const deleted = objects.filter(({ id }) => closed.has(id));
  if (deleted.length === 0) return [];
  const isSeenDeleting = ({ object }: Pick<ProjectedObject, "object">) =>
    object.metadata.deletionTimestamp !== undefined;
  const unseen = deleted.filter((object) => !isSeenDeleting(stored.get(object.uid) ?? object));
  await recordExternalDeletions(tx, await findExternalDeletions(tx, unseen), config);
  const { webhookEvents } = await recordTransitions(
    tx,
    deleted.map((object) => ({ object, entries: [deletedEntry(new Date())] })),
  );
  await notifyReaders(tx, [...new Set(deleted.map(clusterIdOf))]);
  return webhookEvents;
}
