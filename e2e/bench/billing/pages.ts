import { percentile } from "../measure.ts";
import { type Figure, report } from "../report.ts";
import { withBillingProgram } from "./program.ts";

const CLUSTERS = 100;
const PAGES = ["usage", "forecast", "budget"] as const;
const WARM_UP = 10;
const ROUNDS = 100;
/** 10 % of the machines change each day. */
const SIZES = { organizations: 1, clusters: CLUSTERS, pools: 3, machines: 3, replacedAfterDays: 10 };
const LIMIT_MS = 100;

/**
 * What a tenant with 100 clusters reads near the end of a month of 31 days, from the reading of the ledger to the text
 * of the response; of an organization with one month of history and of one with 24, in turn, so that noise affects
 * both.
 */
export async function benchPages(): Promise<void> {
  await withBillingProgram(async (program) => {
    const young = await program.call("addOrganizations", { ...SIZES, months: 1 });
    const old = await program.call("addOrganizations", { ...SIZES, months: 24 });
    const orgIds = [...young, ...old];
    const figures: Figure[] = [];
    for (const page of PAGES) {
      await program.call("readPages", { page, orgIds, rounds: WARM_UP });
      const [first, last] = await program.call("readPages", { page, orgIds, rounds: ROUNDS });
      if (first === undefined || last === undefined) throw new Error("not two organizations were read");
      const of = (share: number) => [percentile(first.ms, share), percentile(last.ms, share)] as const;
      const [p99, latest] = of(0.99);
      const [median, latestMedian] = of(0.5);
      figures.push(
        { name: `${page}: p99, 1 month of history`, value: p99, unit: "ms", limit: LIMIT_MS },
        { name: `${page}: p99, 24 months of history`, value: latest, unit: "ms", limit: LIMIT_MS },
        { name: `${page}: median`, value: median, unit: "ms" },
        { name: `${page}: median, 24 months to 1`, value: latestMedian / median, unit: "x", limit: 1.2 },
        { name: `${page}: size`, value: last.bytes / 1024, unit: "KiB" },
      );
    }
    report(`billing pages, ${CLUSTERS} clusters`, figures);
  });
}
