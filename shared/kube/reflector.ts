import type { Logger } from "../program/log.ts";
import { fullJitterMs, sleep } from "../program/time.ts";
import { type KubeClient, LIST_PAGE_SIZE } from "./client.ts";
import { KubeError } from "./errors.ts";
import type { Kind, KubeObject } from "./kind.ts";
import { objectKey } from "./object.ts";
import type { Store } from "./store.ts";

export interface ReflectorMetrics {
  onRestart(kindPlural: string, reason: "error" | "gone" | "idle"): void;
  onSize(kindPlural: string, objects: number): void;
}

export interface ReflectorOptions<T> extends CacheUpdaterOptions<T> {
  client: Pick<KubeClient, "list" | "watch">;
  namespace?: string | undefined;
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
  /** Objects per page of a list (default: LIST_PAGE_SIZE): fewer of a kind with large objects, which are read whole. */
  pageSize?: number | undefined;
  /** Called after each complete list, the first one included: epoch 1, 2, ... */
  onRelist?: ((epoch: number) => void) | undefined;
  metrics?: ReflectorMetrics | undefined;
  timing?: Partial<ReflectorTiming> | undefined;
}

interface ReflectorTiming {
  /** The server ends each watch after a random time between this and twice this (client-go: 5 min). */
  minWatchSeconds: number;
  /** A watch without data for this long is broken: the API server sends a bookmark every minute. */
  idleTimeoutMs: number;
  backoffBaseMs: number;
  backoffCapMs: number;
}

export interface Reflector {
  /** Runs until the signal aborts; delivers no change after that. Throws when it is already running. */
  start(signal: AbortSignal): void;
  /** Resolves when the store holds the complete first list. Never rejects; stays pending when stopped before. */
  synced: Promise<void>;
  /** False when the loop failed or is stuck, not when the API server is unavailable. */
  healthy(): boolean;
  /** Milliseconds since the last contact with the API server; 0 while a watch is open. */
  staleMs(): number;
}

const DEFAULT_TIMING: ReflectorTiming = {
  minWatchSeconds: 300,
  idleTimeoutMs: 150_000,
  backoffBaseMs: 500,
  backoffCapMs: 30_000,
};

/** A watch that ends sooner than this counts as a failure, or a server that closes at once would be hammered. */
const SHORT_WATCH_MS = 1_000;
/** About 10 s with the backoff: a lagging API server has caught up by then. */
const MAX_STALE_LISTS = 6;
/** Longer than the longest watch (10 min) with its backoff: no step of a healthy loop takes this long. */
const STUCK_MS = 15 * 60_000;

/**
 * Keeps `store` in sync with the API server's objects of one kind: a paged list, then watches with bookmarks. Every
 * error is retried with full jitter; an expired resourceVersion leads to a relist, whose differences are delivered as
 * changes (missing = deleted; another uid = deleted and added). Changes are delivered after the store is updated, in
 * the order of the API server.
 */
export function createReflector<T extends KubeObject>(options: ReflectorOptions<T>): Reflector {
  const timing = { ...DEFAULT_TIMING, ...options.timing };
  const cache = createCacheUpdater(options);
  const { promise: synced, resolve: markSynced } = Promise.withResolvers<void>();
  let running: AbortSignal | undefined;
  let failed = false;
  let epoch = 0;
  let staleLists = 0;
  let progressAt = performance.now();
  let contactAt = performance.now();
  let watching = false;

  function touch(): void {
    progressAt = performance.now();
    contactAt = progressAt;
  }

  /**
   * Rejects a list that is older than the store: an API server that lags behind its peers would have actions repeated.
   * After several stale lists the list is accepted: etcd was restored from a backup.
   */
  function requireProgress(resourceVersion: string): void {
    const isStale = options.store.isPast(resourceVersion);
    staleLists = isStale ? staleLists + 1 : 0;
    if (!isStale || staleLists > MAX_STALE_LISTS) return;
    const kubeMessage = `the list is older than the cache: ${resourceVersion}`;
    throw new KubeError({ status: 0, reason: "Stale", kubeMessage });
  }

  /** Resolves to the resourceVersion of the list. */
  async function relist(signal: AbortSignal): Promise<string> {
    const present = new Set<string>();
    let next: string | undefined;
    for (;;) {
      const page = await options.client.list(options.kind, {
        namespace: options.namespace,
        labelSelector: options.labelSelector,
        fieldSelector: options.fieldSelector,
        limit: options.pageSize ?? LIST_PAGE_SIZE,
        continue: next,
        signal,
      });
      if (signal.aborted) return "";
      touch();
      requireProgress(page.resourceVersion);
      for (const object of page.items) present.add(cache.put(object, epoch === 0));
      next = page.continue;
      if (next !== undefined) continue;
      cache.keepOnly(present);
      options.store.advance(page.resourceVersion);
      options.metrics?.onSize(options.kind.plural, options.store.size);
      epoch += 1;
      markSynced();
      options.onRelist?.(epoch);
      return page.resourceVersion;
    }
  }

  async function watch(resourceVersion: string, signal: AbortSignal, advance: (to: string) => void) {
    const { minWatchSeconds } = timing;
    try {
      const events = options.client.watch(options.kind, {
        namespace: options.namespace,
        labelSelector: options.labelSelector,
        fieldSelector: options.fieldSelector,
        resourceVersion,
        timeoutSeconds: Math.round(minWatchSeconds * (1 + Math.random())),
        idleTimeoutMs: timing.idleTimeoutMs,
        onOpen: () => {
          watching = true;
          touch();
        },
        signal,
      });
      for await (const event of events) {
        if (signal.aborted) return;
        touch();
        if (event.type === "DELETED") cache.remove(event.object);
        else if (event.type !== "BOOKMARK") cache.put(event.object, false);
        const to =
          event.type === "BOOKMARK" ? event.resourceVersion : (event.object.metadata.resourceVersion ?? "");
        options.store.advance(to);
        advance(to);
      }
    } finally {
      watching = false;
      contactAt = performance.now();
    }
  }

  async function run(signal: AbortSignal): Promise<void> {
    let failures = 0;
    let resourceVersion: string | undefined;
    const advance = (to: string) => {
      resourceVersion = to;
    };
    while (!signal.aborted) {
      progressAt = performance.now();
      let watchedFrom = Number.POSITIVE_INFINITY;
      let retryAfterMs = 0;
      try {
        resourceVersion ??= await relist(signal);
        watchedFrom = performance.now();
        await watch(resourceVersion, signal, advance);
        if (signal.aborted) return;
        failures = performance.now() - watchedFrom < SHORT_WATCH_MS ? failures + 1 : 0;
      } catch (error) {
        if (signal.aborted) return;
        if (performance.now() - watchedFrom > SHORT_WATCH_MS) failures = 0;
        failures += 1;
        if (reportFailure(error, failures) === "gone") resourceVersion = undefined;
        retryAfterMs = (error instanceof KubeError && error.retryAfterMs) || 0;
      }
      if (failures === 0) continue;
      const { backoffBaseMs, backoffCapMs } = timing;
      await sleep(retryAfterMs + fullJitterMs(failures, backoffBaseMs, backoffCapMs), signal);
    }
  }

  function reportFailure(error: unknown, failures: number): "error" | "gone" | "idle" {
    const kube = error instanceof KubeError ? error : undefined;
    const reason = kube?.isGone ? "gone" : kube?.reason === "Idle" ? "idle" : "error";
    options.metrics?.onRestart(options.kind.plural, reason);
    const fields = { kind: options.kind.plural, reason, failures, err: error };
    if (reason === "error") options.log.warn(fields, "watch failed, retrying");
    else options.log.info(fields, "watch ended, restarting");
    return reason;
  }

  return {
    start(signal) {
      if (running !== undefined && !running.aborted) throw new Error("the reflector is already running");
      running = signal;
      run(signal).catch((error: unknown) => {
        failed = true;
        options.log.fatal({ kind: options.kind.plural, err: error }, "the reflector failed");
      });
    },
    synced,
    healthy: () => !failed && performance.now() - progressAt < STUCK_MS,
    staleMs: () => (watching ? 0 : performance.now() - contactAt),
  };
}

export interface Change<T> {
  type: "added" | "updated" | "deleted";
  /** For "deleted": the last known state. */
  object: T;
  previous?: T | undefined;
  /** From the first list: the object existed before. */
  initial: boolean;
}

interface CacheUpdater<T> {
  /** Returns the object's key. */
  put(object: T, initial: boolean): string;
  remove(object: T): void;
  /** Removes every object that is not in a complete list. */
  keepOnly(present: Set<string>): void;
}

interface CacheUpdaterOptions<T> {
  kind: Kind<T>;
  store: Store<T>;
  /** Trims an object before it is stored; must keep its name, namespace, uid and resourceVersion. Undefined = it is not stored. */
  transform?: ((object: T) => T | undefined) | undefined;
  keepManagedFields?: boolean | undefined;
  /** Must be synchronous and cheap (add a key). An exception is logged and does not stop the reflector. */
  onChange(change: Change<T>): void;
  log: Logger;
  metrics?: { onSize(kindPlural: string, objects: number): void } | undefined;
}

/** Updates the store with the objects that the server sent and delivers each change. */
function createCacheUpdater<T extends KubeObject>(options: CacheUpdaterOptions<T>): CacheUpdater<T> {
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
