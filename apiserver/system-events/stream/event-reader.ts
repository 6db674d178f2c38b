import type { Database } from "../../db/client.ts";
import { type EventPosition, type FeedEntry, type FeedKey, listNextEvents } from "../../events/feed.ts";
import { presentEvent } from "../present.ts";
import { formatMessage } from "./sse.ts";

/** Events in one chunk; with 1 KiB of message each, what is held for a slow client. */
const CHUNK_SIZE = 50;
/** Limits of one query: positions, events in its result, and how many queries run at a time. */
const BATCH_SIZE = 64;
const MAX_EVENTS = 200;
const CONCURRENCY = 2;

/** Consecutive events of one cluster, serialized once for all their readers. */
export interface Chunk {
  firstId: number;
  lastId: number;
  bytes: Uint8Array;
}

export interface ReadResult {
  /** Undefined: no event follows the position. */
  chunk: Chunk | undefined;
  /** There may be more events than the chunk holds. */
  isMore: boolean;
}

export interface EventReader {
  /** The events of a cluster after the id `after`, as of some moment after the call. Rejects as the query does. */
  read(feed: FeedKey, after: number): Promise<ReadResult>;
}

/** One position to read from, and the result that all its readers wait for. */
interface Request extends EventPosition {
  result: Promise<ReadResult>;
  resolve(result: ReadResult): void;
  reject(error: unknown): void;
}

/**
 * Reads the table for all streams of this process: concurrent requests share one query, and each position is read and
 * serialized once. When much is to be read, the result is cut: requests that it did not
 * reach are put in front of all others, so that memory does not grow with their number.
 */
export function createEventReader(db: Database): EventReader {
  let waiting = new Map<string, Request>();
  let running = 0;
  let isScheduled = false;

  function schedule(): void {
    if (isScheduled || running >= CONCURRENCY || waiting.size === 0) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      void runBatch();
    });
  }

  async function runBatch(): Promise<void> {
    const batch = [...waiting].slice(0, BATCH_SIZE);
    for (const [key] of batch) waiting.delete(key);
    const requests = batch.map(([, request]) => request);
    running += 1;
    schedule();
    try {
      requeue(await serve(db, requests));
    } catch (error) {
      for (const request of requests) request.reject(error);
    }
    running -= 1;
    schedule();
  }

  /** Puts requests in front of all others; a later request for the same position gets the same result. */
  function requeue(requests: readonly Request[]): void {
    if (requests.length === 0) return;
    const next = new Map(requests.map((request) => [keyOf(request), request]));
    for (const [key, request] of waiting) {
      const earlier = next.get(key);
      if (earlier === undefined) next.set(key, request);
      else
        earlier.result.then(
          (result) => request.resolve(result),
          (error) => request.reject(error),
        );
    }
    waiting = next;
  }

  return {
    read({ orgId, clusterId }, after) {
      const key = keyOf({ orgId, clusterId, after });
      const known = waiting.get(key);
      if (known !== undefined) return known.result;
      const { promise: result, resolve, reject } = Promise.withResolvers<ReadResult>();
      waiting.set(key, { orgId, clusterId, after, result, resolve, reject });
      schedule();
      return result;
    },
  };
}

function keyOf({ orgId, clusterId, after }: EventPosition): string {
  return `${orgId} ${clusterId} ${after}`;
}

/** Resolves requests in order as far as one query reaches; returns those that it did not reach. */
async function serve(db: Database, requests: readonly Request[]): Promise<readonly Request[]> {
  const rows = await listNextEvents(db, requests, { perPosition: CHUNK_SIZE, limit: MAX_EVENTS });
  const isCut = rows.length === MAX_EVENTS;
  const last = isCut ? (rows.at(-1)?.n ?? 0) : requests.length - 1;
  requests.slice(0, last + 1).forEach((request, n) => {
    const events = rows.filter((row) => row.n === n).map(({ event }) => event);
    const isMore = events.length === CHUNK_SIZE || (isCut && n === last);
    request.resolve({ chunk: toChunk(events), isMore });
  });
  return requests.slice(last + 1);
}

function toChunk(events: readonly FeedEntry[]): Chunk | undefined {
  const [first] = events;
  const last = events.at(-1);
  if (first === undefined || last === undefined) return undefined;
  const text = events.map((event) => formatMessage({ ...presentEvent(event), id: event.id })).join("");
  return { firstId: first.id, lastId: last.id, bytes: Buffer.from(text) };
}
