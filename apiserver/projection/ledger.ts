import type { Queryable } from "../db/client.ts";
import { clusterIdOf, isPool, type ProjectedObject } from "./project.ts";
import { transitions } from "./table.ts";
import type { LedgerEntry } from "./transitions.ts";

/** What has to be in the ledger of one object, in its order. */
export interface Told {
  object: ProjectedObject;
  entries: readonly LedgerEntry[];
}

/** Writes what is not in the ledger yet, in the order given. */
export async function recordTransitions(tx: Queryable, told: readonly Told[]): Promise<void> {
  const rows = told.flatMap(({ object, entries }) =>
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
