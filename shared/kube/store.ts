import type { KubeObject } from "./kind.ts";
import { objectKey } from "./object.ts";

/** A pool of this many strings finds nearly all repeats: lists and watches send similar objects one after the other. */
const MAX_STRINGS = 2_000;

/** In characters. Longer ones, as the data of a ConfigMap, are not kept in the pool. */
const MAX_STRING_LENGTH = 2_000;

type Freeze = <T>(value: T) => T;

/** The index values of an object, each once: a function of the object alone. */
export type Indexer<T> = (object: T) => readonly string[];

/**
 * A cache of the API server's objects of one kind, filled by a reflector. Keys are "namespace/name", or "name" for a
 * cluster-scoped kind. Objects are deeply frozen.
 */
export interface Store<T> {
  get(key: string): T | undefined;
  list(): T[];
  keys(): string[];
  /** Throws for an index that was not declared. */
  byIndex(index: string, value: string): T[];
  readonly size: number;
  /** Whether the cache includes this resourceVersion, so that a read shows the write that returned it. */
  hasSeen(resourceVersion: string): boolean;
  /** Whether the cache is newer than this resourceVersion. */
  isPast(resourceVersion: string): boolean;
  /** Only for the reflector. Returns the object that was replaced. */
  set(object: T): T | undefined;
  /** Only for the reflector. */
  remove(key: string): T | undefined;
  /** Only for the reflector: records the newest resourceVersion received. */
  advance(resourceVersion: string): void;
}

/**
 * An empty store with the named indexes, which follow every change. A replaced object keeps its position in `list` and
 * `byIndex`.
 */
export function createStore<T extends KubeObject>(indexers: Record<string, Indexer<T>> = {}): Store<T> {
  const freeze = createFreeze();
  const objects = new Map<string, T>();
  const indexes = new Map(Object.keys(indexers).map((name) => [name, createIndex()]));
  let seen = 0n;

  function reindex(key: string, previous: T | undefined, object: T | undefined): void {
    for (const [name, index] of indexes) {
      const valuesOf = (one: T | undefined) => (one === undefined ? [] : (indexers[name]?.(one) ?? []));
      const before = valuesOf(previous);
      const values = valuesOf(object);
      for (const value of before) if (!values.includes(value)) index.remove(value, key);
      for (const value of values) if (!before.includes(value)) index.add(value, key);
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
      const frozen = freeze(object);
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

/**
 * The other objects that share a value of this index with one that came, went, or has another value than before: where only one
 * of them counts, it may be another one now.
 */
export function findSharing<T extends KubeObject>(
  store: Pick<Store<T>, "byIndex">,
  index: string,
  valuesOf: Indexer<T>,
  { type, object, previous }: { type: "added" | "updated" | "deleted"; object: T; previous?: T | undefined },
): T[] {
  const before = previous === undefined ? [] : valuesOf(previous);
  const after = type === "deleted" ? [] : valuesOf(object);
  const changed = [
    ...before.filter((value) => !after.includes(value)),
    ...after.filter((value) => !before.includes(value)),
  ];
  const sharing = changed.flatMap((value) => store.byIndex(index, value));
  return sharing.filter(({ metadata }) => metadata.uid !== object.metadata.uid);
}

interface Index {
  add(value: string, key: string): void;
  remove(value: string, key: string): void;
  keys(value: string): readonly string[];
}

/** Most values have one key, for which a Set takes three times as much as an array: 34 MB for 10,000 clusters. */
function createIndex(): Index {
  const keysByValue = new Map<string, string[]>();
  return {
    add(value, key) {
      // Not by `push`, after which an array has room for 16 more.
      keysByValue.set(value, (keysByValue.get(value) ?? []).concat(key));
    },
    remove(value, key) {
      const keys = keysByValue.get(value)?.filter((other) => other !== key) ?? [];
      if (keys.length === 0) keysByValue.delete(value);
      else keysByValue.set(value, keys);
    },
    keys: (value) => keysByValue.get(value) ?? [],
  };
}

/** resourceVersions of one kind compare as integers of any length (KEP-5504); anything else counts as 0. */
function toBigInt(resourceVersion: string): bigint {
  return /^\d+$/.test(resourceVersion) ? BigInt(resourceVersion) : 0n;
}

/**
 * Creates a function that freezes an object of parsed JSON and all in it, in place, and replaces each string that its
 * pool holds by the pool's copy. JSON.parse copies all strings of more than 10 characters, and most of those in
 * Kubernetes objects are equal: texts of conditions, times, labels. They were 10 of 32 KB of a cluster in the caches.
 */
function createFreeze(): Freeze {
  const pool = new Map<string, string>();

  function share(text: string): string {
    if (text.length > MAX_STRING_LENGTH) return text;
    const known = pool.get(text);
    if (known !== undefined) return known;
    if (pool.size >= MAX_STRINGS) pool.clear();
    pool.set(text, text);
    return text;
  }

  function freezeRecord(record: Record<string, unknown>): void {
    for (const [key, inner] of Object.entries(record)) {
      if (typeof inner === "string") record[key] = share(inner);
      else freeze(inner);
    }
    Object.freeze(record);
  }

  function freeze<T>(value: T): T {
    if (typeof value === "object" && value !== null && !Object.isFrozen(value))
      freezeRecord(value as Record<string, unknown>);
    return value;
  }

  return freeze;
}
