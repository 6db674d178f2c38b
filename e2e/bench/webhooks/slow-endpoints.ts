import { setTimeout as sleep } from "node:timers/promises";
import { median, percentile } from "../measure.ts";
import { report } from "../report.ts";
import { type Bench, createFastPaths, type Marina } from "./bench.ts";
import { toLatencies } from "./latency.ts";
import { PATHS } from "./programs.ts";

const WEBHOOKS = 100;
const PER_SECOND = 200;
const SECONDS = 20;
const ROUNDS = 3;
const ARRIVAL_TIMEOUT_MS = 60_000;
const MAKE_DUE_EVERY_MS = 2000;

interface Outcome {
  p99Ms: number;
  missing: number;
  duplicates: number;
}

/**
 * Latency of 98 endpoints while there are two others: when these answer as well, and when one answers nothing for 15 s
 * and the other a byte a second. They take turns. At the end both recover, and all that was published has to arrive.
 */
export async function benchSlowEndpoints(bench: Bench): Promise<void> {
  const fast = createFastPaths(WEBHOOKS - 2);
  const paths = {
    healthy: [...fast, `${PATHS.fast}/98`, `${PATHS.fast}/99`],
    slow: [...fast, `${PATHS.hang}/98`, `${PATHS.drip}/99`],
  };
  const outcomes = { healthy: [] as Outcome[], slow: [] as Outcome[] };
  for (let round = 0; round < ROUNDS; round++) {
    for (const kind of ["healthy", "slow"] as const) {
      const marina = await bench.startMarina(paths[kind]);
      outcomes[kind].push(await measure(bench, marina, new Set(fast.map((path) => `/${path}`))));
      await marina.stop();
    }
  }
  const p99 = (kind: keyof typeof outcomes) => median(outcomes[kind].map(({ p99Ms }) => p99Ms));
  const sum = (field: "missing" | "duplicates") =>
    [...outcomes.healthy, ...outcomes.slow].reduce((total, one) => total + one[field], 0);
  report("webhooks slow-endpoints", [
    { name: "p99 of 98 beside two that answer", value: p99("healthy"), unit: "ms" },
    { name: "p99 of 98 beside one that hangs and one that drips", value: p99("slow"), unit: "ms" },
    { name: "ratio", value: p99("slow") / p99("healthy"), unit: "x", limit: 1.5 },
    { name: "published, not received", value: sum("missing"), unit: "", limit: 0 },
    { name: "duplicates: attempts after those without an answer", value: sum("duplicates"), unit: "" },
  ]);
}

async function measure(
  { receiver }: Bench,
  { publisher, deliverer }: Marina,
  counted: ReadonlySet<string>,
): Promise<Outcome> {
  await receiver.call("reset");
  await deliverer.call("start");
  await publisher.call("publishAtRate", { perSecond: PER_SECOND, seconds: 2 });
  const published = await publisher.call("publishAtRate", { perSecond: PER_SECOND, seconds: SECONDS });
  const total = published.length + 2 * PER_SECOND;
  await receiver.call("heal");
  const recovering = new AbortController();
  const recovered = recover(publisher, recovering.signal);
  const received = await receiver.call("waitFor", { events: total, timeoutMs: ARRIVAL_TIMEOUT_MS });
  recovering.abort();
  await recovered;
  const latenciesMs = toLatencies(published, received, (path) => counted.has(path));
  return {
    p99Ms: percentile(latenciesMs, 0.99),
    missing: total - received.first.length,
    duplicates: received.duplicates,
  };
}

async function recover(publisher: Marina["publisher"], signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await publisher.call("makeDue");
    await sleep(MAKE_DUE_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
}
