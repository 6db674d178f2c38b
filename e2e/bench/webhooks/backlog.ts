import { median } from "../measure.ts";
import { report } from "../report.ts";
import { type Bench, createFastPaths, type Marina, measureRun, type Run } from "./bench.ts";

const WEBHOOKS = 100;
const EVENTS = 5000;
const ROUNDS = 4;
const BACKLOG = { webhooks: 1000, deliveriesEach: 1000 };
/** Nothing listens there. */
const CLOSED_URL = "https://127.0.0.1:1024";

/** Throughput to healthy endpoints, without and with a million pending deliveries for endpoints that are down. */
export async function benchBacklog(bench: Bench): Promise<void> {
  const marina = await bench.startMarina(createFastPaths(WEBHOOKS));
  const empty = await measureRounds(bench, marina);
  await marina.publisher.call("addBacklog", { ...BACKLOG, url: CLOSED_URL });
  const full = await measureRounds(bench, marina);
  const pending = await marina.publisher.call("countBacklog");
  await marina.publisher.call("publish", EVENTS);
  console.log(`\n${await marina.publisher.call("explainClaim", bench.postgres.superuserUrl)}`);
  await marina.stop();
  const rate = (runs: readonly Run[]) => median(runs.map(({ perSecond }) => perSecond));
  const sum = (field: "missing" | "duplicates") =>
    [...empty, ...full].reduce((total, run) => total + run[field], 0);
  const total = BACKLOG.webhooks * BACKLOG.deliveriesEach;
  report("webhooks backlog", [
    { name: "nothing else pending: signed deliveries", value: rate(empty), unit: "/s" },
    { name: `beside ${total} pending`, value: rate(full), unit: "/s" },
    { name: "ratio", value: rate(full) / rate(empty), unit: "x", atLeast: 0.8 },
    { name: "published, not received", value: sum("missing"), unit: "", limit: 0 },
    { name: "of the backlog no longer pending", value: total - pending, unit: "", limit: 0 },
    { name: "duplicates", value: sum("duplicates"), unit: "" },
  ]);
}

/** The first round warms up and is not counted. */
async function measureRounds(bench: Bench, { publisher, deliverer }: Marina): Promise<Run[]> {
  const runs: Run[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await publisher.call("publish", EVENTS);
    runs.push(await measureRun(bench, deliverer, EVENTS, () => publisher.call("countPending")));
  }
  return runs.slice(1);
}
