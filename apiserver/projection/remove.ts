import { recordOutsideAudits } from "../audit/index.ts";
import type { Queryable } from "../db/client.ts";
import { notifyReaders } from "../event-log/index.ts";
import type { NewWebhookEvent } from "../outbox/index.ts";
import type { Batch } from "./batches.ts";
import { releaseNames } from "./name-reservations.ts";
import { findOutsideDeletions } from "./outside-deletions.ts";
import { clusterIdOf, type ProjectedObject } from "./project.ts";
import { closeRecords } from "./records.ts";
import { findServedIds, findStored, writeRows } from "./rows.ts";
import { recordTransitions } from "./transition-log.ts";
import { deletedEntry } from "./transitions.ts";

/**
 * Writes tombstones of deleted objects. Unless another object replaced one, its record is marked as deleted, its names
 * are released, and its deletion is recorded in the transition log, and in the audit log when it was requested directly in
 * the Kubernetes API and has not been seen before. Returns the webhook events of the deletions.
 */
export async function remove(
  tx: Queryable,
  kind: Batch["kind"],
  objects: readonly ProjectedObject[],
): Promise<NewWebhookEvent[]> {
  if (objects.length === 0) return [];
  const stored = await findStored(tx, kind, objects);
  const undeleted = objects.filter(({ uid }) => (stored.get(uid)?.deletedAt ?? null) === null);
  await writeRows(tx, kind, undeleted, new Date());
  const served = await findServedIds(
    tx,
    kind,
    objects.map(({ id }) => id),
  );
  const closed = await closeRecords(
    tx,
    kind,
    objects.filter(({ id }) => !served.has(id)),
  );
  const gone = objects.filter(({ id }) => closed.has(id));
  if (gone.length === 0) return [];
  const isSeenDeleting = ({ object }: Pick<ProjectedObject, "object">) =>
    object.metadata.deletionTimestamp !== undefined;
  await recordOutsideAudits(
    tx,
    await findOutsideDeletions(
      tx,
      gone.filter((object) => !isSeenDeleting(stored.get(object.uid) ?? object)),
    ),
  );
  const { events } = await recordTransitions(
    tx,
    gone.map((object) => ({ object, entries: [deletedEntry(new Date())] })),
  );
  await releaseNames(
    tx,
    gone.map(({ id }) => id),
  );
  await notifyReaders(tx, [...new Set(gone.map(clusterIdOf))]);
  return events;
}
