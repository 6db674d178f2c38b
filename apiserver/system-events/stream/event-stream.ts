import { setTimeout as sleep } from "node:timers/promises";
import type { EventRange, FeedKey } from "../../events/feed.ts";
import type { ClusterState } from "../../resources/project/index.ts";
import { presentState } from "../present.ts";
import type { Broadcaster } from "./broadcaster.ts";
import type { Chunk, EventReader } from "./event-reader.ts";
import { encodeMessage, encodeStart, HEARTBEAT } from "./sse.ts";

const HEARTBEAT_MS = 15_000;
const WRITE_DEADLINE_MS = 30_000;
const RETRY_MS = 1_000;

export interface StreamDeps {
  broadcaster: Broadcaster;
  reader: EventReader;
  /** The oldest and the newest id of the events of a cluster. */
  readRange(clusterId: string): Promise<EventRange>;
  /** The present state of a cluster; undefined when it is deleted. */
  readState(feed: FeedKey): Promise<ClusterState | undefined>;
  now(): number;
}

export interface FeedRequest extends FeedKey {
  /** Id of the event after which to resume; undefined starts with the next event. */
  lastEventId: number | undefined;
  /** When the credential expires. */
  expiresAtMs: number;
  /** Closes the connection of a client that reads nothing. */
  disconnect(): void;
  onClosed(): void;
}

export type ByeReason = "token_expired" | "access_withdrawn" | "shutting_down";

export interface EventStream {
  body: ReadableStream<Uint8Array>;
  /** Sends what is due by time: a comment after 15 s of silence, `bye` when the credential expires. */
  tick(): void;
  /** Ends the stream with `bye`: the client should reconnect, elsewhere or with another credential. */
  sendBye(reason: ByeReason): void;
}

/**
 * One client's stream: the present state, the events it missed, then new events, and at the end `deleted` (the cluster
 * is deleted) or `bye`. A client that is slower than the events is served from the table at its own pace; one that
 * reads nothing for 30 s is disconnected. While the database is unavailable the stream waits. Rejects when it cannot
 * start.
 */
export async function openEventStream(deps: StreamDeps, request: FeedRequest): Promise<EventStream> {
  const { orgId, clusterId, lastEventId } = request;
  const feed = { orgId, clusterId };
  let position = lastEventId ?? 0;
  /** The newest event that was broadcast and not sent. */
  let newestSkipped = 0;
  /** Broadcast events are sent directly. */
  let isLive = false;
  // Nothing is read before the start position is known.
  let isReading = true;
  let isResumed = lastEventId === undefined;
  let isDeleted = false;
  let isEnded = false;
  // Spread over time, when many streams opened at once.
  let heartbeatMs = deps.now() + HEARTBEAT_MS * (0.5 + Math.random() / 2);

  const subscriber = {
    onEvents(chunk: Chunk) {
      // A position that is not checked yet may be beyond the newest event.
      if (isResumed && chunk.lastId <= position) return;
      if (isLive && chunk.firstId > position && body.hasCapacity()) return sendChunk(chunk);
      isLive = false;
      newestSkipped = chunk.lastId;
      void catchUp();
    },
    onDeleted() {
      isDeleted = true;
      if (isLive) sendDeleted();
    },
  };
  const body = createBoundedBody(() => deps.now(), {
    onDrained: () => void catchUp(),
    onClosed() {
      isEnded = true;
      subscription.unsubscribe();
      request.onClosed();
    },
  });
  const subscription = await deps.broadcaster.subscribe(feed, subscriber);
  const state = await deps.readState(feed).catch((error: unknown) => {
    subscription.unsubscribe();
    throw error;
  });
  isReading = false;
  if (lastEventId === undefined) position = subscription.position;
  // Events that came while the state was read are in it, and are sent all the same.
  isLive = lastEventId === undefined && newestSkipped <= position;
  body.write(encodeStart(lastEventId === undefined ? position : undefined));
  if (state !== undefined) {
    const at = new Date(deps.now());
    body.write(encodeMessage(presentState(state, { id: subscription.position, at })));
  }
  if (isLive && isDeleted) sendDeleted();
  void catchUp();

  function sendChunk(chunk: Chunk): void {
    position = chunk.lastId;
    send(chunk.bytes);
  }

  function send(bytes: Uint8Array): void {
    heartbeatMs = deps.now() + HEARTBEAT_MS;
    body.write(bytes);
  }

  function end(bytes: Uint8Array): void {
    isEnded = true;
    body.end(bytes);
  }

  function sendDeleted(): void {
    end(encodeMessage({ event: "deleted", data: { cluster_id: clusterId } }));
  }

  function sendBye(reason: ByeReason): void {
    end(encodeMessage({ event: "bye", data: { reason } }));
  }

  async function catchUp(): Promise<void> {
    if (isLive || isReading) return;
    isReading = true;
    while (!isLive && body.hasCapacity() && !isEnded) {
      try {
        await readNext();
      } catch {
        // The broadcaster logs it; every waiting client would only log it again.
        await sleep(RETRY_MS, undefined, { ref: false });
      }
    }
    isReading = false;
    if (isLive && isDeleted) sendDeleted();
  }

  async function readNext(): Promise<void> {
    const skippedBefore = newestSkipped;
    const { chunk, isMore } = await deps.reader.read(feed, position);
    if (!isResumed) await resume();
    if (isEnded) return;
    if (chunk !== undefined && chunk.firstId > position) sendChunk(chunk);
    // What was broadcast since the read began is in the table only.
    isLive = chunk === undefined ? newestSkipped === skippedBefore : !isMore && newestSkipped <= position;
  }

  /** An id older than the history, or newer than the newest, cannot be resumed from: the client gets a `gap`. */
  async function resume(): Promise<void> {
    // Read after the events, so that events purged before that read are noticed.
    const { oldest, newest } = await deps.readRange(clusterId);
    isResumed = true;
    const firstKept = oldest === 0 ? newest + 1 : oldest;
    if (isEnded || (position >= firstKept - 1 && position <= newest)) return;
    send(encodeMessage({ event: "gap", data: { oldest_id: oldest, newest_id: newest } }));
    position = Math.min(position, newest);
  }

  return {
    body: body.stream,
    tick() {
      const nowMs = deps.now();
      const blockedMs = body.blockedSinceMs();
      if (blockedMs !== undefined && nowMs - blockedMs >= WRITE_DEADLINE_MS) {
        request.disconnect();
        body.close();
      } else if (nowMs >= request.expiresAtMs) sendBye("token_expired");
      else if (nowMs >= heartbeatMs) send(HEARTBEAT);
    },
    sendBye,
  };
}

/** How much is buffered for a slow client before one last chunk; later events are read from the table again. */
const BUFFER_BYTES = 65_536;

interface BodyEvents {
  /** The client has read what was buffered. */
  onDrained(): void;
  /** The body has ended, or the client disconnected. */
  onClosed(): void;
}

/** The body of one streaming response. */
interface BoundedBody {
  stream: ReadableStream<Uint8Array>;
  /** Whether more may be written now. */
  hasCapacity(): boolean;
  write(bytes: Uint8Array): void;
  /** Writes the last bytes; the body ends after them. */
  end(bytes: Uint8Array): void;
  /** When the client last took bytes without asking for more since; undefined while it waits for more. */
  blockedSinceMs(): number | undefined;
  /** Ends the body at once and drops what is buffered. */
  close(): void;
}

/**
 * A response body with a bounded buffer. Bytes are handed over when the client pulls: between two pulls it is still
 * sending, which never ends for a client that does not read.
 */
function createBoundedBody(now: () => number, events: BodyEvents): BoundedBody {
  let buffer: Uint8Array[] = [];
  let bufferedBytes = 0;
  let isPulled = false;
  let isEnding = false;
  let isClosed = false;
  let handedOverMs: number | undefined = now();
  let controller: ReadableStreamDefaultController<Uint8Array>;

  function finish(): void {
    if (isClosed) return;
    isClosed = true;
    buffer = [];
    events.onClosed();
  }

  function handOver(bytes: Uint8Array): void {
    isPulled = false;
    handedOverMs = now();
    controller.enqueue(bytes);
    if (!isEnding) return;
    controller.close();
    finish();
  }

  const stream = new ReadableStream<Uint8Array>(
    {
      start(created) {
        controller = created;
      },
      pull() {
        if (isClosed) return;
        if (buffer.length > 0) {
          const bytes = Buffer.concat(buffer);
          buffer = [];
          bufferedBytes = 0;
          handOver(bytes);
        } else {
          isPulled = true;
          handedOverMs = undefined;
        }
        if (!isClosed) events.onDrained();
      },
      cancel: finish,
    },
    // Nothing beyond what the reader pulls.
    new CountQueuingStrategy({ highWaterMark: 0 }),
  );

  function write(bytes: Uint8Array): void {
    if (isClosed) return;
    if (isPulled) {
      handOver(bytes);
      return;
    }
    buffer.push(bytes);
    bufferedBytes += bytes.byteLength;
  }

  return {
    stream,
    hasCapacity: () => !isEnding && !isClosed && bufferedBytes < BUFFER_BYTES,
    write(bytes) {
      if (!isEnding) write(bytes);
    },
    end(bytes) {
      if (isEnding) return;
      isEnding = true;
      write(bytes);
    },
    blockedSinceMs: () => handedOverMs,
    close() {
      if (isClosed) return;
      controller.close();
      finish();
    },
  };
}
