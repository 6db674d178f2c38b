import { median } from "../measure.ts";
import type { Remote } from "../remote.ts";
import { type Figure, report } from "../report.ts";
import { type Bench, createFastPaths, measureRun, type Run } from "./bench.ts";
import { nowMs, type SenderProgram } from "./programs.ts";

/** Over a second of each, for code that is not compiled yet takes twice as long. */
const EVENTS = 20_000;
const ROUNDS = 4;
const WEBHOOKS = 100;

interface Contestant {
  name: string;
  /** Publishes EVENTS events while nothing is sent, then sends them. */
  run(): Promise<ContestantRun>;
}

interface ContestantRun extends Run {
  /** From the emission of one event until its transaction is committed. */
  publishMicroseconds: number;
}

/**
 * Signed deliveries a second, and CPU of one, compared with graphile-worker and the floor: a loop of the same requests
 * without a database. They take turns; the first turn of each is not counted.
 */
export async function benchThroughput(bench: Bench): Promise<void> {
  const marina = await bench.startMarina(createFastPaths(WEBHOOKS));
  await marina.publisher.call("publish", 1);
  const data = { databaseUrl: marina.databaseUrl, body: await marina.publisher.call("readBody") };
  await measureRun(bench, marina.deliverer, 1, () => marina.publisher.call("countPending"));
  const contestants: Contestant[] = [
    {
      name: "marina",
      async run() {
        const publishMicroseconds = await measurePublish(() => marina.publisher.call("publish", EVENTS));
        const countPending = () => marina.publisher.call("countPending");
        return { publishMicroseconds, ...(await measureRun(bench, marina.deliverer, EVENTS, countPending)) };
      },
    },
  ];
  const senders: Remote<SenderProgram>[] = [];
  for (const name of ["floor", "graphile-worker"] as const) {
    const sender = await bench.startSender(name, data);
    senders.push(sender);
    contestants.push({
      name,
      async run() {
        const publishMicroseconds = await measurePublish(() => sender.call("enqueue", EVENTS));
        const countRemaining = () => sender.call("countRemaining");
        return { publishMicroseconds, ...(await measureRun(bench, sender, EVENTS, countRemaining)) };
      },
    });
  }
  const runs = new Map<string, ContestantRun[]>(contestants.map(({ name }) => [name, []]));
  for (let round = 0; round < ROUNDS; round++)
    for (const contestant of contestants) {
      const run = await contestant.run();
      if (round > 0) runs.get(contestant.name)?.push(run);
    }
  await Promise.all(senders.map((sender) => sender.stop()));
  await marina.stop();
  report("webhooks throughput", toFigures(runs));
}

async function measurePublish(publish: () => Promise<void>): Promise<number> {
  const startedMs = nowMs();
  await publish();
  return ((nowMs() - startedMs) * 1000) / EVENTS;
}

function toFigures(runs: ReadonlyMap<string, readonly ContestantRun[]>): Figure[] {
  const middle = (name: string, field: keyof ContestantRun) =>
    median((runs.get(name) ?? []).map((run) => run[field]));
  const rate = (name: string) => middle(name, "perSecond");
  const cpu = (name: string) => middle(name, "cpuMicroseconds");
  const wholeRate = (name: string) => 1e6 / (1e6 / rate(name) + middle(name, "publishMicroseconds"));
  const sum = (name: string, field: "missing" | "duplicates") =>
    (runs.get(name) ?? []).reduce((total, run) => total + run[field], 0);
  return [
    ...[...runs.keys()].flatMap((name): Figure[] => [
      { name: `${name}: signed deliveries`, value: rate(name), unit: "/s" },
      { name: `${name}: publishing of one`, value: middle(name, "publishMicroseconds"), unit: "µs" },
      { name: `${name}: CPU of one`, value: cpu(name), unit: "µs" },
      { name: `${name}: published, not received`, value: sum(name, "missing"), unit: "", limit: 0 },
      { name: `${name}: duplicates`, value: sum(name, "duplicates"), unit: "" },
    ]),
    {
      name: "deliveries/s: marina to graphile-worker",
      value: rate("marina") / rate("graphile-worker"),
      unit: "x",
      atLeast: 1,
    },
    {
      name: "published and delivered/s: marina to graphile-worker",
      value: wholeRate("marina") / wholeRate("graphile-worker"),
      unit: "x",
      atLeast: 0.75,
    },
    { name: "CPU: marina to floor", value: cpu("marina") / cpu("floor"), unit: "x", limit: 2 },
  ];
}
