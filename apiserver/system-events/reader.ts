import { and, asc, eq, gt, sql } from "drizzle-orm";
import { type Database, prepareOnce } from "../db/client.ts";
import { presentEvent } from "./present-event.ts";
import { formatMessage } from "./sse.ts";
import type { EventRow } from "./store.ts";
import { systemEvents } from "./table.ts";

/** Events in one piece; with 1 KiB of message each, what a slow client makes us hold. */
const PIECE_SIZE = 50;
/** Clusters in one query, and queries at a time. */
const BATCH_SIZE = 64;
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

const readPieces = prepareOnce((db) => {
  const piece = db
    .select()
    .from(systemEvents)
    .where(and(eq(systemEvents.clusterId, sql`r.cluster_id`), gt(systemEvents.id, sql`r.after`)))
    .orderBy(asc(systemEvents.id))
    .limit(PIECE_SIZE)
    .as("piece");
  const requests = sql`json_to_recordset(${sql.placeholder("requests")}::text::json)
    as r(n int, cluster_id uuid, after bigint)`;
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
    .from(requests)
    .crossJoinLateral(piece)
    .orderBy(sql`r.n`, piece.id)
    .prepare("read_event_pieces");
});

/**
 * Reads the table for all streams of this process: what is asked for at the same time goes into one query, and the
 * same place is read and serialized once, however many wait for it.
 */
export function createReader(db: Database): Reader {
  const waiting = new Map<string, Request>();
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
      await answer(db, requests);
    } catch (error) {
      for (const request of requests) request.reject(error);
    }
    running -= 1;
    schedule();
  }

  return {
    read(clusterId, after) {
      const key = `${clusterId} ${after}`;
      const known = waiting.get(key);
      if (known !== undefined) return known.reading;
      const { promise: reading, resolve, reject } = Promise.withResolvers<Reading>();
      waiting.set(key, { clusterId, after, reading, resolve, reject });
      schedule();
      return reading;
    },
  };
}

async function answer(db: Database, requests: readonly Request[]): Promise<void> {
  const places = requests.map(({ clusterId, after }, n) => ({ n, cluster_id: clusterId, after }));
  const rows = await readPieces(db).execute({ requests: JSON.stringify(places) });
  const found = requests.map((): ReadEvent[] => []);
  for (const { n, event } of rows) found[n]?.push(event);
  requests.forEach((request, n) => {
    const events = found[n] ?? [];
    request.resolve({ piece: toPiece(events), isMore: events.length === PIECE_SIZE });
  });
}

type ReadEvent = Pick<EventRow, "id" | "clusterId" | "nodePoolId" | "kind" | "payload">;

function toPiece(events: readonly ReadEvent[]): Piece | undefined {
  const [first] = events;
  const last = events.at(-1);
  if (first === undefined || last === undefined) return undefined;
  const text = events.map((event) => formatMessage({ ...presentEvent(event), id: event.id })).join("");
  return { firstId: first.id, lastId: last.id, bytes: Buffer.from(text) };
}
