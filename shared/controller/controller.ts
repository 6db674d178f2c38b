import { KubeError } from "../kube/errors.ts";
import type { Logger } from "../program/log.ts";
import { sleep } from "../program/time.ts";
import type { Leadership } from "./lease.ts";
import { StepError } from "./plan.ts";
import { type AddOptions, createQueue, PRIORITY_BACKGROUND, type QueueItem } from "./queue.ts";

/** `requeueAfterMs`: run this key again after this time. */
export type ReconcileResult = { requeueAfterMs?: number | undefined } | undefined;

export interface ControllerOptions {
  /** Label of logs and metrics: what is reconciled. */
  name: string;
  /**
   * Reconciles one object. An error is retried with backoff; a result ends the backoff. The signal aborts at the
   * deadline of a drain.
   */
  reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult>;
  /** Keys that are reconciled at the same time (default 10). */
  workers?: number | undefined;
  /** How many of them may be keys of one namespace (default: all). */
  maxPerNamespace?: number | undefined;
  /** Checked before each run; while this process does not lead keys are queued only. */
  leadership: Leadership;
  /** All keys, added with low priority every `resyncEveryMs` (default 10 min, jittered by 10 %). */
  resyncKeys?: (() => Iterable<string>) | undefined;
  resyncEveryMs?: number | undefined;
  /** A single run longer than this makes the controller unhealthy (default 5 min). */
  stuckAfterMs?: number | undefined;
  log: Logger;
  metrics?: ControllerMetrics | undefined;
}

export interface ControllerMetrics {
  onDepth(controller: string, depth: number): void;
  onWait(controller: string, seconds: number): void;
  onReconcile(controller: string, result: "success" | "requeue" | "error", seconds: number): void;
  onActive(controller: string, workers: number): void;
}

export interface Controller {
  /** Queues this key. Safe at any time, also before `start`. */
  add(key: string, options?: AddOptions): void;
  /**
   * After a write: the key is not run again before `store` has caught up with the write's resourceVersion, so that
   * a reconcile never decides on a cache older than its own last write. Given up after 10 s.
   */
  expect(key: string, store: WatchedCache, resourceVersion: string): void;
  /** Starts the workers. Call it once all caches are synced. */
  start(): void;
  /** Takes no more keys and waits for the running ones; false when the deadline came first. */
  drain(deadlineMs: number): Promise<boolean>;
  /** False when a worker is stuck in one run. */
  healthy(): boolean;
}

/** How often it is looked whether the caches show the last write of a key. */
const EXPECTED_WRITE_POLL_MS = 100;

/** Runs `reconcile` for the keys added, by the rules of queue.ts, on a fixed number of workers. */
export function createController(options: ControllerOptions): Controller {
  const { name, log, metrics } = options;
  const stuckAfterMs = options.stuckAfterMs ?? 5 * 60_000;
  const { leadership } = options;
  const queue = createQueue({
    maxPerNamespace: options.maxPerNamespace,
    metrics: {
      onDepth: (depth) => metrics?.onDepth(name, depth),
      onWait: (seconds) => metrics?.onWait(name, seconds),
    },
  });
  const expectations = createExpectations();
  const startedAt = new Map<string, number>();
  const stopping = new AbortController();
  const deadline = new AbortController();
  let workers: Promise<void>[] = [];

  async function work(): Promise<void> {
    while (!stopping.signal.aborted) {
      await leadership.untilLeader(stopping.signal);
      await yieldToEventLoop();
      const item = await queue.take();
      if (item === undefined) return;
      await runItem(item).finally(() => queue.done(item.key));
    }
  }

  async function runItem({ key, priority }: QueueItem): Promise<void> {
    if (!leadership.isLeader()) return queue.add(key, { priority });
    if (!expectations.isMet(key)) return queue.add(key, { priority, afterMs: EXPECTED_WRITE_POLL_MS });
    const from = performance.now();
    startedAt.set(key, from);
    metrics?.onActive(name, startedAt.size);
    try {
      const result = await options.reconcile(key, deadline.signal);
      queue.forget(key);
      const requeueAfterMs = result?.requeueAfterMs;
      if (requeueAfterMs !== undefined) queue.add(key, { priority, afterMs: Math.max(1, requeueAfterMs) });
      report(requeueAfterMs === undefined ? "success" : "requeue", from);
    } catch (error) {
      const retryInMs = Math.round(queue.retry(key, priority));
      const fields = { controller: name, key, retryInMs, err: error };
      const cause = error instanceof StepError ? error.cause : error;
      if (isExpected(cause))
        log.info(
          fields,
          cause.isConflict ? "the object changed, retrying" : "the namespace is being deleted, retrying",
        );
      else log.error(fields, "reconcile failed, retrying");
      report("error", from);
    } finally {
      startedAt.delete(key);
      metrics?.onActive(name, startedAt.size);
    }
  }

  function report(result: "success" | "requeue" | "error", from: number): void {
    metrics?.onReconcile(name, result, (performance.now() - from) / 1000);
  }

  async function resync(keys: () => Iterable<string>): Promise<void> {
    const everyMs = options.resyncEveryMs ?? 10 * 60_000;
    while (await sleep(everyMs * (0.9 + Math.random() * 0.2), stopping.signal)) {
      for (const key of keys()) queue.add(key, { priority: PRIORITY_BACKGROUND });
    }
  }

  return {
    add: (key, addOptions) => queue.add(key, addOptions),
    expect: (key, store, resourceVersion) => expectations.expect(key, store, resourceVersion),
    start() {
      if (workers.length > 0) throw new Error(`the controller ${name} is running already`);
      workers = Array.from({ length: options.workers ?? 10 }, work);
      const { resyncKeys } = options;
      if (resyncKeys !== undefined) {
        resync(resyncKeys).catch((error: unknown) =>
          log.fatal({ controller: name, err: error }, "resync failed"),
        );
      }
    },
    async drain(deadlineMs) {
      stopping.abort();
      queue.shutDown();
      const timer = new AbortController();
      const finished = Promise.all(workers).then(() => true);
      const inTime = await Promise.race([finished, sleep(deadlineMs, timer.signal).then(() => false)]);
      timer.abort();
      deadline.abort();
      return inTime;
    },
    healthy() {
      const now = performance.now();
      return [...startedAt.values()].every((from) => now - from < stuckAfterMs);
    },
  };
}

/** Errors that every reconcile meets now and then, and that need no attention. */
function isExpected(error: unknown): error is KubeError {
  return error instanceof KubeError && (error.isConflict || error.isNamespaceTerminating);
}

const SLICE_MS = 10;

let sliceEndsAt = 0;
let turn: Promise<void> | undefined;

/**
 * Resolves at once within a slice of 10 ms, otherwise after one turn of the event loop. Workers that never wait would
 * otherwise block it: no Lease is renewed, no change received, no probe served. Slice and turn are those of the
 * process.
 */
function yieldToEventLoop(): Promise<void> {
  if (performance.now() < sliceEndsAt) return Promise.resolve();
  turn ??= new Promise((resolve) => {
    setImmediate(() => {
      turn = undefined;
      sliceEndsAt = performance.now() + SLICE_MS;
      resolve();
    });
  });
  return turn;
}

/** A watch cache that knows whether it has caught up with a resourceVersion. */
export interface WatchedCache {
  hasSeen(resourceVersion: string): boolean;
}

export interface Expectations {
  expect(key: string, store: WatchedCache, resourceVersion: string): void;
  /** True once everything expected under this key was seen, or 10 s after it was last expected. */
  isMet(key: string): boolean;
}

/**
 * A watch that filters by label may never show a write, only a bookmark a minute later; and a reconcile on an older
 * cache is merely repeated. So the wait is limited.
 */
const GIVE_UP_MS = 10_000;

/** Keeps per key which writes its caches have yet to show. */
export function createExpectations(now: () => number = () => performance.now()): Expectations {
  const waiting = new Map<string, { until: number; writes: Map<WatchedCache, string> }>();
  return {
    expect(key, store, resourceVersion) {
      const entry = waiting.get(key) ?? { until: 0, writes: new Map<WatchedCache, string>() };
      entry.until = now() + GIVE_UP_MS;
      entry.writes.set(store, resourceVersion);
      waiting.set(key, entry);
    },
    isMet(key) {
      const entry = waiting.get(key);
      if (entry === undefined) return true;
      const seen = [...entry.writes].every(([store, resourceVersion]) => store.hasSeen(resourceVersion));
      if (!seen && now() < entry.until) return false;
      waiting.delete(key);
      return true;
    },
  };
}
