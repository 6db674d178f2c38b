import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { readCpuSeconds, readMemoryMB } from "../platform/programs/proc.ts";
import { type Stack, startStack } from "../platform/stack/stack.ts";
import { createTenant } from "../testing/tenant.ts";
import { type Figure, report } from "./report.ts";

const DIR = join(import.meta.dirname, "..", "..", ".marina", "bench-events");
const CLUSTERS = 500;
const STREAMS = 5000;
const STALLED = 50;
const PER_SECOND = 200;
const LOADERS = 2;
const MEASURE_MS = 60_000;
/** How long all clients are disconnected in the storm, while events continue. */
const AWAY_MS = 2_000;
/** About 8 MB: more than the socket buffers of a client that does not read. */
const BACKLOG = 6_000;

/** A process that executes commands, one line of JSON each. */
interface Worker {
  pid: number;
  order<T>(order: object): Promise<T>;
  end(): void;
}

interface LoaderFigures {
  latencies: number[];
  missing: number;
  doubled: number;
  refused: number;
  broken: number;
  /** Connections that failed before the response and were retried. */
  retried: number;
}

/**
 * The live feed with 5,000 streams over 500 clusters, 50 of which do not read, and 200 events a second; then all of
 * them reconnect at once with Last-Event-ID. The CPU of the reading and writing processes is reported separately.
 */
export async function benchEvents(): Promise<void> {
  const most = String(STREAMS + 1000);
  const apiserver = {
    // The clusters are only rows: a projector would delete them.
    MARINA_ROLES: "api",
    MARINA_MAX_CONNECTIONS_PER_ADDRESS: most,
    MARINA_MAX_STREAMS: most,
    MARINA_MAX_STREAMS_PER_PRINCIPAL: most,
    MARINA_MAX_STREAMS_PER_USER: most,
    MARINA_MAX_STREAMS_PER_ORGANIZATION: most,
  };
  const stack = await startStack({
    provider: "in-memory",
    dir: DIR,
    fresh: true,
    onCrash: "stop",
    apiserver,
  });
  const workers: Worker[] = [];
  const start = (file: string, ...args: string[]) => {
    const worker = startWorker(file, args);
    workers.push(worker);
    return worker;
  };
  try {
    await stack.part("operator").kill("SIGTERM");
    const { orgId, path, clusterIds, deepId } = await seedClusters(stack);
    const writer = start("apiserver/system-events/append.bench.ts", stack.info.databaseUrl);
    await writer.order({ do: "backlog", orgId, clusterId: deepId, count: BACKLOG });
    const loaders = Array.from({ length: LOADERS }, () => start("e2e/bench/event-streams.ts"));
    const bench = { stack, writer, loaders, orgId, path, clusterIds, deepId };
    const opening = await openAll(bench);
    const steady = await measureSteady(bench);
    const storm = await measureStorm(bench);
    report("events", [...opening, ...steady, ...storm]);
  } finally {
    for (const worker of workers) worker.end();
    await stack.stop();
  }
}

interface Bench {
  stack: Stack;
  writer: Worker;
  loaders: readonly Worker[];
  /** Path of the clusters. */
  orgId: string;
  path: string;
  clusterIds: readonly string[];
  /** A cluster with a long history, for the streams that do not read. */
  deepId: string;
}

const READING = STREAMS - STALLED;

async function openAll({ stack, loaders, path, clusterIds }: Bench): Promise<Figure[]> {
  const streams = Array.from({ length: READING }, (_, index) => {
    const clusterId = clusterIds[index % clusterIds.length] ?? "";
    return { clusterId, path: `${path}/${clusterId}/system-events` };
  });
  const startedMs = performance.now();
  await Promise.all(
    loaders.map((loader, n) =>
      loader.order({ do: "open", ...targetOf(stack), streams: streams.filter((_, i) => i % LOADERS === n) }),
    ),
  );
  await waitUntilSeen(loaders, {});
  return [{ name: "4,950 streams opened at once", value: secondsSince(startedMs), unit: "s" }];
}

async function measureSteady(bench: Bench): Promise<Figure[]> {
  const { stack, writer, loaders, orgId, path, clusterIds, deepId } = bench;
  await writer.order({ do: "run", orgId, clusterIds, perSecond: PER_SECOND });
  const paths = Array.from({ length: STALLED / LOADERS }, () => `${path}/${deepId}/system-events`);
  for (const loader of loaders) await loader.order({ do: "stall", ...targetOf(stack), paths });
  await takeFigures(loaders);
  await readMetric(stack, "nodejs_eventloop_lag_p99_seconds");
  const { pid } = stack.part("apiserver");
  const load = [...loaders, writer];
  const startedMs = performance.now();
  const cpuBefore = [readCpuSeconds(pid), sumOf(load.map((worker) => readCpuSeconds(worker.pid)))] as const;
  let residentMb = 0;
  while (performance.now() - startedMs < MEASURE_MS) {
    await sleep(1000);
    residentMb = Math.max(residentMb, readMemoryMB(pid).now);
  }
  const seconds = secondsSince(startedMs);
  const cpu = ((readCpuSeconds(pid) - cpuBefore[0]) / seconds) * 100;
  const loadCpu = ((sumOf(load.map((one) => readCpuSeconds(one.pid))) - cpuBefore[1]) / seconds) * 100;
  const lagMs = (await readMetric(stack, "nodejs_eventloop_lag_p99_seconds")) * 1000;
  const figures = await takeFigures(loaders);
  const cutOff = await readMetric(stack, "marina_apiserver_event_streams_cut_off_total");
  return [
    { name: "events received a second", value: figures.latencies.length / seconds, unit: "" },
    { name: "event to client: p50", value: percentile(figures.latencies, 0.5), unit: "ms" },
    { name: "event to client: p99", value: percentile(figures.latencies, 0.99), unit: "ms", limit: 250 },
    { name: "event to client: longest", value: percentile(figures.latencies, 1), unit: "ms" },
    { name: "API server: resident memory, most", value: residentMb, unit: "MB", limit: 400 },
    { name: "API server: event loop, p99", value: lagMs, unit: "ms", limit: 50 },
    { name: "API server: CPU of one core", value: cpu, unit: "%" },
    { name: "load and writer: CPU of one core", value: loadCpu, unit: "%" },
    { name: "stalled streams that were not cut off", value: STALLED - cutOff, unit: "", limit: 0 },
    { name: "events lost", value: figures.missing, unit: "", limit: 0 },
    { name: "events twice", value: figures.doubled, unit: "", limit: 0 },
    { name: "streams refused or broken", value: figures.refused + figures.broken, unit: "", limit: 0 },
  ];
}

async function measureStorm({ stack, writer, loaders, clusterIds }: Bench): Promise<Figure[]> {
  const { pid } = stack.part("apiserver");
  await readMetric(stack, "nodejs_eventloop_lag_p99_seconds");
  for (const loader of loaders) await loader.order({ do: "sever" });
  await sleep(AWAY_MS);
  await takeFigures(loaders);
  const startedMs = performance.now();
  const cpuBefore = readCpuSeconds(pid);
  await Promise.all(loaders.map((loader) => loader.order({ do: "reopen" })));
  await waitUntilSeen(loaders, {});
  const openSeconds = secondsSince(startedMs);
  const counts = await writer.order<Record<string, number>>({ do: "stop" });
  await waitUntilSeen(loaders, counts);
  const caughtUpSeconds = secondsSince(startedMs);
  const cpuSeconds = readCpuSeconds(pid) - cpuBefore;
  const lagMs = (await readMetric(stack, "nodejs_eventloop_lag_p99_seconds")) * 1000;
  const figures = await takeFigures(loaders);
  const total = sumOf(clusterIds.map((id) => counts[id] ?? 0));
  return [
    { name: "storm: every stream open again", value: openSeconds, unit: "s" },
    { name: "storm: and up to date", value: caughtUpSeconds, unit: "s" },
    { name: "storm: API server, CPU", value: cpuSeconds, unit: "s" },
    { name: "storm: API server, event loop p99", value: lagMs, unit: "ms" },
    { name: "storm: resident memory", value: readMemoryMB(pid).now, unit: "MB", limit: 400 },
    { name: "storm: events written before and during", value: total, unit: "" },
    { name: "storm: events lost", value: figures.missing, unit: "", limit: 0 },
    { name: "storm: events twice", value: figures.doubled, unit: "", limit: 0 },
    { name: "storm: connections retried", value: figures.retried, unit: "" },
    { name: "storm: streams refused or broken", value: figures.refused + figures.broken, unit: "", limit: 0 },
  ];
}

/** Creates one cluster by REST, and copies its row for the others. */
async function seedClusters(stack: Stack): Promise<Pick<Bench, "orgId" | "path" | "clusterIds" | "deepId">> {
  const alice = createTenant(stack.info.apiUrl, stack.info.tokens.alice);
  const { body: organization } = await alice.request("POST", "/organizations", { name: "Streams" });
  const path = `/organizations/${organization.id}/clusters`;
  const { body: cluster } = await alice.request("POST", path, { name: "deep", k8s_version: "1.34" });
  const sql = postgres(stack.info.databaseUrl, { max: 1, onnotice: () => undefined });
  try {
    const rows = await sql<{ id: string }[]>`
      INSERT INTO projected_clusters
        (uid, id, org_id, namespace, name, display_name, status, resource_version, updated_at, network_updated_at, object)
      SELECT gen_random_uuid(), gen_random_uuid(), org_id, namespace, 'stream-' || n, 'stream-' || n, status,
             resource_version, updated_at, network_updated_at, object
        FROM projected_clusters, generate_series(1, ${CLUSTERS}) AS n WHERE id = ${cluster.id}
      RETURNING id`;
    await sql`ANALYZE`;
    return {
      orgId: organization.id,
      path: `/api/v1${path}`,
      clusterIds: rows.map(({ id }) => id),
      deepId: cluster.id,
    };
  } finally {
    await sql.end();
  }
}

function startWorker(file: string, args: string[]): Worker {
  const entry = join(import.meta.dirname, "..", "..", file);
  const child: ChildProcess = spawn(process.execPath, [entry, ...args], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  if (child.stdin === null || child.stdout === null) throw new Error(`${file} has no input or output`);
  const { stdin } = child;
  const responses = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    pid: child.pid ?? 0,
    async order(order) {
      stdin.write(`${JSON.stringify(order)}\n`);
      const { value, done } = await responses.next();
      if (done === true) throw new Error(`${file} has ended`);
      return JSON.parse(value);
    },
    end: () => void child.kill("SIGKILL"),
  };
}

function targetOf(stack: Stack): { port: number; token: string } {
  return { port: Number(new URL(stack.info.apiUrl).port), token: stack.info.tokens.alice };
}

async function waitUntilSeen(loaders: readonly Worker[], counts: Record<string, number>): Promise<void> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const seen = sumOf(await Promise.all(loaders.map((one) => one.order<number>({ do: "seen", counts }))));
    if (seen === READING) return;
    if (Date.now() > deadline) throw new Error(`only ${seen} of ${READING} streams are where they should be`);
    await sleep(50);
  }
}

async function takeFigures(loaders: readonly Worker[]): Promise<LoaderFigures> {
  const all = await Promise.all(loaders.map((one) => one.order<LoaderFigures>({ do: "figures" })));
  return {
    latencies: all.flatMap(({ latencies }) => latencies),
    missing: sumOf(all.map(({ missing }) => missing)),
    doubled: sumOf(all.map(({ doubled }) => doubled)),
    refused: sumOf(all.map(({ refused }) => refused)),
    broken: sumOf(all.map(({ broken }) => broken)),
    retried: sumOf(all.map(({ retried }) => retried)),
  };
}

/** One value of /metrics; event loop delays are reset by each reading. */
async function readMetric(stack: Stack, name: string): Promise<number> {
  const text = await (await fetch(stack.info.metrics.apiserver)).text();
  return Number(new RegExp(`^${name} (.+)$`, "m").exec(text)?.[1]);
}

function percentile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function secondsSince(startedMs: number): number {
  return (performance.now() - startedMs) / 1000;
}
