import { setImmediate as turn } from "node:timers/promises";
import type { FeedKey } from "../../events/feed.ts";
import type { ClusterState } from "../../resources/project/index.ts";
import type { Subscriber } from "./broadcaster.ts";
import type { Chunk, ReadResult } from "./event-reader.ts";
import { type EventStream, type FeedRequest, openEventStream } from "./event-stream.ts";
import { encodeMessage } from "./sse.ts";

const ORG_ID = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e12";
export const CLUSTER_ID = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11";
export const STATE = {
  id: CLUSTER_ID,
  orgId: ORG_ID,
  status: "running",
  object: { metadata: {} },
} as ClusterState;
export const CHUNK_SIZE = 5;

/** A table of one cluster's events, a broadcaster that `announce` drives, and a manual clock. */
export function makeStreams(ids: number[], newestId = 0) {
  let nowMs = 0;
  let failures = 0;
  let readState = async (): Promise<ClusterState | undefined> => undefined;
  let onReadRange = (): void => undefined;
  const subscribers = new Set<Subscriber>();
  const calls = { reads: 0, disconnected: 0, closed: 0 };
  const chunkOf = (some: number[]): Chunk | undefined => {
    const [first] = some;
    const last = some.at(-1);
    if (first === undefined || last === undefined) return undefined;
    return { firstId: first, lastId: last, bytes: Buffer.concat(some.map(encodeEvent)) };
  };
  return {
    ids,
    calls,
    subscribers,
    wait: (ms: number) => {
      nowMs += ms;
    },
    /** Streams begin with the state `running`, during whose reading something happens. */
    beginWithState: (meanwhile = (): void => undefined) => {
      readState = () =>
        turn()
          .then(meanwhile)
          .then(() => STATE);
    },
    /** Something happens while it is checked whether a position can be resumed from. */
    whileResuming: (meanwhile: () => void) => {
      onReadRange = meanwhile;
    },
    fail: (times: number) => {
      failures = times;
    },
    /** Writes events and broadcasts them as one chunk. */
    announce(...some: number[]) {
      ids.push(...some);
      const chunk = chunkOf(some);
      if (chunk !== undefined) for (const subscriber of subscribers) subscriber.onEvents(chunk);
    },
    open(request: Partial<FeedRequest> = {}): Promise<EventStream> {
      const streams = {
        now: () => nowMs,
        async readRange() {
          const found = { oldest: ids[0] ?? 0, newest: ids.at(-1) ?? newestId };
          onReadRange();
          return found;
        },
        readState,
        reader: {
          async read(_: FeedKey, after: number): Promise<ReadResult> {
            calls.reads += 1;
            await turn();
            if (failures-- > 0) throw new Error("the database is unavailable");
            const some = ids.filter((id) => id > after).slice(0, CHUNK_SIZE);
            return { chunk: chunkOf(some), isMore: some.length === CHUNK_SIZE };
          },
        },
        broadcaster: {
          async subscribe(_: FeedKey, subscriber: Subscriber) {
            subscribers.add(subscriber);
            await turn();
            return { position: ids.at(-1) ?? 0, unsubscribe: () => void subscribers.delete(subscriber) };
          },
        },
      };
      return openEventStream(streams, {
        orgId: ORG_ID,
        clusterId: CLUSTER_ID,
        lastEventId: undefined,
        expiresAtMs: 1_000_000,
        disconnect: () => void calls.disconnected++,
        onClosed: () => void calls.closed++,
        ...request,
      });
    },
  };
}

function encodeEvent(id: number): Uint8Array {
  return encodeMessage({ event: "status", id, data: "x".repeat(2000) });
}

/** The names (with their ids) of the messages that were read from a stream so far. */
export function listen(stream: EventStream) {
  const names: string[] = [];
  const reader = stream.body.getReader();
  const state = { names, isDone: false, cancel: () => reader.cancel() };
  void (async () => {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      names.push(...namesIn(Buffer.from(value).toString()));
    }
    state.isDone = true;
  })();
  return state;
}

function namesIn(text: string): string[] {
  return text
    .split("\n\n")
    .filter((part) => part !== "")
    .map((message) => {
      const [, event] = /^(?:event: )?(.*)$/m.exec(message) ?? [];
      const [, id] = /^id: (.*)$/m.exec(message) ?? [];
      return id === undefined ? `${event}` : `${event} ${id}`;
    });
}

export const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n);
export const statuses = (from: number, to: number) => range(from, to).map((id) => `status ${id}`);

/** Runs everything that waits only for the event loop. */
export async function flush(): Promise<void> {
  for (let n = 0; n < 100; n++) await turn();
}
