import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { PATIENT } from "../../../shared/program/testing-deadlines.ts";
import { CHUNK_SIZE, flush, listen, makeStreams, range, statuses } from "./testing.ts";

describe("where a stream begins", () => {
  test.each<[string, number | undefined, string[]]>([
    ["without an id: with the next event", undefined, []],
    ["after the last id that the client saw", 11, statuses(12, 12)],
    ["at the newest id: with the next event", 12, []],
    ["just before the oldest: no gap", 9, statuses(10, 12)],
    ["older than the history: gap", 5, ["gap", ...statuses(10, 12)]],
    ["newer than the newest: gap", 99, ["gap"]],
  ])("%s", async (_, lastEventId, expected) => {
    const streams = makeStreams(range(10, 12));
    const received = listen(await streams.open({ lastEventId }));
    await flush();
    streams.announce(13);
    await flush();
    const [start] = received.names;
    expect(start).toBe(lastEventId === undefined ? "retry: 3000 12" : "retry: 3000");
    expect(received.names.slice(1)).toEqual([...expected, "status 13"]);
  });

  test("at an id whose events were all deleted since: gap, unless it was the newest", async () => {
    for (const [lastEventId, expected] of [
      [5, ["gap"]],
      [10, []],
    ] as const) {
      const received = listen(await makeStreams([], 10).open({ lastEventId }));
      await flush();
      expect(received.names.slice(1)).toEqual(expected);
    }
  });

  test.each([
    ["with a history", range(10, 12), 13],
    ["without any", [], 1],
  ])("a client that reconnects before its first event misses none: %s", async (_, history, next) => {
    const streams = makeStreams(history);
    const first = listen(await streams.open());
    await flush();
    await first.cancel();
    streams.announce(next);
    const resumed = listen(await streams.open({ lastEventId: Number(first.names[0]?.split(" ").at(-1)) }));
    await flush();
    expect(resumed.names.slice(1)).toEqual([`status ${next}`]);
  });

  test("a long replay has no gap and no repetition between its chunks and events that arrive meanwhile", async () => {
    const streams = makeStreams(range(1, 42));
    const received = listen(await streams.open({ lastEventId: 0 }));
    for (let id = 43; id < 63; id += 2) {
      await turn();
      streams.announce(id, id + 1);
    }
    await flush();
    streams.announce(63);
    await flush();
    expect(received.names.slice(1)).toEqual(statuses(1, 63));
  });

  test.each([
    ["the newest event", 3, []],
    ["an id that was never sent", 99, ["gap"]],
  ])("an event that is broadcast while a stream resumes after %s is sent", async (_, lastEventId, gap) => {
    const streams = makeStreams(range(1, 3));
    streams.whileResuming(() => streams.announce(4));
    const received = listen(await streams.open({ lastEventId }));
    await flush();
    streams.announce(5);
    await flush();
    expect(received.names.slice(1)).toEqual([...gap, ...statuses(4, 5)]);
  });

  test("an event that is broadcast while the stream opens is not sent twice", async () => {
    const streams = makeStreams(range(1, 3));
    const opening = streams.open();
    streams.announce(4);
    const received = listen(await opening);
    streams.announce(5);
    await flush();
    expect(received.names.slice(1)).toEqual(statuses(5, 5));
  });
});

describe("the present state of the cluster", () => {
  test.each<[string, number | undefined, string[]]>([
    ["a stream without an id", undefined, ["retry: 3000 12", "status"]],
    ["one that resumes, before what it missed", 10, ["retry: 3000", "status", ...statuses(11, 12)]],
    ["one that cannot resume", 99, ["retry: 3000", "status", "gap"]],
  ])("begins %s, and has no id to resume after", async (_, lastEventId, expected) => {
    const streams = makeStreams(range(10, 12));
    streams.beginWithState();
    const received = listen(await streams.open({ lastEventId }));
    await flush();
    expect(received.names).toEqual(expected);
  });

  test("is followed by the events that come while it is read", async () => {
    const streams = makeStreams(range(10, 12));
    streams.beginWithState(() => streams.announce(13, 14));
    const received = listen(await streams.open());
    await flush();
    expect(received.names.slice(1)).toEqual(["status", ...statuses(13, 14)]);
  });

  test("that cannot be read ends the stream before it begins, which holds nothing then", async () => {
    const streams = makeStreams([]);
    streams.beginWithState(() => {
      throw new Error("the database is unavailable");
    });
    await expect(streams.open()).rejects.toThrow("unavailable");
    expect(streams.subscribers.size).toBe(0);
  });
});

describe("a slow client", () => {
  test("that reads nothing has a bounded buffer, and gets all it missed from the table afterwards", async () => {
    const streams = makeStreams([]);
    const stream = await streams.open();
    for (const id of range(1, 500)) streams.announce(id);
    await flush();
    const { reads } = streams.calls;
    expect(reads).toBe(0);
    const received = listen(stream);
    await flush();
    await flush();
    expect(received.names.slice(1)).toEqual(statuses(1, 500));
    // 64 KiB of 2 KB each were kept; the rest was read again.
    expect(streams.calls.reads).toBeGreaterThan((500 - 40) / CHUNK_SIZE);
  });

  test("that reads nothing for 30 s is disconnected and unsubscribed", async () => {
    const streams = makeStreams([]);
    const stream = await streams.open();
    streams.wait(29_999);
    stream.tick();
    expect(streams.calls).toMatchObject({ disconnected: 0, closed: 0 });
    streams.wait(1);
    stream.tick();
    expect(streams.calls).toMatchObject({ disconnected: 1, closed: 1 });
    expect(streams.subscribers.size).toBe(0);
  });

  test("that disconnects is unsubscribed", async () => {
    const streams = makeStreams([]);
    const received = listen(await streams.open());
    await flush();
    await received.cancel();
    expect(streams.calls).toMatchObject({ disconnected: 0, closed: 1 });
    expect(streams.subscribers.size).toBe(0);
  });

  test("waits while the database is unavailable", async () => {
    const streams = makeStreams(range(1, 3));
    streams.fail(1);
    const received = listen(await streams.open({ lastEventId: 1 }));
    await expect.poll(() => received.names, PATIENT).toEqual(["retry: 3000", ...statuses(2, 3)]);
  });
});

describe("how a stream ends", () => {
  test("an idle stream sends a comment at least every 15 s, and bye when the credential expires", async () => {
    const streams = makeStreams([]);
    const stream = await streams.open({ expiresAtMs: 46_000 });
    const received = listen(stream);
    for (let seconds = 0; seconds < 46; seconds++) {
      await flush();
      streams.wait(1000);
      stream.tick();
    }
    await flush();
    expect(received.names.filter((name) => name === ": ping").length).toBeGreaterThanOrEqual(3);
    expect(received.names.at(-1)).toBe("bye");
    expect(received.isDone).toBe(true);
    expect(streams.calls).toMatchObject({ disconnected: 0, closed: 1 });
  });

  test.each<[string, number | undefined]>([
    ["of a live stream", undefined],
    ["of a stream that is catching up", 0],
  ])("with deleted, after the last event, when the cluster is deleted: %s", async (_, lastEventId) => {
    const streams = makeStreams(range(1, 20));
    const received = listen(await streams.open({ lastEventId }));
    streams.announce(21);
    for (const subscriber of streams.subscribers) subscriber.onDeleted();
    await flush();
    expect(received.names.slice(-2)).toEqual(["status 21", "deleted"]);
    expect(received.isDone).toBe(true);
  });

  test("with bye after everything that was buffered, and nothing after it", async () => {
    const streams = makeStreams([]);
    const stream = await streams.open();
    streams.announce(1);
    stream.sendBye("access_withdrawn");
    streams.announce(2);
    const received = listen(stream);
    await flush();
    expect(received.names).toEqual(["retry: 3000 0", "status 1", "bye"]);
    expect(received.isDone).toBe(true);
  });
});
