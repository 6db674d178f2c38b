import { sql } from "drizzle-orm";
import { recordSystemAudits } from "../../audit/index.ts";
import type { Queryable } from "../../db/client.ts";
import type { NewEvent } from "../../events/emit.ts";
import { clusterIdOf, isPool, type ProjectedObject } from "./project.ts";
import { transitions } from "./table.ts";
import type { TransitionEntry } from "./transitions.ts";
import { webhookEventOf } from "./webhook-events.ts";

type Written = typeof transitions.$inferSelect;

/** A transition that was just written for an object, with the last one before it that the log has. */
type Gap = Pick<Written, "objectId" | "objectKind" | "orgId"> & { sequence: number; last: number };

/** The transitions of one object, in order. */
export interface ObjectTransitions {
  object: ProjectedObject;
  entries: readonly TransitionEntry[];
}

/**
 * Writes the transitions that are not in the log yet, in the order given, and records in the audit log those that no
 * process saw while the status listed them. Returns how many these are, and the webhook events of those that it wrote:
 * each is returned once, whichever process observes the transition first.
 */
export async function recordTransitions(
  tx: Queryable,
  objects: readonly ObjectTransitions[],
): Promise<{ events: NewEvent[]; missed: number }> {
  const rows = objects.flatMap(({ object, entries }) =>
    entries.map((entry) => ({
      ...entry,
      objectKind: isPool(object) ? ("node_pool" as const) : ("cluster" as const),
      objectId: object.id,
      orgId: object.orgId,
      clusterId: clusterIdOf(object),
    })),
  );
  if (rows.length === 0) return { events: [], missed: 0 };
  const written = await tx.insert(transitions).values(rows).onConflictDoNothing().returning();
  const missed = await auditMissed(tx, written);
  const objectsById = new Map(objects.map(({ object }) => [object.id, object]));
  const events = written.flatMap((row) => {
    const object = objectsById.get(row.objectId);
    return (object && webhookEventOf(object, row)) ?? [];
  });
  return { events, missed };
}

/**
 * Records in the audit log when the sequence of an object's transitions has a gap: a status lists the last 16, so the
 * older ones of an object that no process observed for long are lost, and no webhook gets them. Returns how many.
 */
async function auditMissed(tx: Queryable, written: readonly Written[]): Promise<number> {
  const gaps = await findGaps(tx, written);
  await recordSystemAudits(
    tx,
    "projector",
    gaps.map(({ objectId, objectKind, orgId, sequence, last }) => ({
      action: `${objectKind}.transitions_missed`,
      orgId,
      target: { kind: objectKind, id: objectId },
      after: { firstMissed: last + 1, lastMissed: sequence - 1 },
      result: "done" as const,
    })),
  );
  return gaps.reduce((sum, { sequence, last }) => sum + sequence - last - 1, 0);
}

async function findGaps(tx: Queryable, written: readonly Written[]): Promise<Gap[]> {
  // The first transition of an object has no predecessor.
  const later = written.flatMap(({ objectId, objectKind, orgId, sequence }) =>
    sequence === null || sequence === 1 ? [] : [{ objectId, objectKind, orgId, sequence }],
  );
  if (later.length === 0) return [];
  return tx.execute<Gap>(sql`
    select written.*, before.last
    from json_to_recordset(${JSON.stringify(later)}::text::json)
      as written ("objectId" uuid, "objectKind" text, "orgId" uuid, sequence integer)
    cross join lateral (select coalesce(max(known.sequence), 0) as last from ${transitions} as known
      where known.org_id = written."orgId" and known.object_id = written."objectId"
        and known.sequence < written.sequence) as before
    where before.last < written.sequence - 1`);
}
