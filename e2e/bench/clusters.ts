import { join } from "node:path";
import postgres from "postgres";
import { startStack } from "../platform/stack/stack.ts";
import { benchFollowing } from "./followed-clusters.ts";
import { median, percentile } from "./measure.ts";
import { measurePages } from "./pages.ts";
import { CLUSTERS, clusterId, seedClusters } from "./projected-clusters.ts";
import { type Figure, report } from "./report.ts";
import { type Case, type SideBySide, startSideBySide } from "./side-by-side.ts";
import { organizationId, seedOrganizations } from "./tenants.ts";

const DIR = join(import.meta.dirname, "..", "..", ".marina", "bench-clusters");
const ORGANIZATION = organizationId(0);
const PATH = `/api/v1/organizations/${ORGANIZATION}/clusters`;

const PARTS: Readonly<Record<string, () => Promise<void>>> = {
  reads: () => benchProjected(measureReads),
  selectors: () => benchProjected(measureSelectors),
  followed: () => benchFollowing(CLUSTERS),
};

/**
 * CPU of one read of the projection, compared with the floor (floor.ts), and the time of the first and the last page of
 * 10,000 clusters, which are inserted directly into the projection. Then lists of them by selectors of labels, and, on
 * another stack, the projection of 10,000 Cluster objects (followed-clusters.ts). Or the named parts.
 */
export async function benchClusters(names: readonly string[] = []): Promise<void> {
  for (const name of names.length === 0 ? Object.keys(PARTS) : names) {
    const part = PARTS[name];
    if (part === undefined) throw new Error(`no part "${name}"; there are: ${Object.keys(PARTS).join(", ")}`);
    await part();
  }
}

async function benchProjected(measure: (sides: SideBySide) => Promise<Figure[]>): Promise<void> {
  const stack = await startStack({ provider: "in-memory", dir: DIR, fresh: true, onCrash: "stop" });
  let sides: SideBySide | undefined;
  try {
    await stack.part("operator").kill("SIGTERM");
    const sql = postgres(stack.info.databaseUrl, { max: 1, onnotice: () => undefined });
    await seedOrganizations(sql, stack.info);
    await seedClusters(sql, ORGANIZATION);
    await sql.end();
    sides = await startSideBySide(stack);
    report("clusters", await measure(sides));
  } finally {
    await sides?.stop();
    await stack.stop();
  }
}

async function measureReads(sides: SideBySide): Promise<Figure[]> {
  const ratios: Figure[] = [];
  for (const one of CASES) ratios.push(...(await sides.compare(one)));
  const pages = await measurePages(sides, PATH);
  return [
    ...ratios,
    { name: "page 1 of 10,000 clusters: p99", value: pages.first, unit: "ms" },
    { name: "last page: p99", value: pages.last, unit: "ms" },
    { name: "the slower of both: the faster", value: pages.ratio, unit: "x", limit: 1.2 },
  ];
}

/** How often each selector is asked, and each of the longest. */
const ASKED = 300;
const LONGEST_ASKED = 20;
/** So many keys that every cluster has, with what follows the key. */
const each = (count: number, operator: string) =>
  Array.from({ length: count }, (_, index) => `l${index + 1}${operator}`).join();
/** As many values as a query holds. */
const VALUES = Array.from({ length: 1000 }, (_, n) => n + 1).join();
/** How many of the 10,000 clusters each selects. */
const SELECTORS = [
  ["all", ""],
  ["none", "team=nobody"],
  ["one", "number=9999"],
  ["67", "team in (t1,t2),stage!=test,number>5000,number<10000"],
  ["all but one", "number!=0,!legacy"],
  ["none, of many values", `l1 in (${VALUES})`],
  ["none, of no other than many values", `l1 notin (${VALUES}),team=nobody`],
] as const;
/** The most expensive of each operator: each requirement costs an operator for each cluster, a bound four. */
const LONGEST = [
  ["none, with 29 keys", `${each(29, "")},l30`],
  ["none, with 29 values", `${each(28, "!=x")},l29!=10029`],
  ["none, with 29 bounds", `${each(28, ">0")},l29>10029`],
] as const;

/**
 * The time of a page by selectors, asked in turn; the first is none, which shows what other work on the machine adds.
 * Unless the page is full, every cluster of the organization is looked at. The longest selectors have no limit.
 */
async function measureSelectors({ api, headers }: SideBySide): Promise<Figure[]> {
  async function measure(
    selectors: readonly (readonly [selects: string, selector: string])[],
    { asked, limit }: { asked: number; limit?: number },
  ): Promise<Figure[]> {
    const times = new Map<string, number[]>(selectors.map(([selects]) => [selects, []]));
    for (let n = 0; n < asked; n++)
      for (const [selects, selector] of selectors) {
        const path = `${PATH}?limit=50&labels=${encodeURIComponent(selector)}`;
        const startedAt = performance.now();
        const { body } = await api.request({ method: "GET", path, headers });
        await body.json();
        times.get(selects)?.push(performance.now() - startedAt);
      }
    return [...times].flatMap(([selects, all]): Figure[] => {
      const name = `a selector of ${selects} of 10,000 clusters`;
      const p99 = { name: `${name}: p99`, value: percentile(all, 0.99), unit: "ms" };
      return [
        { name: `${name}: median`, value: median(all), unit: "ms" },
        limit === undefined ? p99 : { ...p99, limit },
      ];
    });
  }
  return [
    ...(await measure(SELECTORS, { asked: ASKED, limit: 50 })),
    ...(await measure(LONGEST, { asked: LONGEST_ASKED })),
  ];
}

const CASES: readonly Case[] = [
  {
    name: "GET a cluster",
    limit: 2.5,
    floor: (n) => ({ method: "GET", path: `/cluster/${clusterId(n)}` }),
    api: (n) => ({ method: "GET", path: `${PATH}/${clusterId(n)}` }),
  },
  {
    name: "GET 50 node pools",
    limit: 2,
    floor: () => ({ method: "GET", path: `/pools/${clusterId(0)}` }),
    api: () => ({ method: "GET", path: `${PATH}/${clusterId(0)}/nodepools?limit=50` }),
  },
];
