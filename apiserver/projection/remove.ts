import type { Queryable } from "../db/client.ts";
import { notifyReaders } from "../event-log/index.ts";
import { recordTransitions } from "./ledger.ts";
import { releaseNames } from "./names.ts";
import { clusterIdOf, type ProjectedObject } from "./project.ts";
import { closeRecords } from "./records.ts";
import type { Round } from "./rounds.ts";
import { findServedIds, findStored, writeRows } from "./rows.ts";
import { deletedEntry } from "./transitions.ts";

/**
 * Leaves tombstones of objects that are gone. Unless another object has come in the place of one, its record is
 * closed, its names are free, and the ledger says that it was deleted.
 */
export async function remove(
  tx: Queryable,
  kind: Round["kind"],
  objects: readonly ProjectedObject[],
): Promise<void> {
  if (objects.length === 0) return;
  const stored = await findStored(tx, kind, objects);
  const standing = objects.filter(({ uid }) => (stored.get(uid)?.deletedAt ?? null) === null);
  await writeRows(tx, kind, standing, new Date());
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
  if (gone.length === 0) return;
  await recordTransitions(
    tx,
    gone.map((object) => ({ object, entries: [deletedEntry(new Date())] })),
  );
  await releaseNames(
    tx,
    gone.map(({ id }) => id),
  );
  await notifyReaders(tx, [...new Set(gone.map(clusterIdOf))]);
}
