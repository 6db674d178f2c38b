import { and, asc, eq, gt, sql } from "drizzle-orm";
import type { Database } from "../db/client.ts";
import { presentEvent } from "./present-event.ts";
import { formatMessage } from "./sse.ts";
import type { EventRow } from "./store.ts";
import { systemEvents } from "./table.ts";

/** Events in one piece; with 1 KiB of message each, what a slow client makes us hold. */
const PIECE_SIZE = 50;
/** Clusters in one query, events in its answer, and queries at a time. */
const BATCH_SIZE = 64;
const MAX_EVENTS = 200;
const CONCURRENCY = 2;

/** A piece of one cluster's stream, serialized once for everybody who gets it. */
export interface Piece {
  firstId: number;
  lastId: number;
  bytes: Uint8Array;
}

export interface Reading {
  /** Undefined: nothing follows the position. */
  piece: Piece | undefined;
  /** There may be more than the piece holds. */
  isMore: boolean;
}

export interface Reader {
  /** What follows `after` in a cluster's stream, as it is at some moment after the call. Rejects as the query does. */
  read(clusterId: string, after: number): Promise<Reading>;
}

/** One place of the table to read from, and everybody who waits for it. */
interface Request {
  clusterId: string;
  after: number;
  reading: Promise<Reading>;
  resolve(reading: Reading): void;
  reject(error: unknown): void;
}

/** The next events of each of these streams, numbered as asked for. */
function readPieces(db: Database, places: readonly { clusterId: string; after: number }[]) {
  const piece = db
    .select()
    .from(systemEvents)
    .where(and(eq(systemEvents.clusterId, sql`r.cluster_id`), gt(systemEvents.id, sql`r.after`)))
    .orderBy(asc(systemEvents.id))
    .limit(PIECE_SIZE)
    .as("piece");
  const requests = JSON.stringify(
    places.map(({ clusterId, after }, n) => ({ n, cluster_id: clusterId, after })),
  );
  return db
    .select({
      n: sql<number>`r.n`,
      event: {
        id: piece.id,
        clusterId: piece.clusterId,
        nodePoolId: piece.nodePoolId,
        kind: piece.kind,
        payload: piece.payload,
      },
    })
    .from(sql`json_to_recordset(${requests}::text::json) as r(n int, cluster_id uuid, after bigint)`)
    .crossJoinLateral(piece)
    .orderBy(sql`r.n`, piece.id)
    .limit(MAX_EVENTS);
}

/**
 * Reads the table for all streams of this process: what is asked for at the same time goes into one query, and the
 * same place is read and serialized once, however many wait for it. When many have much to read, an answer is cut off:
 * what it did not come to is asked for again, before all others, so that memory does not grow with their number.
 */
export function createReader(db: Database): Reader {
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
      postpone(await answer(db, requests));
    } catch (error) {
      for (const request of requests) request.reject(error);
    }
    running -= 1;
    schedule();
  }

  /** Puts requests before all others; who has asked for the same place meanwhile gets the same answer. */
  function postpone(requests: readonly Request[]): void {
    if (requests.length === 0) return;
    const next = new Map(requests.map((request) => [keyOf(request), request]));
    for (const [key, request] of waiting) {
      const earlier = next.get(key);
      if (earlier === undefined) next.set(key, request);
      else
        earlier.reading.then(
          (reading) => request.resolve(reading),
          (error) => request.reject(error),
        );
    }
    waiting = next;
  }

  return {
    read(clusterId, after) {
      const key = keyOf({ clusterId, after });
      const known = waiting.get(key);
      if (known !== undefined) return known.reading;
      const { promise: reading, resolve, reject } = Promise.withResolvers<Reading>();
      waiting.set(key, { clusterId, after, reading, resolve, reject });
      schedule();
      return reading;
    },
  };
}

function keyOf({ clusterId, after }: Pick<Request, "clusterId" | "after">): string {
  return `${clusterId} ${after}`;
}

/** Answers requests in their order as far as one query goes; returns those that it did not come to. */
async function answer(db: Database, requests: readonly Request[]): Promise<readonly Request[]> {
  const rows = await readPieces(db, requests);
  const isCut = rows.length === MAX_EVENTS;
  const last = isCut ? (rows.at(-1)?.n ?? 0) : requests.length - 1;
  const found = requests.map((): ReadEvent[] => []);
  for (const { n, event } of rows) found[n]?.push(event);
  requests.slice(0, last + 1).forEach((request, n) => {
    const events = found[n] ?? [];
    const isMore = events.length === PIECE_SIZE || (isCut && n === last);
    request.resolve({ piece: toPiece(events), isMore });
  });
  return requests.slice(last + 1);
}

type ReadEvent = Pick<EventRow, "id" | "clusterId" | "nodePoolId" | "kind" | "payload">;

function toPiece(events: readonly ReadEvent[]): Piece | undefined {
  const [first] = events;
  const last = events.at(-1);
  if (first === undefined || last === undefined) return undefined;
  const text = events.map((event) => formatMessage({ ...presentEvent(event), id: event.id })).join("");
  return { firstId: first.id, lastId: last.id, bytes: Buffer.from(text) };
}
