import { percentile } from "../measure.ts";
import { report } from "../report.ts";
import { type Bench, createFastPaths, type Marina } from "./bench.ts";
import type { Received } from "./programs.ts";

const WEBHOOKS = 100;
const WARM_UP_SECONDS = 5;
const SECONDS = 30;
const PER_SECOND = 200;
/** After the last event until what is left is counted as lost. */
const ARRIVAL_TIMEOUT_MS = 60_000;

/** From an event's commit to the arrival of its request, 200 events a second. */
export async function benchLatency(bench: Bench): Promise<void> {
  const marina = await bench.startMarina(createFastPaths(WEBHOOKS));
  await marina.deliverer.call("start");
  await publishAndReceive(bench, marina, WARM_UP_SECONDS);
  const { latenciesMs, missing, duplicates } = await publishAndReceive(bench, marina, SECONDS);
  await marina.stop();
  report("webhooks latency", [
    { name: "committed to received: median", value: percentile(latenciesMs, 0.5), unit: "ms" },
    { name: "committed to received: p99", value: percentile(latenciesMs, 0.99), unit: "ms", limit: 100 },
    { name: "published, not received", value: missing, unit: "", limit: 0 },
    { name: "duplicates", value: duplicates, unit: "" },
  ]);
}

async function publishAndReceive({ receiver }: Bench, { publisher }: Marina, seconds: number) {
  await receiver.call("reset");
  const published = await publisher.call("publishAtRate", { perSecond: PER_SECOND, seconds });
  const received = await receiver.call("waitFor", {
    events: published.length,
    timeoutMs: ARRIVAL_TIMEOUT_MS,
  });
  return {
    latenciesMs: toLatencies(published, received),
    missing: published.length - received.first.length,
    duplicates: received.duplicates,
  };
}

/** Latencies of the events that arrived on a path that `isCounted`. */
export function toLatencies(
  published: readonly [eventId: string, atMs: number][],
  { first }: Received,
  isCounted: (path: string) => boolean = () => true,
): number[] {
  const committed = new Map(published);
  return first
    .filter(([id, , path]) => committed.has(id) && isCounted(path))
    .map(([id, atMs]) => atMs - (committed.get(id) ?? Number.NaN));
}
