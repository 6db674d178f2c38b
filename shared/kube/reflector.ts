import type { Logger } from "../log.ts";
import { type KubeClient, LIST_PAGE_SIZE } from "./client.ts";
import { KubeError } from "./errors.ts";
import { createIntake } from "./intake.ts";
import type { Kind, KubeObject } from "./kind.ts";
import { fullJitterMs, sleep } from "./sleep.ts";
import type { Store } from "./store.ts";

export interface Change<T> {
  type: "added" | "updated" | "deleted";
  /** For "deleted": the last state known. */
  object: T;
  previous?: T | undefined;
  /** Part of the first list: nothing happened, the object was there before. */
  initial: boolean;
}

export interface ReflectorMetrics {
  onRestart(kindPlural: string, reason: "error" | "gone" | "idle"): void;
  onSize(kindPlural: string, objects: number): void;
}

export interface ReflectorOptions<T> {
  client: Pick<KubeClient, "list" | "watch">;
  kind: Kind<T>;
  store: Store<T>;
  namespace?: string | undefined;
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
  /** Drops what nobody reads before it is kept; must keep the metadata. Undefined = nobody reads any of it. */
  transform?: ((object: T) => T | undefined) | undefined;
  keepManagedFields?: boolean | undefined;
  /** Synchronous and cheap (add a key). A throw is logged and does not stop the reflector. */
  onChange(change: Change<T>): void;
  /** After each complete list, the first one included: epoch 1, 2, ... */
  onRelist?: ((epoch: number) => void) | undefined;
  log: Logger;
  metrics?: ReflectorMetrics | undefined;
  timing?: Partial<ReflectorTiming> | undefined;
}

export interface ReflectorTiming {
  /** The server is asked to end each watch after a random time between this and twice this (client-go: 5 min). */
  minWatchSeconds: number;
  /** A watch without a byte for this long is dead: the API server sends a bookmark every minute. */
  idleTimeoutMs: number;
  backoffBaseMs: number;
  backoffCapMs: number;
}

export interface Reflector {
  /** Runs until the signal aborts; after that nothing is delivered any more. Throws when it is running already. */
  start(signal: AbortSignal): void;
  /** Resolves once the first list is complete in the store. Never rejects; stays pending when stopped before. */
  synced: Promise<void>;
  /** False when the loop itself is dead or stuck. An API server that is down does not make it false. */
  healthy(): boolean;
  /** Milliseconds without contact to the API server; 0 while a watch is open. */
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
/** With the backoff in between about 10 s: by then a lagging API server has caught up. */
const MAX_STALE_LISTS = 6;
/** Longer than the longest watch (10 min) with its backoff: no step of a live loop takes this long. */
const STUCK_MS = 15 * 60_000;

/**
 * Keeps `store` equal to the API server's objects of one kind: a paged list, then a watch with bookmarks, renewed for
 * ever. Every error is retried with full jitter; a resourceVersion that is too old leads to a new list, whose
 * differences are delivered as changes (missing = deleted; another uid = deleted and added). Changes are delivered
 * after the store shows them, in the order of the API server.
 */
export function createReflector<T extends KubeObject>(options: ReflectorOptions<T>): Reflector {
  const timing = { ...DEFAULT_TIMING, ...options.timing };
  const intake = createIntake(options);
  const { promise: synced, resolve: markSynced } = Promise.withResolvers<void>();
  let running: AbortSignal | undefined;
  let dead = false;
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
   * An API server that lags behind its peers may list the past, and what was done since would be done again. Only one
   * that insists is believed: its data were restored from a backup.
   */
  function requireProgress(resourceVersion: string): void {
    const isStale = options.store.isPast(resourceVersion);
    staleLists = isStale ? staleLists + 1 : 0;
    if (!isStale || staleLists > MAX_STALE_LISTS) return;
    const kubeMessage = `the list is older than what was seen before: ${resourceVersion}`;
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
        limit: LIST_PAGE_SIZE,
        continue: next,
        signal,
      });
      if (signal.aborted) return "";
      touch();
      requireProgress(page.resourceVersion);
      for (const object of page.items) present.add(intake.put(object, epoch === 0));
      next = page.continue;
      if (next !== undefined) continue;
      intake.keepOnly(present);
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
        if (event.type === "DELETED") intake.remove(event.object);
        else if (event.type !== "BOOKMARK") intake.put(event.object, false);
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
        if (noteFailure(error, failures) === "gone") resourceVersion = undefined;
        retryAfterMs = (error instanceof KubeError && error.retryAfterMs) || 0;
      }
      if (failures === 0) continue;
      const { backoffBaseMs, backoffCapMs } = timing;
      await sleep(retryAfterMs + fullJitterMs(failures, backoffBaseMs, backoffCapMs), signal);
    }
  }

  function noteFailure(error: unknown, failures: number): "error" | "gone" | "idle" {
    const kube = error instanceof KubeError ? error : undefined;
    const reason = kube?.isGone ? "gone" : kube?.reason === "Idle" ? "idle" : "error";
    options.metrics?.onRestart(options.kind.plural, reason);
    const fields = { kind: options.kind.plural, reason, failures, err: error };
    if (reason === "error") options.log.warn(fields, "watch failed, retrying");
    else options.log.info(fields, "watch ended, renewing");
    return reason;
  }

  return {
    start(signal) {
      if (running !== undefined && !running.aborted) throw new Error("the reflector is running already");
      running = signal;
      run(signal).catch((error: unknown) => {
        dead = true;
        options.log.fatal({ kind: options.kind.plural, err: error }, "the reflector died");
      });
    },
    synced,
    healthy: () => !dead && performance.now() - progressAt < STUCK_MS,
    staleMs: () => (watching ? 0 : performance.now() - contactAt),
  };
}
