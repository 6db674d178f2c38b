import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { createId } from "../../shared/id.ts";
import type { Sql } from "../db/client.ts";
import { startTestApp, type TestApp } from "../testing/app.ts";
import { createReader, type Piece } from "./reader.ts";
import { appendEvents } from "./store.ts";
import { aStatus } from "./testing.ts";

let api: TestApp;
beforeAll(async () => {
  api = await startTestApp();
});
afterEach(() => vi.restoreAllMocks());
afterAll(() => api.close());

function append(clusterId: string, count: number) {
  const events = Array.from({ length: count }, (_, n) => aStatus(clusterId, `${n}`));
  return api.deps.db.transaction((tx) => appendEvents(tx, events));
}

/** The numbers that were appended, as the stream would tell them. */
function numbersOf(piece: Piece | undefined): number[] {
  const text = Buffer.from(piece?.bytes ?? []).toString();
  return [...text.matchAll(/"status":"(\d+)"/g)].map((match) => Number(match[1]));
}

/** How many rows each statement since then has given. */
function watchAnswers(): () => Promise<number[]> {
  const { $client } = api.deps.db as unknown as { $client: Sql };
  const sent = vi.spyOn($client, "unsafe");
  return () => Promise.all(sent.mock.results.map(async ({ value }) => (await value).length));
}

describe("the reader", () => {
  test("tells everybody everything, in order, with at most 200 events in one answer of the database", async () => {
    const clusterIds = Array.from({ length: 12 }, () => createId());
    for (const clusterId of clusterIds) await append(clusterId, 120);
    const answers = watchAnswers();
    const reader = createReader(api.deps.db);
    const readAll = async (clusterId: string) => {
      const numbers: number[] = [];
      for (let after = 0; ; ) {
        const { piece, isMore } = await reader.read(clusterId, after);
        numbers.push(...numbersOf(piece));
        after = piece?.lastId ?? after;
        if (!isMore) return numbers;
      }
    };
    const all = Array.from({ length: 120 }, (_, n) => n);
    expect(await Promise.all(clusterIds.map(readAll))).toEqual(clusterIds.map(() => all));
    expect(Math.max(...(await answers()))).toBe(200);
  });

  test("reads a place once for all who wait for it, also when its turn was put off", async () => {
    const clusterIds = Array.from({ length: 6 }, () => createId());
    for (const clusterId of clusterIds) await append(clusterId, 50);
    const reader = createReader(api.deps.db);
    const late = clusterIds.at(-1) ?? "";
    const first = clusterIds.map((clusterId) => reader.read(clusterId, 0));
    await first[0];
    const [one, again] = [reader.read(late, 0), reader.read(late, 0)];
    const readings = await Promise.all([...first, one, again]);
    expect(readings.map(({ piece }) => numbersOf(piece).length)).toEqual(Array(8).fill(50));
  });

  test("serves those that were put off before who comes back", async () => {
    const clusterIds = Array.from({ length: 10 }, () => createId());
    for (const clusterId of clusterIds) await append(clusterId, 100);
    const reader = createReader(api.deps.db);
    const order: string[] = [];
    await Promise.all(
      clusterIds.map(async (clusterId, n) => {
        const { piece } = await reader.read(clusterId, 0);
        order.push(`${n} first`);
        await reader.read(clusterId, piece?.lastId ?? 0);
        order.push(`${n} second`);
      }),
    );
    expect(order.slice(0, 10)).toEqual(clusterIds.map((_, n) => `${n} first`));
  });
});
