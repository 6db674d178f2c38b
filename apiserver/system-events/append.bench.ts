import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { connectDatabase } from "../db/client.ts";
import { appendFeedEvents, type FeedKey, type NewStatusEvent } from "../events/feed.ts";

const EVERY_MS = 50;
const BACKLOG_BATCH = 500;
const BACKLOG_TEXT = "x".repeat(900);

/** A request, one line of JSON on standard input; each has one line on standard output as its response. */
type Order =
  | { do: "backlog"; orgId: string; clusterId: string; count: number }
  | { do: "run"; orgId: string; clusterIds: string[]; perSecond: number }
  | { do: "stop" };

/**
 * Appends events as the harvester does, at a steady rate over many clusters in turn; `npm run bench events` runs it.
 * Each message is `t=<ms> n=<number in its cluster>;`, with the moment before its transaction began.
 */
async function main(databaseUrl: string): Promise<void> {
  const database = connectDatabase(databaseUrl, { poolSize: 1 });
  const counts = new Map<string, number>();
  let stop = new AbortController();
  let running: Promise<void> = Promise.resolve();

  const append = (events: NewStatusEvent[]) => database.db.transaction((tx) => appendFeedEvents(tx, events));

  async function run(
    { orgId, clusterIds, perSecond }: Extract<Order, { do: "run" }>,
    signal: AbortSignal,
  ): Promise<void> {
    const startedMs = performance.now();
    let done = 0;
    while (!signal.aborted) {
      const due = Math.floor(((performance.now() - startedMs) / 1000) * perSecond) - done;
      const atMs = Date.now();
      const events = Array.from({ length: due }, (_, index) => {
        const clusterId = clusterIds[(done + index) % clusterIds.length] ?? "";
        const number = (counts.get(clusterId) ?? 0) + 1;
        counts.set(clusterId, number);
        return eventOf({ orgId, clusterId }, `t=${atMs} n=${String(number).padStart(8, "0")};`);
      });
      done += due;
      await append(events);
      await sleep(EVERY_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  for await (const line of createInterface({ input: process.stdin })) {
    const order: Order = JSON.parse(line);
    if (order.do === "backlog") {
      for (let left = order.count; left > 0; left -= BACKLOG_BATCH) {
        const size = Math.min(left, BACKLOG_BATCH);
        await append(Array.from({ length: size }, () => eventOf(order, BACKLOG_TEXT)));
      }
      process.stdout.write("{}\n");
    } else if (order.do === "run") {
      stop = new AbortController();
      running = run(order, stop.signal);
      process.stdout.write("{}\n");
    } else {
      stop.abort();
      await running;
      process.stdout.write(`${JSON.stringify(Object.fromEntries(counts))}\n`);
    }
  }
  await database.close();
}

function eventOf({ orgId, clusterId }: FeedKey, message: string): NewStatusEvent {
  const payload = { status: "running", previousStatus: null, message, at: new Date().toISOString() };
  return { kind: "status", orgId, clusterId, nodePoolId: null, payload };
}

await main(process.argv[2] ?? "");
