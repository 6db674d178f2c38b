import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import postgres from "postgres";
import { startStack } from "../platform/stack/stack.ts";
import { USERS } from "../platform/stack/users.ts";
import { compareWithKubernetes } from "./kubernetes-reads.ts";
import { measurePages } from "./pages.ts";
import { type Figure, report } from "./report.ts";
import { type Case, type SideBySide, startSideBySide } from "./side-by-side.ts";
import { organizationId, seedOrganizations } from "./tenants.ts";

const DIR = join(import.meta.dirname, "..", "..", ".marina", "bench-api");

/**
 * CPU of one request of the API, compared with the floor (floor.ts); GET of a cluster, compared with kube-apiserver's GET of
 * the same custom resource; CPU of one verification of a credential; time of the first and the last page of 2,000 organizations.
 */
export async function benchApi(): Promise<void> {
  const verification = await measureVerification();
  const stack = await startStack({ provider: "in-memory", dir: DIR, fresh: true, onCrash: "stop" });
  let sides: SideBySide | undefined;
  try {
    await stack.part("operator").kill("SIGTERM");
    const sql = postgres(stack.info.databaseUrl, { max: 1, onnotice: () => undefined });
    await seedOrganizations(sql, stack.info);
    await sql.end();
    sides = await startSideBySide(stack);
    const ratios: Figure[] = [];
    for (const one of CASES) ratios.push(...(await sides.compare(one)));
    const reads = await compareWithKubernetes(stack, DIR, sides);
    const pages = await measurePages(sides, "/api/v1/organizations");
    report("api", [
      ...ratios,
      ...reads,
      { name: "JWT in the cache: CPU", value: verification.cached, unit: "µs", limit: 20 },
      { name: "JWT not in the cache: CPU", value: verification.first, unit: "µs" },
      { name: "page 1 of 2,000 organizations: p99", value: pages.first, unit: "ms" },
      { name: "last page: p99", value: pages.last, unit: "ms" },
      { name: "the slower of both: the faster", value: pages.ratio, unit: "x", limit: 1.2 },
    ]);
  } finally {
    await sides?.stop();
    await stack.stop();
  }
}

const toPath = (n: number) => `/api/v1/organizations/${organizationId(n)}`;
/** Another name every time: a PUT of the same name would write nothing. */
const toBody = (n: number) => JSON.stringify({ name: `Organization, change ${n}` });

const CASES: readonly Case[] = [
  {
    name: "GET one record",
    limit: 2.5,
    floor: (n) => ({ method: "GET", path: `/record/${organizationId(n)}` }),
    api: (n) => ({ method: "GET", path: toPath(n) }),
  },
  {
    name: "GET a page of 50",
    limit: 2,
    floor: () => ({ method: "GET", path: `/list/${USERS.alice.sub}` }),
    api: () => ({ method: "GET", path: "/api/v1/organizations?limit=50" }),
  },
  {
    name: "PUT of a record",
    limit: 3,
    floor: (n) => ({ method: "PUT", path: `/record/${organizationId(n)}`, body: toBody(n) }),
    api: (n) => ({ method: "PUT", path: toPath(n), body: toBody(n) }),
  },
];

async function measureVerification(): Promise<{ cached: number; first: number }> {
  const entry = join(
    import.meta.dirname,
    "..",
    "..",
    "apiserver",
    "http",
    "authentication",
    "authenticator.bench.ts",
  );
  const { stdout } = await promisify(execFile)(process.execPath, [entry]);
  return JSON.parse(stdout);
}
