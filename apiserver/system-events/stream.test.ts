import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { Listener } from "./feed.ts";
import type { Piece, Reading } from "./reader.ts";
import { encodeMessage } from "./sse.ts";
import { type EventStream, openEventStream, type StreamWish } from "./stream.ts";

const CLUSTER_ID = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11";
const PIECE_SIZE = 5;

/** A table of one cluster's events, a feed that is told of them by `announce`, and a clock that is set by hand. */
function makeWorld(ids: number[]) {
  let nowMs = 0;
  let failures = 0;
  const listeners = new Set<Listener>();
  const calls = { reads: 0, cutOff: 0, closed: 0 };
  const pieceOf = (some: number[]): Piece | undefined => {
    const [first] = some;
    const last = some.at(-1);
    if (first === undefined || last === undefined) return undefined;
    return { firstId: first, lastId: last, bytes: Buffer.concat(some.map(encodeEvent)) };
  };
  return {
    ids,
    calls,
    listeners,
    wait: (ms: number) => {
      nowMs += ms;
    },
    fail: (times: number) => {
      failures = times;
    },
    /** Writes events and tells the feed's listeners of them, as one piece. */
    announce(...some: number[]) {
      ids.push(...some);
      const piece = pieceOf(some);
      if (piece !== undefined) for (const listener of listeners) listener.hear(piece);
    },
    open(wish: Partial<StreamWish> = {}): Promise<EventStream> {
      const world = {
        now: () => nowMs,
        readRange: async () => ({ oldest: ids[0] ?? 0, newest: ids.at(-1) ?? 0 }),
        reader: {
          async read(_: string, after: number): Promise<Reading> {
            calls.reads += 1;
            await turn();
            if (failures-- > 0) throw new Error("the database is away");
            const some = ids.filter((id) => id > after).slice(0, PIECE_SIZE);
            return { piece: pieceOf(some), isMore: some.length === PIECE_SIZE };
          },
        },
        feed: {
          async join(_: string, listener: Listener) {
            listeners.add(listener);
            await turn();
            return { position: ids.at(-1) ?? 0, leave: () => void listeners.delete(listener) };
          },
        },
      };
      return openEventStream(world, {
        clusterId: CLUSTER_ID,
        lastEventId: undefined,
        expiresAtMs: 1_000_000,
        cutOff: () => void calls.cutOff++,
        onClosed: () => void calls.closed++,
        ...wish,
      });
    },
  };
}

function encodeEvent(id: number): Uint8Array {
  return encodeMessage({ event: "status", id, data: "x".repeat(2000) });
}

/** The names (with their ids) of what a stream has said, as far as it was read; `pause` stops reading. */
function listen(stream: EventStream) {
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
      const [, event = message] = /^event: (.*)$/m.exec(message) ?? [];
      const [, id] = /^id: (.*)$/m.exec(message) ?? [];
      return id === undefined ? event : `${event} ${id}`;
    });
}

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n);
const statuses = (from: number, to: number) => range(from, to).map((id) => `status ${id}`);

/** Lets everything happen that waits for nothing but its turn. */
async function settle(): Promise<void> {
  for (let n = 0; n < 100; n++) await turn();
}

describe("where a stream begins", () => {
  test.each<[string, number | undefined, string[]]>([
    ["without an id: with what comes next", undefined, []],
    ["after the id that the client saw last", 11, statuses(12, 12)],
    ["at the newest id: with what comes next", 12, []],
    ["just before the oldest: nothing was missed", 9, statuses(10, 12)],
    ["older than what is kept: the client is told", 5, ["gap", ...statuses(10, 12)]],
    ["newer than all there is: the client is told", 99, ["gap"]],
  ])("%s", async (_, lastEventId, expected) => {
    const world = makeWorld(range(10, 12));
    const heard = listen(await world.open({ lastEventId }));
    await settle();
    world.announce(13);
    await settle();
    expect(heard.names).toEqual(["retry: 3000", ...expected, "status 13"]);
  });

  test("a long replay has neither gap nor repeat between its pieces and what comes live meanwhile", async () => {
    const world = makeWorld(range(1, 42));
    const heard = listen(await world.open({ lastEventId: 0 }));
    for (let id = 43; id < 63; id += 2) {
      await turn();
      world.announce(id, id + 1);
    }
    await settle();
    world.announce(63);
    await settle();
    expect(heard.names.slice(1)).toEqual(statuses(1, 63));
  });

  test("what is heard while the beginning is being found comes once", async () => {
    const world = makeWorld(range(1, 3));
    const opening = world.open();
    world.announce(4);
    const heard = listen(await opening);
    world.announce(5);
    await settle();
    expect(heard.names.slice(1)).toEqual(statuses(5, 5));
  });
});

describe("a stream and its client's pace", () => {
  test("a client that takes nothing gets a bounded queue, and all it missed from the table afterwards", async () => {
    const world = makeWorld([]);
    const stream = await world.open();
    for (const id of range(1, 500)) world.announce(id);
    await settle();
    const { reads } = world.calls;
    expect(reads).toBe(0);
    const heard = listen(stream);
    await settle();
    await settle();
    expect(heard.names.slice(1)).toEqual(statuses(1, 500));
    // 64 KiB of 2 KB each were kept; the rest was read again.
    expect(world.calls.reads).toBeGreaterThan((500 - 40) / PIECE_SIZE);
  });

  test("one that takes nothing for 30 s is cut off, and its place is free", async () => {
    const world = makeWorld([]);
    const stream = await world.open();
    world.wait(29_999);
    stream.tick();
    expect(world.calls).toMatchObject({ cutOff: 0, closed: 0 });
    world.wait(1);
    stream.tick();
    expect(world.calls).toMatchObject({ cutOff: 1, closed: 1 });
    expect(world.listeners.size).toBe(0);
  });

  test("a client that goes frees its place", async () => {
    const world = makeWorld([]);
    const heard = listen(await world.open());
    await settle();
    await heard.cancel();
    expect(world.calls).toMatchObject({ cutOff: 0, closed: 1 });
    expect(world.listeners.size).toBe(0);
  });

  test("while the database is away the stream waits, and goes on", { timeout: 10_000 }, async () => {
    const world = makeWorld(range(1, 3));
    world.fail(1);
    const heard = listen(await world.open({ lastEventId: 1 }));
    await expect.poll(() => heard.names, { timeout: 5_000 }).toEqual(["retry: 3000", ...statuses(2, 3)]);
  });
});

describe("how a stream ends", () => {
  test("a quiet one says something every 15 s at least, and bye when the credential ends", async () => {
    const world = makeWorld([]);
    const stream = await world.open({ expiresAtMs: 46_000 });
    const heard = listen(stream);
    for (let seconds = 0; seconds < 46; seconds++) {
      await settle();
      world.wait(1000);
      stream.tick();
    }
    await settle();
    expect(heard.names.filter((name) => name === ": ping").length).toBeGreaterThanOrEqual(3);
    expect(heard.names.at(-1)).toBe("bye");
    expect(heard.isDone).toBe(true);
    expect(world.calls).toMatchObject({ cutOff: 0, closed: 1 });
  });

  test.each<[string, number | undefined]>([
    ["of a live one", undefined],
    ["of one that still catches up", 0],
  ])("with deleted, after the last event, when the cluster is gone: %s", async (_, lastEventId) => {
    const world = makeWorld(range(1, 20));
    const heard = listen(await world.open({ lastEventId }));
    world.announce(21);
    for (const listener of world.listeners) listener.lose();
    await settle();
    expect(heard.names.slice(-2)).toEqual(["status 21", "deleted"]);
    expect(heard.isDone).toBe(true);
  });

  test("with bye for a client that has yet to take what came before, and nothing after it", async () => {
    const world = makeWorld([]);
    const stream = await world.open();
    world.announce(1);
    stream.sayBye("access_withdrawn");
    world.announce(2);
    const heard = listen(stream);
    await settle();
    expect(heard.names).toEqual(["retry: 3000", "status 1", "bye"]);
    expect(heard.isDone).toBe(true);
  });
});
