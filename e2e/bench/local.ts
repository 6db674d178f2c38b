import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startStack } from "../platform/stack/stack.ts";
import { createTenant, type Tenant } from "../testing/tenant.ts";
import { median } from "./measure.ts";
import { type Figure, report } from "./report.ts";
import { measureRevocation } from "./revocation.ts";

const DIR = join(import.meta.dirname, "..", "..", ".marina", "bench-local");
const RUNS = 3;
const AT_ONCE = 8;
const FLEET = 20;
const CALM_MS = 30_000;
const IDLE_SAMPLE_MS = 60_000;
const TICKS_PER_SECOND = 100;
const VERSION = "1.35.1";

interface CreatedCluster {
  path: string;
  seconds: number;
}

/**
 * Real tenant clusters on this machine: create and delete one, eight at once, then up to twenty; memory as the
 * proportional share of each process (PSS), CPU time when idle; how soon a revoked kubeconfig is refused. Linux only.
 */
export async function benchLocal(): Promise<void> {
  const startedAt = performance.now();
  const stack = await startStack({ dir: DIR, fresh: true, provider: "local", onCrash: "stop" });
  const freshStart = { name: "fresh start of the stack", value: secondsSince(startedAt), unit: "s" };
  try {
    const alice = createTenant(stack.info.apiUrl, stack.info.tokens.alice);
    // The first one links the kube-apiserver, which later ones reuse.
    await remove(alice, await create(alice, "warm-up"));
    report("local", [freshStart, ...(await measureOne(alice))]);
    const watched = await create(alice, "revocation");
    report("local revocation", await measureRevocation(stack.info, watched.path));
    await remove(alice, watched);
    report("local fleet", await measureFleet(alice));
  } finally {
    await stack.stop();
  }
  await reportWarmStart();
}

async function measureOne(alice: Tenant): Promise<Figure[]> {
  const creates: number[] = [];
  const deletes: number[] = [];
  for (let run = 0; run < RUNS; run++) {
    const created = await create(alice, `one-${run}`);
    creates.push(created.seconds);
    deletes.push(await remove(alice, created));
  }
  return [
    { name: "POST with 2 nodes until running (median of 3)", value: median(creates), unit: "s", limit: 15 },
    { name: "DELETE until deleted (median of 3)", value: median(deletes), unit: "s", limit: 10 },
  ];
}

async function measureFleet(alice: Tenant): Promise<Figure[]> {
  const startedAt = performance.now();
  const eight = await Promise.all(range(AT_ONCE).map((index) => create(alice, `eight-${index}`)));
  const eightSeconds = secondsSince(startedAt);
  await sleep(CALM_MS);
  const memoryOfEight = tenantMemoryMB();
  const cpu = await tenantCpuPercent();
  const moreAt = performance.now();
  const more = await Promise.all(range(FLEET - AT_ONCE).map((index) => create(alice, `more-${index}`)));
  const moreSeconds = secondsSince(moreAt);
  await sleep(CALM_MS);
  const memoryOfAll = tenantMemoryMB();
  const deletingAt = performance.now();
  await Promise.all([...eight, ...more].map((created) => remove(alice, created)));
  return [
    { name: `${AT_ONCE} at once, 2 nodes each, until all run`, value: eightSeconds, unit: "s", limit: 60 },
    {
      name: `memory of a tenant, of ${AT_ONCE} (PSS)`,
      value: memoryOfEight / AT_ONCE,
      unit: "MB",
      limit: 230,
    },
    { name: "CPU time of an idle tenant, of one core", value: cpu / AT_ONCE, unit: "%", limit: 2.5 },
    { name: `${FLEET - AT_ONCE} more at once until all run`, value: moreSeconds, unit: "s" },
    { name: `memory of ${FLEET} tenants (PSS)`, value: memoryOfAll / 1024, unit: "GB", limit: 8 },
    { name: `DELETE of all ${FLEET} at once`, value: secondsSince(deletingAt), unit: "s" },
  ];
}

async function reportWarmStart(): Promise<void> {
  const startedAt = performance.now();
  const stack = await startStack({ dir: DIR, provider: "local", onCrash: "stop" });
  const warm = secondsSince(startedAt);
  await stack.stop();
  report("local start", [{ name: "warm start of the stack", value: warm, unit: "s", limit: 30 }]);
}

async function create(alice: Tenant, name: string): Promise<CreatedCluster> {
  const { body: organization } = await alice.request("POST", "/organizations", { name });
  const startedAt = performance.now();
  const clusters = `/organizations/${organization.id}/clusters`;
  const pool = { name: "workers", vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 2 };
  const body = { name, k8s_version: VERSION, node_pools: [pool] };
  const { body: cluster } = await alice.request("POST", clusters, body);
  const path = `${clusters}/${cluster.id}`;
  await until(`${name} to run`, async () => {
    const { body } = await alice.request("GET", path);
    return body.status === "running" && body.nodes.ready === 2;
  });
  return { path, seconds: secondsSince(startedAt) };
}

async function remove(alice: Tenant, { path }: CreatedCluster): Promise<number> {
  const startedAt = performance.now();
  await alice.request("DELETE", path);
  await until(`${path} to be deleted`, async () => (await alice.request("GET", path)).status === 404);
  return secondsSince(startedAt);
}

/** Pids of all processes of tenants of this stack. */
function listTenantPids(): number[] {
  const folder = join(DIR, "processes");
  const records = readdirSync(folder).filter((file) => file.startsWith("tenant~"));
  return records.map((file) => JSON.parse(readFileSync(join(folder, file), "utf8")).pid);
}

function tenantMemoryMB(): number {
  const kilobytes = listTenantPids().map((pid) =>
    Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1] ?? 0),
  );
  return kilobytes.reduce((sum, one) => sum + one, 0) / 1024;
}

/** Processor time in user and system mode of all tenants, in seconds (proc(5), fields 14 and 15). */
function tenantCpuSeconds(): number {
  const ticks = listTenantPids().map((pid) => {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return Number(fields[11]) + Number(fields[12]);
  });
  return ticks.reduce((sum, one) => sum + one, 0) / TICKS_PER_SECOND;
}

async function tenantCpuPercent(): Promise<number> {
  const before = tenantCpuSeconds();
  await sleep(IDLE_SAMPLE_MS);
  return ((tenantCpuSeconds() - before) / (IDLE_SAMPLE_MS / 1000)) * 100;
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 300_000;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`waited 300 s for ${what}`);
    await sleep(250);
  }
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

function secondsSince(startedAt: number): number {
  return (performance.now() - startedAt) / 1000;
}
