import { execFile } from "node:child_process";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import postgres from "postgres";
import { DEFAULT_PROVIDER } from "../platform/stack/provider.ts";
import { type Stack, startStack } from "../platform/stack/stack.ts";
import { USERS } from "../platform/stack/users.ts";
import { startSecondApiserver } from "../testing/second-apiserver.ts";
import { compareWithKubernetes, createClusters } from "./kubernetes-reads.ts";
import { FULL_LOAD, type Load, SHORT_LOAD } from "./load.ts";
import { measurePages } from "./pages.ts";
import { type Figure, report, reportToGate } from "./report.ts";
import { type Case, type SideBySide, startSideBySide } from "./side-by-side.ts";
import { organizationId, seedOrganizations } from "./tenants.ts";

const DIR = join(import.meta.dirname, "..", "..", ".marina", "bench-api");

/**
 * CPU of one request of the API, compared with the floor (floor.ts) and with its statements alone; GET of a cluster, compared with
 * kube-apiserver's GET of the same custom resource; CPU of one verification of a credential; time of the first and the last page of
 * 2,000 organizations. With `short` the comparisons alone, of less load, for a change of the request pipeline.
 */
export async function benchApi({ short }: { short: boolean }): Promise<void> {
  if (short) {
    await reportToGate("api, short", () => withSides(SHORT_LOAD, async (_sides, ratios) => ratios));
    return;
  }
  const verification = await measureVerification();
  const figures = await withSides(FULL_LOAD, async (sides, ratios) => {
    const pages = await measurePages(sides, "/api/v1/organizations");
    return [
      ...ratios,
      { name: "JWT in the cache: CPU", value: verification.cached, unit: "µs", limit: 20 },
      { name: "JWT not in the cache: CPU", value: verification.first, unit: "µs" },
      { name: "page 1 of 2,000 organizations: p99", value: pages.first, unit: "ms" },
      { name: "last page: p99", value: pages.last, unit: "ms" },
      { name: "the slower of both: the faster", value: pages.ratio, unit: "x", limit: 1.2 },
    ];
  });
  report("api", figures);
}

/**
 * Compares with kube-apiserver and with the floor on a new stack, and calls `use` with what that gave. The API server
 * is one of several replicas: another one does the periodic work, and clients are asked to keep connections as in an
 * installation.
 */
async function withSides<T>(
  load: Load,
  use: (sides: SideBySide, ratios: readonly Figure[]) => Promise<T>,
): Promise<T> {
  const stack = await startStack({
    provider: DEFAULT_PROVIDER,
    dir: DIR,
    fresh: true,
    onCrash: "stop",
    apiserver: { MARINA_ROLES: "api", MARINA_SHUTDOWN_DELAY_SECONDS: "5" },
  });
  let sides: SideBySide | undefined;
  try {
    await stack.part("operator").kill("SIGTERM");
    sides = await startSideBySide(stack, load);
    const ratios = await compareReads(stack, sides, load);
    const sql = postgres(stack.info.databaseUrl, { max: 1, onnotice: () => undefined });
    await seedOrganizations(sql, stack.info);
    await sql.end();
    for (const one of CASES) ratios.push(...(await sides.compare(one)));
    return await use(sides, ratios);
  } finally {
    await sides?.stop();
    await stack.stop();
  }
}

/** Projected by a second API server, which has ended when it is measured. */
async function compareReads(stack: Stack, sides: SideBySide, load: Load): Promise<Figure[]> {
  let paths: Awaited<ReturnType<typeof createClusters>>;
  const projector = await startSecondApiserver(dirname(stack.infoFile), { MARINA_ROLES: "projector" });
  try {
    paths = await createClusters(stack, sides);
  } finally {
    await projector.stop();
  }
  return compareWithKubernetes(stack, DIR, { sides, paths, load });
}

const toPath = (n: number) => `/api/v1/organizations/${organizationId(n)}`;
/** Another name every time and of every side: a PUT of the name that the organization has writes nothing. */
const toBody = (side: string, n: number) => JSON.stringify({ name: `Organization, ${side} ${n}` });

const CASES: readonly Case[] = [
  {
    name: "GET one record",
    limit: 2.5,
    floor: (n) => ({ method: "GET", path: `/record/${organizationId(n)}` }),
    statements: (n) => ({ method: "GET", path: toPath(n) }),
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
    floor: (n) => ({ method: "PUT", path: `/record/${organizationId(n)}`, body: toBody("floor", n) }),
    statements: (n) => ({ method: "PUT", path: toPath(n), body: toBody("statements", n) }),
    api: (n) => ({ method: "PUT", path: toPath(n), body: toBody("API", n) }),
  },
];

async function measureVerification(): Promise<{ cached: number; first: number }> {
  const entry = join(import.meta.dirname, "../../apiserver/http/authentication/authenticator.bench.ts");
  const { stdout } = await promisify(execFile)(process.execPath, [entry]);
  return JSON.parse(stdout);
}
