import { splitKey } from "../kube/object.ts";
import { createFairQueue, type FairQueue } from "../program/limits.ts";

/** A change: goes first. */
export const PRIORITY_CHANGE = 0;
/** Initial list, resync, and changes that concern many keys: goes after everything else. */
export const PRIORITY_BACKGROUND = -100;

const BACKOFF_BASE_MS = 5;
const BACKOFF_CAP_MS = 1_000_000;
/** The longest delay that setTimeout accepts; waking early is harmless. */
const MAX_DELAY_MS = 2 ** 31 - 1;

export interface AddOptions {
  /** Default PRIORITY_CHANGE. */
  priority?: number | undefined;
  afterMs?: number | undefined;
}

export interface QueueMetrics {
  /** Keys that wait for a worker; delayed ones do not count. */
  onDepth(depth: number): void;
  /** Time from being ready to being taken. */
  onWait(seconds: number): void;
}

export interface QueueItem {
  key: string;
  priority: number;
}

/**
 * Keys to work on. A key waits at most once and runs at most once at a time; added while it runs, it runs once more
 * afterwards. Added again while it waits, the shorter delay and the higher priority count. Round robin over namespaces
 * within a priority, and first in, first out within a namespace; otherwise as controller-runtime's priority queue.
 */
export interface Queue {
  add(key: string, options?: AddOptions): void;
  /** The next key, as soon as there is one; undefined after `shutDown`. Each key taken must be given to `done`. */
  take(): Promise<QueueItem | undefined>;
  done(key: string): void;
  /** Adds the key after its backoff: 5 ms doubling to 1000 s, between half and whole. Returns the delay in ms. */
  retry(key: string, priority?: number): number;
  /** Ends the key's backoff. */
  forget(key: string): void;
  /** Hands out no more keys; running ones are not affected. */
  shutDown(): void;
  readonly depth: number;
  readonly running: number;
}

export interface QueueOptions {
  metrics?: QueueMetrics | undefined;
  random?: (() => number) | undefined;
  /** At most this many keys of a namespace run at a time (default: no limit). */
  maxPerNamespace?: number | undefined;
}

interface Delayed {
  dueAt: number;
  priority: number;
  timer: NodeJS.Timeout;
}

export function createQueue(options: QueueOptions = {}): Queue {
  const random = options.random ?? Math.random;
  const maxPerNamespace = options.maxPerNamespace ?? Number.POSITIVE_INFINITY;
  /** How many keys of each namespace run. */
  const runningIn = new Map<string, number>();
  const isBusy = (namespace: string) => (runningIn.get(namespace) ?? 0) >= maxPerNamespace;
  /** Waiting keys by priority, each with the time it became ready. A namespace is an organization. */
  const ready = new Map<number, FairQueue<string, number>>();
  const priorityOf = new Map<string, number>();
  const delayed = new Map<string, Delayed>();
  const running = new Set<string>();
  /** Keys added while they run, with their priority. */
  const dirty = new Map<string, number>();
  const failures = new Map<string, number>();
  const takers: ((item: QueueItem | undefined) => void)[] = [];
  let closed = false;

  function makeReady(key: string, wanted: number): void {
    const later = delayed.get(key);
    clearTimeout(later?.timer);
    delayed.delete(key);
    const priority = Math.max(wanted, later?.priority ?? wanted);
    if (running.has(key)) {
      dirty.set(key, Math.max(priority, dirty.get(key) ?? priority));
      return;
    }
    const waiting = priorityOf.get(key);
    if (waiting !== undefined && waiting >= priority) return;
    const waitedFrom = waiting === undefined ? undefined : ready.get(waiting)?.remove(namespaceOf(key), key);
    const queue = ready.get(priority) ?? createFairQueue();
    queue.add(namespaceOf(key), key, waitedFrom ?? performance.now());
    ready.set(priority, queue);
    priorityOf.set(key, priority);
    options.metrics?.onDepth(priorityOf.size);
    handOut();
  }

  function handOut(): void {
    while (takers.length > 0) {
      const item = pop();
      if (item === undefined) return;
      takers.shift()?.(item);
    }
  }

  function countRunning(key: string, change: number): void {
    const namespace = namespaceOf(key);
    const count = (runningIn.get(namespace) ?? 0) + change;
    if (count > 0) runningIn.set(namespace, count);
    else runningIn.delete(namespace);
  }

  function pop(): QueueItem | undefined {
    for (const priority of [...ready.keys()].sort((left, right) => right - left)) {
      const first = ready.get(priority)?.next((namespace) => !isBusy(namespace));
      if (first === undefined) continue;
      const { key, value: readyAt } = first;
      priorityOf.delete(key);
      running.add(key);
      countRunning(key, 1);
      options.metrics?.onDepth(priorityOf.size);
      options.metrics?.onWait((performance.now() - readyAt) / 1000);
      return { key, priority };
    }
    return undefined;
  }

  function delay(key: string, priority: number, afterMs: number): void {
    if (priorityOf.has(key)) {
      makeReady(key, priority);
      return;
    }
    const dueAt = performance.now() + afterMs;
    const waiting = delayed.get(key);
    const highest = Math.max(priority, waiting?.priority ?? priority);
    if (waiting !== undefined && waiting.dueAt <= dueAt) {
      waiting.priority = highest;
      return;
    }
    clearTimeout(waiting?.timer);
    const timer = setTimeout(() => makeReady(key, highest), Math.min(afterMs, MAX_DELAY_MS));
    delayed.set(key, { dueAt, priority: highest, timer });
  }

  function add(key: string, { priority = PRIORITY_CHANGE, afterMs = 0 }: AddOptions = {}): void {
    if (closed) return;
    if (afterMs > 0) delay(key, priority, afterMs);
    else makeReady(key, priority);
  }

  return {
    add,
    take() {
      if (closed) return Promise.resolve(undefined);
      const item = pop();
      return item === undefined ? new Promise((resolve) => takers.push(resolve)) : Promise.resolve(item);
    },
    done(key) {
      if (!running.delete(key)) return;
      countRunning(key, -1);
      const priority = dirty.get(key);
      dirty.delete(key);
      if (closed) return;
      if (priority !== undefined) makeReady(key, priority);
      handOut();
    },
    retry(key, priority = PRIORITY_CHANGE) {
      const failed = failures.get(key) ?? 0;
      failures.set(key, failed + 1);
      const whole = Math.min(BACKOFF_CAP_MS, BACKOFF_BASE_MS * 2 ** Math.min(failed, 30));
      const afterMs = whole * (0.5 + random() / 2);
      add(key, { priority, afterMs });
      return afterMs;
    },
    forget(key) {
      failures.delete(key);
    },
    shutDown() {
      closed = true;
      for (const { timer } of delayed.values()) clearTimeout(timer);
      delayed.clear();
      for (const taker of takers.splice(0)) taker(undefined);
    },
    get depth() {
      return priorityOf.size;
    },
    get running() {
      return running.size;
    },
  };
}

function namespaceOf(key: string): string {
  return splitKey(key).namespace ?? "";
}
