import { clusterIdOf, isPool, type ProjectedObject } from "./project.ts";

export interface Observation {
  object: ProjectedObject;
  /** The object was seen to be gone; `object` is its last known state. */
  gone?: boolean;
  /** Read with a quorum after the stored row was; see `mayReplace`. */
  authoritative?: boolean;
}

/** Sights of one kind that have nothing to do with each other, in the order of their ids. */
export interface Round {
  kind: "cluster" | "node_pool";
  gone: Observation[];
  seen: Observation[];
}

/**
 * Divides sights into rounds to be carried out one after another, clusters before pools. A sight that shares an
 * object, an id, a place or a name with an earlier one comes in a later round, so that each round can be written as
 * one and the end is the same as of one sight after another; but a name that one gives up is free for all others.
 */
export function toRounds(sights: readonly Observation[]): Round[] {
  return [
    ...toRoundsOfKind(
      "cluster",
      sights.filter(({ object }) => !isPool(object)),
    ),
    ...toRoundsOfKind(
      "node_pool",
      sights.filter(({ object }) => isPool(object)),
    ),
  ];
}

/** The scope in which an object's name is the only one: its organization, for a pool its cluster. */
export function scopeOf(object: ProjectedObject): string {
  return isPool(object) ? clusterIdOf(object) : object.orgId;
}

function toRoundsOfKind(kind: Round["kind"], sights: readonly Observation[]): Round[] {
  const rounds: Observation[][] = [];
  const nextByKey = new Map<string, number>();
  for (const sight of sights) {
    const keys = keysOf(sight.object);
    const n = Math.max(...keys.map((key) => nextByKey.get(key) ?? 0));
    const round = rounds[n] ?? [];
    rounds[n] = round;
    round.push(sight);
    for (const key of keys) nextByKey.set(key, n + 1);
  }
  return rounds.map((round) => {
    const sorted = round.toSorted((left, right) => (left.object.id < right.object.id ? -1 : 1));
    return {
      kind,
      gone: sorted.filter(({ gone }) => gone === true),
      seen: sorted.filter(({ gone }) => gone !== true),
    };
  });
}

function keysOf(object: ProjectedObject): string[] {
  return [
    `uid ${object.uid}`,
    `id ${object.id}`,
    `place ${object.namespace}/${object.name}`,
    `name ${scopeOf(object)} ${object.displayName.toLowerCase()}`,
  ];
}
