import { afterEach, describe, expect, test, vi } from "vitest";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { createId } from "../../../shared/program/id.ts";
import type { Sql } from "../../db/client.ts";
import { appendFeedEvents } from "../../events/feed.ts";
import { startTestApp } from "../../testing/app.ts";
import { aStatus } from "../testing.ts";
import { type Chunk, createEventReader } from "./event-reader.ts";

const ORG_ID = createId();
const api = setUp(startTestApp);
afterEach(() => vi.restoreAllMocks());

function append(clusterId: string, count: number) {
  const events = Array.from({ length: count }, (_, n) => aStatus({ orgId: ORG_ID, clusterId }, `${n}`));
  return api.deps.db.transaction((tx) => appendFeedEvents(tx, events));
}

/** The numbers that were appended, as the stream sends them. */
function numbersOf(chunk: Chunk | undefined): number[] {
  const text = Buffer.from(chunk?.bytes ?? []).toString();
  return [...text.matchAll(/"status":"(\d+)"/g)].map((match) => Number(match[1]));
}

/** How many rows each statement since then returned. */
function watchResults(): () => Promise<number[]> {
  const { $client } = api.deps.db as unknown as { $client: Sql };
  const sent = vi.spyOn($client, "unsafe");
  return () => Promise.all(sent.mock.results.map(async ({ value }) => (await value).length));
}

describe("the event reader", () => {
  test("returns all events in order, with at most 200 in one result of the database", async () => {
    const clusterIds = Array.from({ length: 12 }, () => createId());
    for (const clusterId of clusterIds) await append(clusterId, 120);
    const results = watchResults();
    const reader = createEventReader(api.deps.db);
    const readAll = async (clusterId: string) => {
      const numbers: number[] = [];
      for (let after = 0; ; ) {
        const { chunk, isMore } = await reader.read({ orgId: ORG_ID, clusterId }, after);
        numbers.push(...numbersOf(chunk));
        after = chunk?.lastId ?? after;
        if (!isMore) return numbers;
      }
    };
    const all = Array.from({ length: 120 }, (_, n) => n);
    expect(await Promise.all(clusterIds.map(readAll))).toEqual(clusterIds.map(() => all));
    expect(Math.max(...(await results()))).toBe(200);
  });

  test("reads a position once for all readers, also when the request was requeued", async () => {
    const clusterIds = Array.from({ length: 6 }, () => createId());
    for (const clusterId of clusterIds) await append(clusterId, 50);
    const reader = createEventReader(api.deps.db);
    const late = clusterIds.at(-1) ?? "";
    const first = clusterIds.map((clusterId) => reader.read({ orgId: ORG_ID, clusterId }, 0));
    await first[0];
    const [one, again] = [
      reader.read({ orgId: ORG_ID, clusterId: late }, 0),
      reader.read({ orgId: ORG_ID, clusterId: late }, 0),
    ];
    const readings = await Promise.all([...first, one, again]);
    expect(readings.map(({ chunk }) => numbersOf(chunk).length)).toEqual(Array(8).fill(50));
  });

  test("serves requeued requests before new ones", async () => {
    const clusterIds = Array.from({ length: 10 }, () => createId());
    for (const clusterId of clusterIds) await append(clusterId, 100);
    const reader = createEventReader(api.deps.db);
    const order: string[] = [];
    await Promise.all(
      clusterIds.map(async (clusterId, n) => {
        const { chunk } = await reader.read({ orgId: ORG_ID, clusterId }, 0);
        order.push(`${n} first`);
        await reader.read({ orgId: ORG_ID, clusterId }, chunk?.lastId ?? 0);
        order.push(`${n} second`);
      }),
    );
    expect(order.slice(0, 10)).toEqual(clusterIds.map((_, n) => `${n} first`));
  });
});
