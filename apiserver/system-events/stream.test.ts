import { describe, expect, test } from "vitest";
import type { Feed } from "./feed.ts";
import type { EventRow } from "./store.ts";
import { type StreamSource, streamEvents } from "./stream.ts";

const CLUSTER_ID = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11";

/** A world whose time moves only while a stream waits, and whose news come from `onWait`. */
function aSource(rows: EventRow[], change: Partial<StreamSource> = {}, onWait: () => boolean = () => false) {
  let nowMs = 0;
  const feed: Feed = {
    subscribe: () => ({
      next: async (timeoutMs) => {
        const isNews = onWait();
        if (!isNews) nowMs += timeoutMs;
        return isNews;
      },
      wake: () => {},
      close: () => {},
    }),
  };
  const source: StreamSource = {
    feed,
    clusterId: CLUSTER_ID,
    lastEventId: undefined,
    expiresAtMs: 100_000,
    now: () => nowMs,
    readRange: async () => ({ oldest: rows[0]?.id ?? 0, newest: rows.at(-1)?.id ?? 0 }),
    readAfter: async (position, limit) => rows.filter(({ id }) => id > position).slice(0, limit),
    isClusterGone: async () => false,
    mayRead: async () => true,
    closing: new AbortController().signal,
    ...change,
  };
  return source;
}

function aRow(id: number): EventRow {
  return {
    id,
    clusterId: CLUSTER_ID,
    nodePoolId: null,
    kind: "status",
    eventUid: null,
    eventCount: null,
    payload: { status: "running", previousStatus: null, message: null, at: "2026-11-21T09:00:00.000Z" },
    recordedAt: new Date(0),
  };
}

/** The names (with their ids) of what a stream says until it ends. */
async function listen(source: StreamSource): Promise<string[]> {
  const names: string[] = [];
  for await (const text of streamEvents(source, new AbortController().signal)) {
    for (const message of text.split("\n\n").filter((part) => part !== "")) {
      const [, event = message] = /^event: (.*)$/m.exec(message) ?? [];
      const [, id] = /^id: (.*)$/m.exec(message) ?? [];
      names.push(id === undefined ? event : `${event} ${id}`);
    }
  }
  return names;
}

const rows = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => aRow(from + index));
const soon = { expiresAtMs: 0 };

describe("where a stream begins", () => {
  test.each<[string, number | undefined, string[]]>([
    ["without an id: with what comes next", undefined, []],
    ["after the id that the client saw last", 11, ["status 12"]],
    ["at the newest id: with what comes next", 12, []],
    ["just before the oldest: nothing was missed", 9, ["status 10", "status 11", "status 12"]],
    ["older than what is kept: the client is told", 5, ["gap", "status 10", "status 11", "status 12"]],
    ["newer than all there is: the client is told", 99, ["gap"]],
  ])("%s", async (_, lastEventId, expected) => {
    const names = await listen(aSource(rows(10, 12), { ...soon, lastEventId }));
    expect(names).toEqual(["retry: 3000", ...expected, "bye"]);
  });

  test("a long replay has neither gap nor repeat between its pages and what comes live", async () => {
    const stored = rows(1, 250);
    const onWait = () => {
      if (stored.length === 252) return false;
      stored.push(aRow(stored.length + 1));
      return true;
    };
    const names = await listen(aSource(stored, { lastEventId: 0, expiresAtMs: 1 }, onWait));
    expect(names.slice(1, -2)).toEqual(rows(1, 252).map(({ id }) => `status ${id}`));
  });
});

describe("how a stream ends", () => {
  test("a quiet one says something every 15 s, and bye when the credential ends", async () => {
    expect(await listen(aSource([], { expiresAtMs: 40_000 }))).toEqual([
      "retry: 3000",
      ": ping",
      ": ping",
      ": ping",
      "bye",
    ]);
  });

  test("with deleted, after the last event, when the cluster is gone", async () => {
    const source = aSource(rows(1, 2), { lastEventId: 0, isClusterGone: async () => true });
    expect(await listen(source)).toEqual(["retry: 3000", "status 1", "status 2", "deleted"]);
  });

  test("with bye within 30 s after access was withdrawn", async () => {
    const names = await listen(aSource([], { mayRead: async () => false }));
    expect(names).toEqual(["retry: 3000", ": ping", ": ping", "bye"]);
  });

  test("with bye when the program ends", async () => {
    expect(await listen(aSource([], { closing: AbortSignal.abort() }))).toEqual(["retry: 3000", "bye"]);
  });
});
