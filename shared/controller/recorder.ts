import type { KubeClient } from "../kube/client.ts";
import { eventKind } from "../kube/core-kinds.ts";
import { KubeError } from "../kube/errors.ts";
import type { Logger } from "../program/log.ts";
import { fullJitterMs, sleep } from "../program/time.ts";
import {
  identifyEvent,
  type Occurrences,
  type RecordedEvent,
  toEventObject,
  toSeriesPatch,
  writtenEventKind,
} from "./event-object.ts";

export type { EventReference, RecordedEvent } from "./event-object.ts";

export interface RecorderOptions {
  client: Pick<KubeClient, "get" | "create" | "mergePatch">;
  /** A qualified name: "<domain>/<program>". */
  reportingController: string;
  /** At most 128 characters; usually the identity of the process. */
  reportingInstance: string;
  fieldManager: string;
  log: Logger;
  onEvent?: ((result: "written" | "failed" | "dropped") => void) | undefined;
  /** Repeats of one Event within this time after it was written are written together (60 000). */
  aggregateMs?: number | undefined;
}

export interface Recorder {
  /** Best effort: never throws, never waits. A full queue (5000) drops its oldest Event and counts it. */
  record(event: RecordedEvent): void;
  /** Writes everything that is queued, for a drain; gives up at the deadline. */
  flush(deadlineMs: number): Promise<void>;
}

const QUEUE_LIMIT = 5_000;
const WRITERS = 4;
const MAX_ATTEMPTS = 6;

interface Waiting extends Occurrences {
  identity: { namespace: string; name: string };
  dueAt: number;
  attempts: number;
}

/**
 * Writes Events. A repeated event (by dedupe key) is counted in the `series` of the existing one, also across restarts.
 * Writes for which kube-apiserver is unavailable are retried with backoff.
 */
export function createRecorder(options: RecorderOptions): Recorder {
  const { client, fieldManager, log } = options;
  const aggregateMs = options.aggregateMs ?? 60_000;
  const reporting = { controller: options.reportingController, instance: options.reportingInstance };
  const waiting = new Map<string, Waiting>();
  const writtenAt = new Map<string, number>();
  const writers = new Set<Promise<void>>();
  /** Keys being written: a repeat waits, or two writers would race for one Event. */
  const inFlight = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let flushing = false;

  function enqueue(key: string, item: Waiting): void {
    const known = waiting.get(key);
    if (known !== undefined) {
      known.more += item.more;
      known.total = item.total === undefined ? known.total : Math.max(item.total, known.total ?? 0);
      if (item.lastAt > known.lastAt) known.lastAt = item.lastAt;
      if (item.firstAt < known.firstAt) known.firstAt = item.firstAt;
      return;
    }
    waiting.set(key, item);
    if (waiting.size > QUEUE_LIMIT) dropOldest();
    pump();
  }

  function dropOldest(): void {
    const [key, oldest] = waiting.entries().next().value ?? [];
    if (key === undefined) return;
    waiting.delete(key);
    options.onEvent?.("dropped");
    log.warn(
      { event: oldest?.identity, reason: oldest?.event.reason },
      "the queue of Events is full, dropped the oldest",
    );
  }

  function takeDue(): [string, Waiting] | undefined {
    const now = performance.now();
    for (const [key, item] of waiting) {
      if (inFlight.has(key) || (item.dueAt > now && !flushing)) continue;
      waiting.delete(key);
      return [key, item];
    }
    return undefined;
  }

  function pump(): void {
    while (writers.size < WRITERS) {
      const next = takeDue();
      if (next === undefined) break;
      const writer = writeAll(next).finally(() => {
        writers.delete(writer);
        pump();
      });
      writers.add(writer);
    }
    clearTimeout(timer);
    const dueAt = Math.min(...[...waiting.values()].map((item) => item.dueAt));
    if (writers.size > 0 || dueAt === Number.POSITIVE_INFINITY) return;
    timer = setTimeout(pump, Math.max(1, dueAt - performance.now()));
    timer.unref();
  }

  async function writeAll(first: [string, Waiting]): Promise<void> {
    let next: [string, Waiting] | undefined = first;
    while (next !== undefined) {
      const [key, item] = next;
      inFlight.add(key);
      await write(key, item);
      inFlight.delete(key);
      next = takeDue();
    }
  }

  async function write(key: string, item: Waiting): Promise<void> {
    try {
      await store(item, writtenAt.has(key));
      rememberWrite(key);
      options.onEvent?.("written");
    } catch (error) {
      const retryable = error instanceof KubeError && (error.isUnavailable || error.isConflict);
      if (retryable && item.attempts < MAX_ATTEMPTS && !flushing) {
        const attempts = item.attempts + 1;
        enqueue(key, { ...item, attempts, dueAt: performance.now() + fullJitterMs(attempts, 1_000, 60_000) });
        return;
      }
      options.onEvent?.("failed");
      log.warn({ event: item.identity, reason: item.event.reason, err: error }, "an Event was not written");
    }
  }

  async function store(item: Waiting, known: boolean): Promise<void> {
    const { namespace, name } = item.identity;
    const existing = known ? await client.get(eventKind, namespace, name) : await createEvent(item);
    if (existing === "created") return;
    if (existing === undefined) {
      // It had expired (one hour by default).
      await client.create(writtenEventKind, toEventObject(item, item.identity, reporting), { fieldManager });
      return;
    }
    const patch = toSeriesPatch(existing, item);
    if (patch !== undefined)
      await client.mergePatch(writtenEventKind, namespace, name, patch, { fieldManager });
  }

  async function createEvent(item: Waiting) {
    const { namespace, name } = item.identity;
    try {
      await client.create(writtenEventKind, toEventObject(item, item.identity, reporting), { fieldManager });
      return "created" as const;
    } catch (error) {
      if (!(error instanceof KubeError && error.isAlreadyExists)) throw error;
      return client.get(eventKind, namespace, name);
    }
  }

  function rememberWrite(key: string): void {
    const now = performance.now();
    writtenAt.delete(key);
    writtenAt.set(key, now);
    for (const [old, at] of writtenAt) {
      if (now - at < aggregateMs && writtenAt.size <= QUEUE_LIMIT) break;
      writtenAt.delete(old);
    }
  }

  return {
    record(event) {
      const at = event.at ?? new Date();
      const identity = identifyEvent(event, reporting.controller);
      const key = `${identity.namespace}/${identity.name}`;
      const last = writtenAt.get(key);
      const dueAt = last === undefined ? performance.now() : last + aggregateMs;
      enqueue(key, {
        event,
        identity,
        firstAt: at,
        lastAt: event.lastAt ?? at,
        more: 1,
        total: event.count,
        dueAt,
        attempts: 0,
      });
    },
    async flush(deadlineMs) {
      flushing = true;
      const until = performance.now() + deadlineMs;
      pump();
      const timer = new AbortController();
      const deadline = sleep(deadlineMs, timer.signal);
      while (writers.size > 0 && performance.now() < until) await Promise.race([...writers, deadline]);
      timer.abort();
      if (waiting.size > 0) log.warn({ events: waiting.size }, "Events were not written before the deadline");
      flushing = false;
    },
  };
}
