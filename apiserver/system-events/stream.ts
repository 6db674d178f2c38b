import { setTimeout as sleep } from "node:timers/promises";
import type { Feed } from "./feed.ts";
import { createOutlet } from "./outlet.ts";
import type { Piece, Reader } from "./reader.ts";
import { encodeMessage, HEARTBEAT, RETRY } from "./sse.ts";

const HEARTBEAT_MS = 15_000;
const WRITE_DEADLINE_MS = 30_000;
const RETRY_MS = 1_000;

/** What a stream asks of the world around it. */
export interface StreamWorld {
  feed: Feed;
  reader: Reader;
  /** The oldest and newest position of all streams. */
  readRange(): Promise<{ oldest: number; newest: number }>;
  now(): number;
}

export interface StreamWish {
  clusterId: string;
  /** The position to go on from; undefined begins with what comes next. */
  lastEventId: number | undefined;
  /** When the credential ends. */
  expiresAtMs: number;
  /** Closes the connection of a client that takes nothing. */
  cutOff(): void;
  onClosed(): void;
}

export type ByeReason = "token_expired" | "access_withdrawn" | "shutting_down";

export interface EventStream {
  body: ReadableStream<Uint8Array>;
  /** Says what time alone demands: a comment after 15 s of silence, `bye` when the credential ends. */
  tick(): void;
  /** Come again, elsewhere or with another credential. */
  sayBye(reason: ByeReason): void;
}

/**
 * One client's stream: what it missed, then what happens, and at the end `deleted` (the cluster is gone) or `bye`.
 * A client that is slower than the events is fed from the table at its own pace; one that takes nothing for 30 s is
 * cut off. While the database is away the stream waits. Rejects when it cannot begin.
 */
export async function openEventStream(world: StreamWorld, wish: StreamWish): Promise<EventStream> {
  const { clusterId, lastEventId } = wish;
  let position = lastEventId ?? 0;
  /** The newest event that was heard of and not passed on. */
  let heard = 0;
  /** Pieces of the feed go straight to the client. */
  let isLive = false;
  // Nothing is read before it is known where the stream begins.
  let isReading = true;
  let isGone = false;
  let isEnded = false;
  // Not all at once, when many have come at once.
  let beatMs = world.now() + HEARTBEAT_MS * (0.5 + Math.random() / 2);

  const listener = {
    hear(piece: Piece) {
      if (piece.lastId <= position) return;
      if (isLive && piece.firstId > position && outlet.hasRoom()) return pass(piece);
      isLive = false;
      heard = piece.lastId;
      void catchUp();
    },
    lose() {
      isGone = true;
      if (isLive) sayDeleted();
    },
  };
  const outlet = createOutlet(() => world.now(), {
    onTaken: () => void catchUp(),
    onClosed() {
      isEnded = true;
      seat.leave();
      wish.onClosed();
    },
  });
  const seat = await world.feed.join(clusterId, listener);
  outlet.put(RETRY);
  isReading = false;
  isLive = lastEventId === undefined;
  if (isLive) position = seat.position;
  if (isLive && isGone) sayDeleted();
  void catchUp();

  function pass(piece: Piece): void {
    position = piece.lastId;
    say(piece.bytes);
  }

  function say(bytes: Uint8Array): void {
    beatMs = world.now() + HEARTBEAT_MS;
    outlet.put(bytes);
  }

  function finish(bytes: Uint8Array): void {
    isEnded = true;
    outlet.end(bytes);
  }

  function sayDeleted(): void {
    finish(encodeMessage({ event: "deleted", data: { cluster_id: clusterId } }));
  }

  async function catchUp(): Promise<void> {
    if (isLive || isReading) return;
    isReading = true;
    while (!isLive && outlet.hasRoom() && !isEnded) {
      try {
        await readOn();
      } catch {
        // The feed logs it; a replay of every client that waits would only say it again.
        await sleep(RETRY_MS, undefined, { ref: false });
      }
    }
    isReading = false;
    if (isLive && isGone) sayDeleted();
  }

  let isResumed = lastEventId === undefined;
  async function readOn(): Promise<void> {
    const { piece, isMore } = await world.reader.read(clusterId, position);
    if (!isResumed) await resume();
    if (isEnded) return;
    if (piece !== undefined && piece.firstId > position) pass(piece);
    isLive = piece === undefined || (!isMore && heard <= position);
  }

  /** An id that is older than what is kept, or newer than all there is, cannot be resumed from: the client is told. */
  async function resume(): Promise<void> {
    // Read after the events: whatever was purged before they were read is noticed.
    const { oldest, newest } = await world.readRange();
    isResumed = true;
    if (isEnded || (position >= oldest - 1 && position <= newest)) return;
    say(encodeMessage({ event: "gap", data: { oldest_id: oldest, newest_id: newest } }));
    position = Math.min(position, newest);
  }

  function sayBye(reason: ByeReason): void {
    finish(encodeMessage({ event: "bye", data: { reason } }));
  }

  return {
    body: outlet.body,
    tick() {
      const nowMs = world.now();
      const stuckMs = outlet.stuckSinceMs();
      if (stuckMs !== undefined && nowMs - stuckMs >= WRITE_DEADLINE_MS) {
        wish.cutOff();
        outlet.close();
      } else if (nowMs >= wish.expiresAtMs) sayBye("token_expired");
      else if (nowMs >= beatMs) say(HEARTBEAT);
    },
    sayBye,
  };
}
