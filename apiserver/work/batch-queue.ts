import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "../../shared/program/log.ts";
import { describeFailure } from "./loop.ts";

const RETRY_MS = 2_000;
/** After so many failures, half a minute by default, an item holds up nothing else. */
const MAX_AWAITED_FAILURES = 15;

export interface BatchQueueOptions<Work> {
  name: string;
  batchSize: number;
  /** How long work is gathered before a batch of it runs. Default 0. */
  gatherMs?: number;
  /** After how long failed work is retried. Default 2 s. */
  retryMs?: number;
  /** Work with the key of waiting work replaces it. */
  keyOf(work: Work): string;
  /** Must tolerate the same work twice. */
  run(batch: readonly Work[]): Promise<void>;
  log: Logger;
  signal: AbortSignal;
}

export interface BatchQueue<Work> {
  add(work: Work): void;
  /**
   * Resolves when nothing is waiting or running, or the queue has stopped. Work that has failed 15 times is not
   * waited for: one object that can never be written must not hold up all others.
   */
  idle(): Promise<void>;
  /** How much work has failed 15 times; it is retried without end. */
  failing(): number;
  /** Resolves when the signal has aborted and the running batch has ended. */
  stopped: Promise<void>;
}

/**
 * Runs work in batches, one after the other, in the order in which its keys were first added. When a batch fails, each
 * item runs alone; an item that fails alone is retried after 2 s, unless newer work has replaced it.
 */
export function createBatchQueue<Work>(options: BatchQueueOptions<Work>): BatchQueue<Work> {
  const waiting = new Map<string, Work>();
  let retrying = 0;
  /** How often the work of a key has failed, one after the other. */
  const failures = new Map<string, number>();
  let running = false;
  let wake = () => {};
  const idleWaiters = new Set<() => void>();

  function resolveIdle(): void {
    if (!options.signal.aborted && (waiting.size > 0 || running || retrying > 0)) return;
    for (const resolve of idleWaiters) resolve();
    idleWaiters.clear();
  }

  function add(work: Work): void {
    waiting.set(options.keyOf(work), work);
    wake();
  }

  function addLater(work: Work): void {
    const key = options.keyOf(work);
    const count = (failures.get(key) ?? 0) + 1;
    failures.set(key, count);
    const awaited = count < MAX_AWAITED_FAILURES ? 1 : 0;
    retrying += awaited;
    void sleep(options.retryMs ?? RETRY_MS, undefined, { signal: options.signal })
      .then(
        () => {
          if (!waiting.has(key)) add(work);
        },
        () => undefined,
      )
      .finally(() => {
        retrying -= awaited;
        resolveIdle();
      });
  }

  async function runBatch(batch: readonly Work[]): Promise<void> {
    try {
      await options.run(batch);
      for (const work of batch) failures.delete(options.keyOf(work));
    } catch (error) {
      if (batch.length > 1) {
        for (const work of batch) await runBatch([work]);
        return;
      }
      const keys = batch.map((item) => options.keyOf(item));
      const fields = { queue: options.name, work: keys, message: describeFailure(error) };
      options.log.warn(fields, "work failed; retried shortly");
      for (const work of batch) addLater(work);
    }
  }

  function waitForWork(): Promise<void> {
    resolveIdle();
    return new Promise((resolve) => {
      wake = resolve;
      if (waiting.size > 0 || options.signal.aborted) resolve();
    });
  }

  async function loop(): Promise<void> {
    while (!options.signal.aborted) {
      if (waiting.size === 0) {
        await waitForWork();
        continue;
      }
      if (options.gatherMs !== undefined && waiting.size < options.batchSize) await sleep(options.gatherMs);
      const batch = [...waiting].slice(0, options.batchSize);
      for (const [key] of batch) waiting.delete(key);
      running = true;
      await runBatch(batch.map(([, work]) => work));
      running = false;
    }
    resolveIdle();
  }

  options.signal.addEventListener("abort", () => wake(), { once: true });
  return {
    add,
    idle: () =>
      new Promise((resolve) => {
        idleWaiters.add(resolve);
        resolveIdle();
      }),
    failing: () => [...failures.values()].filter((count) => count >= MAX_AWAITED_FAILURES).length,
    stopped: loop(),
  };
}
