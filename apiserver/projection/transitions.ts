import type { ProjectedCluster, ProjectedNodePool } from "./project.ts";

/** One entry of the ledger: something that happened to a cluster or a pool. `type` in lower case with underscores. */
export interface LedgerEntry {
  type: string;
  at: Date;
  /** Position in the object's own history; null for what the object itself does not record. */
  sequence: number | null;
  details: Record<string, string>;
}

/**
 * What the ledger must hold for an object that was seen: its creation, and every transition that its status still
 * lists. Entries that are there already are skipped by the ledger's keys, so this may be asked at every sight.
 */
export function ledgerEntriesOf({ object }: ProjectedCluster | ProjectedNodePool): LedgerEntry[] {
  const created = {
    type: "created",
    at: new Date(object.metadata.creationTimestamp ?? 0),
    sequence: null,
    details: {},
  };
  const reported = (object.status?.transitions ?? []).map(({ sequence, type, at, ...details }) => ({
    type: toSnakeCase(type),
    at: new Date(at),
    sequence,
    details: Object.fromEntries(
      Object.entries(details).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
    ),
  }));
  return [created, ...reported];
}

/** The ledger entry for an object that is gone. */
export function deletedEntry(at: Date): LedgerEntry {
  return { type: "deleted", at, sequence: null, details: {} };
}

/** Whether an object tells of transitions that it did not tell of before, so that the ledger has to be asked. */
export function hasNewTransitions(
  before: ProjectedCluster["object"] | ProjectedNodePool["object"],
  after: ProjectedCluster["object"] | ProjectedNodePool["object"],
): boolean {
  return before.status?.transitions?.at(-1)?.sequence !== after.status?.transitions?.at(-1)?.sequence;
}

function toSnakeCase(type: string): string {
  return type.replaceAll(/(?<=[a-z])(?=[A-Z])/g, "_").toLowerCase();
}
