import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../../shared/program/errors.ts";
import type { Logger } from "../../shared/program/log.ts";
import { describeDatabaseError } from "../db/errors.ts";

export interface LoopOptions {
  log: Logger;
  signal: AbortSignal;
  /** What a failure is logged as, and with which fields; the work is done again after `retryMs`. */
  failure: string;
  fields?: object;
  retryMs: number;
  /** Ends the pause. */
  wakeup?: Wakeup;
  /** The least time between the beginnings of two rounds, so that one takes what has gathered. Default 0. */
  minIntervalMs?: number;
}

/** Does the work again and again until the signal aborts, each time after the milliseconds that it resolved to. */
export async function runLoop(options: LoopOptions, work: () => Promise<number>): Promise<void> {
  const { signal, wakeup } = options;
  while (!signal.aborted) {
    const startedMs = performance.now();
    const woken = wakeup?.next();
    let waitMs = options.retryMs;
    try {
      waitMs = await work();
    } catch (error) {
      options.log.warn({ ...options.fields, message: describeFailure(error) }, options.failure);
    }
    const waiting = pause(waitMs, signal);
    await (woken === undefined ? waiting : Promise.race([woken, waiting]));
    await pause((options.minIntervalMs ?? 0) - (performance.now() - startedMs), signal);
  }
}

/** Repeats a batch until one takes fewer rows than `size`, or the signal aborts; returns how many all of them took. */
export async function repeatBatches(
  size: number,
  signal: AbortSignal | undefined,
  takeBatch: () => Promise<number>,
): Promise<number> {
  let total = 0;
  for (let taken = size; taken >= size && signal?.aborted !== true; total += taken) taken = await takeBatch();
  return total;
}

/** What the log holds of a failure; of one of the database neither SQL nor parameters. */
export function describeFailure(error: unknown): string {
  return describeDatabaseError(error)?.message ?? messageOf(error);
}

/** Wakes a loop that waits. */
export interface Wakeup {
  wake: () => void;
  /** Resolves at the next `wake`, or when the signal aborts. */
  next: () => Promise<void>;
}

/** A wake-up of one loop; a `wake` while none waits is lost, so the loop asks for `next` before it looks for work. */
export function createWakeup(signal: AbortSignal): Wakeup {
  let resolveNext = () => {};
  signal.addEventListener("abort", () => resolveNext(), { once: true });
  return {
    wake: () => resolveNext(),
    next: () =>
      new Promise((resolve) => {
        resolveNext = resolve;
      }),
  };
}

/** Waits, at most until the signal aborts. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0) return;
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}
