import { join } from "node:path";
import postgres from "postgres";
import { startStack } from "../platform/stack/stack.ts";
import { benchFollowing } from "./followed-clusters.ts";
import { measurePages } from "./pages.ts";
import { CLUSTERS, clusterId, seedClusters } from "./projected-clusters.ts";
import { type Figure, report } from "./report.ts";
import { type Case, type SideBySide, startSideBySide } from "./side-by-side.ts";
import { organizationId, seedOrganizations } from "./tenants.ts";

const DIR = join(import.meta.dirname, "..", "..", ".marina", "bench-clusters");
const ORGANIZATION = organizationId(0);
const PATH = `/api/v1/organizations/${ORGANIZATION}/clusters`;

/**
 * CPU of one read of the projection, compared with the floor (floor.ts), and the time of the first and the last page of
 * 10,000 clusters, which are inserted directly into the projection. Then, on another stack, the projection of
 * `followed` Cluster objects (followed-clusters.ts).
 */
export async function benchClusters(followed = CLUSTERS): Promise<void> {
  await benchReads();
  await benchFollowing(followed);
}

async function benchReads(): Promise<void> {
  const stack = await startStack({ provider: "in-memory", dir: DIR, fresh: true, onCrash: "stop" });
  let sides: SideBySide | undefined;
  try {
    await stack.part("operator").kill("SIGTERM");
    const sql = postgres(stack.info.databaseUrl, { max: 1, onnotice: () => undefined });
    await seedOrganizations(sql, stack.info);
    await seedClusters(sql, ORGANIZATION);
    await sql.end();
    sides = await startSideBySide(stack);
    const ratios: Figure[] = [];
    for (const one of CASES) ratios.push(...(await sides.compare(one)));
    const pages = await measurePages(sides, PATH);
    report("clusters", [
      ...ratios,
      { name: "page 1 of 10,000 clusters: p99", value: pages.first, unit: "ms" },
      { name: "last page: p99", value: pages.last, unit: "ms" },
      { name: "the slower of both: the faster", value: pages.ratio, unit: "x", limit: 1.2 },
    ]);
  } finally {
    await sides?.stop();
    await stack.stop();
  }
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
