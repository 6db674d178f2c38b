import type { Logger } from "../program/log.ts";
import type { Kind, KubeObject } from "./kind.ts";
import { objectKey } from "./object.ts";
import type { Store } from "./store.ts";

export interface Change<T> {
  type: "added" | "updated" | "deleted";
  /** For "deleted": the last known state. */
  object: T;
  previous?: T | undefined;
  /** From the first list: the object existed before. */
  initial: boolean;
}

export interface CacheUpdater<T> {
  /** Returns the object's key. */
  put(object: T, initial: boolean): string;
  remove(object: T): void;
  /** Removes every object that is not in a complete list. */
  keepOnly(present: Set<string>): void;
}

export interface CacheUpdaterOptions<T> {
  kind: Kind<T>;
  store: Store<T>;
  /** Trims an object before it is stored; must keep the metadata. Undefined = the object is not stored. */
  transform?: ((object: T) => T | undefined) | undefined;
  keepManagedFields?: boolean | undefined;
  /** Must be synchronous and cheap (add a key). An exception is logged and does not stop the reflector. */
  onChange(change: Change<T>): void;
  log: Logger;
  metrics?: { onSize(kindPlural: string, objects: number): void } | undefined;
}

/** Updates the store with the objects that the server sent and delivers each change. */
export function createCacheUpdater<T extends KubeObject>(options: CacheUpdaterOptions<T>): CacheUpdater<T> {
  const { store, kind } = options;

  function deliver(change: Change<T>): void {
    options.metrics?.onSize(kind.plural, store.size);
    try {
      options.onChange(change);
    } catch (error) {
      options.log.error({ kind: kind.plural, err: error }, "a change handler failed");
    }
  }

  function trim(object: T): T | undefined {
    const kept = options.keepManagedFields === true ? object : withoutManagedFields(object);
    return options.transform === undefined ? kept : options.transform(kept);
  }

  function removeKey(key: string, lastState?: T): void {
    const previous = store.remove(key);
    if (previous === undefined) return;
    deliver({ type: "deleted", object: lastState ?? previous, previous, initial: false });
  }

  return {
    put(received, initial) {
      const object = trim(received);
      const key = objectKey(received);
      if (object === undefined) {
        removeKey(key);
        return key;
      }
      const known = store.get(key);
      // Another uid: the object was deleted and created again in the meantime.
      if (known?.metadata.uid !== object.metadata.uid) removeKey(key);
      else if (known !== undefined && known.metadata.resourceVersion === object.metadata.resourceVersion)
        return key;
      const previous = store.set(object);
      deliver({ type: previous === undefined ? "added" : "updated", object, previous, initial });
      return key;
    },
    remove: (received) => removeKey(objectKey(received), trim(received)),
    keepOnly(present) {
      for (const key of store.keys()) if (!present.has(key)) removeKey(key);
    },
  };
}

/** A copy: after `delete` V8 keeps an object as a hash table, of four times the size. */
function withoutManagedFields<T extends KubeObject>(object: T): T {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}
