import type { Queryable } from "../db/client.ts";
import type { ProjectedCluster, ProjectedNodePool } from "./project.ts";
import { transitions } from "./table.ts";
import type { LedgerEntry } from "./transitions.ts";

/** Writes what is not in the ledger yet; returns the entries that are new, in their order. */
export async function recordTransitions(
  tx: Queryable,
  object: ProjectedCluster | ProjectedNodePool,
  entries: readonly LedgerEntry[],
): Promise<LedgerEntry[]> {
  if (entries.length === 0) return [];
  const isPool = "clusterId" in object;
  const written = await tx
    .insert(transitions)
    .values(
      entries.map((entry) => ({
        ...entry,
        objectKind: isPool ? ("node_pool" as const) : ("cluster" as const),
        objectId: object.id,
        orgId: object.orgId,
        clusterId: isPool ? object.clusterId : object.id,
      })),
    )
    .onConflictDoNothing()
    .returning({ type: transitions.type, at: transitions.at });
  const isNew = new Set(written.map(({ type, at }) => `${type} ${at.toISOString()}`));
  return entries.filter(({ type, at }) => isNew.has(`${type} ${at.toISOString()}`));
}
