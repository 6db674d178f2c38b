import type { KubeObject } from "./kind.ts";
import { deepFreeze, objectKey } from "./object.ts";

/** The values under which an object is found. */
export type Indexer<T> = (object: T) => readonly string[];

/**
 * A copy of what the API server holds, kept by a reflector. Keys are "namespace/name", or "name" for a cluster-scoped
 * kind. Objects are deeply frozen.
 */
export interface Store<T> {
  get(key: string): T | undefined;
  list(): T[];
  keys(): string[];
  /** Throws for an index that was not declared. */
  byIndex(index: string, value: string): T[];
  readonly size: number;
  /** Whether everything up to this resourceVersion has arrived, so that a read shows the write that returned it. */
  hasSeen(resourceVersion: string): boolean;
  /** Whether the store is further than this resourceVersion. */
  isPast(resourceVersion: string): boolean;
  /** For the reflector alone. Puts an object and returns the one it replaced. */
  set(object: T): T | undefined;
  /** For the reflector alone. */
  remove(key: string): T | undefined;
  /** For the reflector alone: how far it has come. */
  advance(resourceVersion: string): void;
}

/**
 * An empty store with the named indexes; an index is kept up to date on every change. An object that is replaced keeps its
 * place in every order.
 */
export function createStore<T extends KubeObject>(indexers: Record<string, Indexer<T>> = {}): Store<T> {
  const objects = new Map<string, T>();
  const indexes = new Map(Object.keys(indexers).map((name) => [name, createIndex()]));
  let seen = 0n;

  function reindex(key: string, previous: T | undefined, object: T | undefined): void {
    for (const [name, index] of indexes) {
      const valuesOf = (one: T | undefined) => (one === undefined ? [] : (indexers[name]?.(one) ?? []));
      const values = valuesOf(object);
      for (const value of valuesOf(previous)) if (!values.includes(value)) index.remove(value, key);
      for (const value of values) index.add(value, key);
    }
  }

  function remove(key: string): T | undefined {
    const previous = objects.get(key);
    if (previous === undefined) return undefined;
    objects.delete(key);
    reindex(key, previous, undefined);
    return previous;
  }

  return {
    get: (key) => objects.get(key),
    list: () => [...objects.values()],
    keys: () => [...objects.keys()],
    byIndex(name, value) {
      const index = indexes.get(name);
      if (index === undefined) throw new TypeError(`the store has no index "${name}"`);
      return index.keys(value).flatMap((key) => objects.get(key) ?? []);
    },
    get size() {
      return objects.size;
    },
    hasSeen: (resourceVersion) => toBigInt(resourceVersion) <= seen,
    isPast: (resourceVersion) => toBigInt(resourceVersion) < seen,
    set(object) {
      const key = objectKey(object);
      const previous = objects.get(key);
      const frozen = deepFreeze(object);
      objects.set(key, frozen);
      reindex(key, previous, frozen);
      return previous;
    },
    remove,
    advance(resourceVersion) {
      seen = toBigInt(resourceVersion);
    },
  };
}

interface Index {
  add(value: string, key: string): void;
  remove(value: string, key: string): void;
  keys(value: string): string[];
}

/** Most values stand for one object alone: a Set for each would be a tenth of a large cache. */
function createIndex(): Index {
  const entries = new Map<string, string | Set<string>>();
  return {
    add(value, key) {
      const known = entries.get(value);
      if (known === undefined || known === key) entries.set(value, key);
      else if (typeof known === "string") entries.set(value, new Set([known, key]));
      else known.add(key);
    },
    remove(value, key) {
      const known = entries.get(value);
      if (known instanceof Set) known.delete(key);
      if (known === key || (known instanceof Set && known.size === 0)) entries.delete(value);
    },
    keys(value) {
      const known = entries.get(value);
      if (known === undefined) return [];
      return typeof known === "string" ? [known] : [...known];
    },
  };
}

/** resourceVersions of one kind may be compared as numbers of any length (KEP-5504); anything else counts as 0. */
function toBigInt(resourceVersion: string): bigint {
  return /^\d+$/.test(resourceVersion) ? BigInt(resourceVersion) : 0n;
}
