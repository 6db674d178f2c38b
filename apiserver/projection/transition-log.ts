import type { Queryable } from "../db/client.ts";
import { clusterIdOf, isPool, type ProjectedObject } from "./project.ts";
import { transitions } from "./table.ts";
import type { TransitionEntry } from "./transitions.ts";

/** The transitions of one object, in order. */
export interface ObjectTransitions {
  object: ProjectedObject;
  entries: readonly TransitionEntry[];
}

/** Writes the transitions that are not in the log yet, in the order given. */
export async function recordTransitions(tx: Queryable, objects: readonly ObjectTransitions[]): Promise<void> {
  const rows = objects.flatMap(({ object, entries }) =>
    entries.map((entry) => ({
      ...entry,
      objectKind: isPool(object) ? ("node_pool" as const) : ("cluster" as const),
      objectId: object.id,
      orgId: object.orgId,
      clusterId: clusterIdOf(object),
    })),
  );
  if (rows.length === 0) return;
  await tx.insert(transitions).values(rows).onConflictDoNothing();
}
