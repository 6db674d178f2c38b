import { isPool, type ProjectedObject } from "./project.ts";

/** An object as a watch delivered it, or as it was read or written since, to be projected. */
export interface Observation {
  object: ProjectedObject;
  /** The earliest version that the watch delivered; of a new object as it was created. */
  firstVersion?: ProjectedObject["object"] | undefined;
  /** The object is deleted; `object` is its last known state. */
  deleted?: boolean;
  /** Read with a quorum after the stored row was; see `mayReplace`. */
  authoritative?: boolean;
}

/** Independent observations of one kind, ordered by id. */
export interface Batch {
  kind: "cluster" | "node_pool";
  deleted: Observation[];
  present: Observation[];
}

/**
 * Divides observations into batches that are written one after another, clusters before pools. An observation that
 * shares an object, an id or a namespaced name with an earlier one comes in a later batch, so that the result is the
 * same as of single observations.
 */
export function toBatches(observations: readonly Observation[]): Batch[] {
  return [
    ...toBatchesOfKind(
      "cluster",
      observations.filter(({ object }) => !isPool(object)),
    ),
    ...toBatchesOfKind(
      "node_pool",
      observations.filter(({ object }) => isPool(object)),
    ),
  ];
}

function toBatchesOfKind(kind: Batch["kind"], observations: readonly Observation[]): Batch[] {
  const batches: Observation[][] = [];
  const nextByKey = new Map<string, number>();
  for (const observation of observations) {
    const keys = keysOf(observation.object);
    const n = Math.max(...keys.map((key) => nextByKey.get(key) ?? 0));
    const batch = batches[n] ?? [];
    batches[n] = batch;
    batch.push(observation);
    for (const key of keys) nextByKey.set(key, n + 1);
  }
  return batches.map((batch) => {
    const sorted = batch.toSorted((left, right) => (left.object.id < right.object.id ? -1 : 1));
    return {
      kind,
      deleted: sorted.filter(({ deleted }) => deleted === true),
      present: sorted.filter(({ deleted }) => deleted !== true),
    };
  });
}

function keysOf(object: ProjectedObject): string[] {
  return [`uid ${object.uid}`, `id ${object.id}`, `place ${object.namespace}/${object.name}`];
}
