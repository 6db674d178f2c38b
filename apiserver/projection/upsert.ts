import { sql } from "drizzle-orm";
import { recordOutsideAudits } from "../audit/index.ts";
import type { Queryable } from "../db/client.ts";
import { appendEvents, findLastStatuses, type NewStatusEvent } from "../event-log/index.ts";
import { auditsOfChanges, auditsOfCreation } from "./audit-outside.ts";
import { mayReplace } from "./guard.ts";
import { recordTransitions } from "./ledger.ts";
import { confirmNames } from "./names.ts";
import { clusterIdOf, isPool, type ProjectedObject } from "./project.ts";
import { keepRecords } from "./records.ts";
import { remove } from "./remove.ts";
import { type Observation, type Round, scopeOf, toRounds } from "./rounds.ts";
import { findStored, retireOthers, type Stored, writeRows } from "./rows.ts";
import { hasNewTransitions, ledgerEntriesOf } from "./transitions.ts";

/**
 * Brings the projection up to what was seen, in one transaction with all that follows from it: durable records,
 * name reservations, the ledger of transitions and the status events of the live feed. A sight that is older than
 * what is stored changes nothing. Returns the ids of objects that were refused because another one, elsewhere,
 * already has their id. Each statement is one for many objects, so the round trips do not grow with their number.
 */
export async function projectObservations(tx: Queryable, sights: readonly Observation[]): Promise<string[]> {
  await lockObjects(tx, sights);
  const refused: string[] = [];
  const events: NewStatusEvent[] = [];
  for (const { kind, gone, seen } of toRounds(sights)) {
    await remove(
      tx,
      kind,
      gone.map(({ object }) => object),
    );
    const outcome = await upsert(tx, kind, seen, events);
    refused.push(...outcome.refused);
    events.push(...outcome.events);
  }
  await appendEvents(tx, events);
  return refused;
}

/**
 * One writer per object; always in the same order, so that two transactions never wait for each other. From here on
 * plans are made anew: one that was kept since the tables were empty, as a rebuild begins, reads them whole each time.
 */
async function lockObjects(tx: Queryable, sights: readonly Observation[]): Promise<void> {
  const uids = [...new Set(sights.map(({ object }) => object.uid))].sort();
  if (uids.length === 0) return;
  await tx.execute(sql`select set_config('plan_cache_mode', 'force_custom_plan', true),
      pg_advisory_xact_lock(hashtextextended('marina object ' || uid, 0))
    from json_array_elements_text(${JSON.stringify(uids)}::text::json) as uid`);
}

/** An object that is to be written, and what was stored of it. */
interface Step {
  object: ProjectedObject;
  stored: Stored | undefined;
}

async function upsert(
  tx: Queryable,
  kind: Round["kind"],
  sights: readonly Observation[],
  eventsBefore: readonly NewStatusEvent[],
): Promise<{ refused: string[]; events: NewStatusEvent[] }> {
  if (sights.length === 0) return { refused: [], events: [] };
  const storedByUid = await findStored(tx, kind, sights.map(toObject));
  const steps = sights.flatMap(({ object, authoritative = false }): Step[] => {
    const stored = storedByUid.get(object.uid);
    return mayWrite(object, stored, authoritative) ? [{ object, stored }] : [];
  });
  const introduced = steps.filter(isIntroduction);
  const records = await keepRecords(tx, kind, introduced.map(toObject));
  const isRefused = (step: Step) => isIntroduction(step) && !records.has(step.object.id);
  const accepted = steps.filter((step) => !isRefused(step));
  const named = accepted.filter(isIntroduction).map(toObject);
  const toldStatuses = await findToldStatuses(
    tx,
    kind,
    accepted.filter(({ stored }) => stored === undefined).map(toObject),
    records,
    eventsBefore,
  );
  await confirmNames(
    tx,
    named.map((object) => ({ scope: scopeOf(object), name: object.displayName, objectId: object.id })),
  );
  await writeRows(tx, kind, accepted.map(toObject));
  await recordOutsideAudits(tx, [
    ...named.filter(({ id }) => records.get(id) === "made").flatMap(auditsOfCreation),
    ...accepted.flatMap(({ object, stored }) =>
      stored === undefined ? [] : auditsOfChanges(stored, object),
    ),
  ]);
  await recordTransitions(
    tx,
    accepted
      .filter(({ object, stored }) => stored === undefined || hasNewTransitions(stored.object, object.object))
      .map(({ object }) => ({ object, entries: ledgerEntriesOf(object) })),
  );
  return {
    refused: steps.filter(isRefused).map(({ object }) => object.id),
    events: accepted.flatMap(({ object, stored }) => {
      const previousStatus = stored?.status ?? toldStatuses.get(object.id) ?? null;
      return previousStatus === object.status ? [] : [toStatusEvent(object, previousStatus)];
    }),
  };
}

function toObject({ object }: { object: ProjectedObject }): ProjectedObject {
  return object;
}

function mayWrite(object: ProjectedObject, stored: Stored | undefined, authoritative: boolean): boolean {
  if (mayReplace(stored, { resourceVersion: object.resourceVersion, authoritative })) return true;
  return stored?.deletedAt === null && stored.clusterId !== clusterIdOf(object);
}

/** Whether the object is new, has another name or belongs to another cluster: its record and name are looked at. */
function isIntroduction({ object, stored }: Step): boolean {
  return (
    stored === undefined ||
    stored.clusterId !== clusterIdOf(object) ||
    stored.displayName !== object.displayName
  );
}

/**
 * What the feed said last of objects that have no row yet: the status of the one that each replaced, or, for a row
 * that was lost and is made anew, which is no news, what is in the feed itself.
 */
async function findToldStatuses(
  tx: Queryable,
  kind: Round["kind"],
  objects: readonly ProjectedObject[],
  records: ReadonlyMap<string, "made" | "kept">,
  eventsBefore: readonly NewStatusEvent[],
): Promise<Map<string, string>> {
  const told = await retireOthers(tx, kind, objects);
  const lost = objects.filter(({ id }) => !told.has(id) && records.get(id) === "kept");
  const statuses = await findLastStatuses(tx, lost.map(toPlace));
  lost.forEach((object, n) => {
    const status = findLastIn(eventsBefore, object) ?? statuses[n];
    if (status !== undefined) told.set(object.id, status);
  });
  return told;
}

/** Events are appended last of all, so those of an earlier round are not in the feed yet. */
function findLastIn(events: readonly NewStatusEvent[], object: ProjectedObject): string | undefined {
  const { clusterId, nodePoolId } = toPlace(object);
  return events.findLast((event) => event.clusterId === clusterId && event.nodePoolId === nodePoolId)?.payload
    .status;
}

function toStatusEvent(object: ProjectedObject, previousStatus: string | null): NewStatusEvent {
  const message = object.object.status?.message ?? null;
  return {
    kind: "status",
    ...toPlace(object),
    payload: { status: object.status, previousStatus, message, at: new Date().toISOString() },
  };
}

function toPlace(object: ProjectedObject) {
  return { clusterId: clusterIdOf(object), nodePoolId: isPool(object) ? object.id : null };
}
