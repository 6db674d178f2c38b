import { median } from "../measure.ts";
import { type Figure, report } from "../report.ts";
import { type Bench, createFastPaths, type Marina, measureRun, type Run } from "./bench.ts";

const SIZES = [100, 1000, 10_000];
const EVENTS = 30_000;
const ROUNDS = 4;

/** Time of a delivery with 100, 1,000 and 10,000 webhooks, over which the events are spread evenly. They take turns. */
export async function benchGrowth(bench: Bench): Promise<void> {
  const fleets: { size: number; marina: Marina; runs: Run[] }[] = [];
  for (const size of SIZES)
    fleets.push({ size, marina: await bench.startMarina(createFastPaths(size)), runs: [] });
  for (let round = 0; round < ROUNDS; round++)
    for (const { marina, runs } of fleets) {
      await marina.publisher.call("publish", EVENTS);
      const count = () => marina.publisher.call("countPending");
      const run = await measureRun(bench, marina.deliverer, EVENTS, count);
      if (round > 0) runs.push(run);
    }
  for (const { marina } of fleets) await marina.stop();
  const times = fleets.map(({ runs }) => median(runs.map(({ perSecond }) => 1000 / perSecond)));
  const all = fleets.flatMap(({ runs }) => runs);
  report("webhooks growth", [
    ...fleets.map(
      ({ size }, index): Figure => ({
        name: `${size} webhooks: time of a delivery`,
        value: times[index] ?? Number.NaN,
        unit: "ms",
      }),
    ),
    {
      name: `${SIZES.at(-1)} to ${SIZES[0]} webhooks`,
      value: (times.at(-1) ?? Number.NaN) / (times[0] ?? Number.NaN),
      unit: "x",
      limit: 1.15,
    },
    {
      name: "published, not received",
      value: all.reduce((sum, run) => sum + run.missing, 0),
      unit: "",
      limit: 0,
    },
    { name: "duplicates", value: all.reduce((sum, run) => sum + run.duplicates, 0), unit: "" },
  ]);
}
