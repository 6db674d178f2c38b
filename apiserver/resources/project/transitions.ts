import type { ProjectedCluster, ProjectedNodePool } from "./project.ts";

/** One entry of the transition log of a cluster or node pool. `type` is in snake case. */
export interface TransitionEntry {
  type: string;
  at: Date;
  /** Position in the object's own history; null for transitions that the object itself does not record. */
  sequence: number | null;
  details: Record<string, string>;
}

/**
 * The entries that the transition log must hold for an object: its creation, and every transition that its status still
 * lists. The log's unique keys skip existing entries, so all of them can be written at every observation.
 */
export function transitionEntriesOf({ object }: ProjectedCluster | ProjectedNodePool): TransitionEntry[] {
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

/** The log entry of a deleted object. */
export function deletedEntry(at: Date): TransitionEntry {
  return { type: "deleted", at, sequence: null, details: {} };
}

/** Whether the status lists transitions that it did not list before. */
export function hasNewTransitions(
  before: ProjectedCluster["object"] | ProjectedNodePool["object"],
  after: ProjectedCluster["object"] | ProjectedNodePool["object"],
): boolean {
  return before.status?.transitions?.at(-1)?.sequence !== after.status?.transitions?.at(-1)?.sequence;
}

function toSnakeCase(type: string): string {
  return type.replaceAll(/(?<=[a-z])(?=[A-Z])/g, "_").toLowerCase();
}
