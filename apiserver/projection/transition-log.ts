import type { Queryable } from "../db/client.ts";
import type { NewWebhookEvent } from "../outbox/index.ts";
import { auditMissed } from "./missed-transitions.ts";
import { clusterIdOf, isPool, type ProjectedObject } from "./project.ts";
import { transitions } from "./table.ts";
import type { TransitionEntry } from "./transitions.ts";
import { webhookEventOf } from "./webhook-events.ts";

/** The transitions of one object, in order. */
export interface ObjectTransitions {
  object: ProjectedObject;
  entries: readonly TransitionEntry[];
}

/**
 * Writes the transitions that are not in the log yet, in the order given, and records in the audit log those that nobody saw
 * while the status listed them. Returns how many these are, and the webhook events of those that it wrote: each is returned
 * once, whichever process observes the transition first.
 */
export async function recordTransitions(
  tx: Queryable,
  objects: readonly ObjectTransitions[],
): Promise<{ events: NewWebhookEvent[]; missed: number }> {
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
