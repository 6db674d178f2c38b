import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { type Stack, startStack } from "../../platform/stack/stack.ts";
import { secondsSince, until } from "../measure.ts";
import { readStackCpuSeconds } from "../proc.ts";
import { report } from "../report.ts";
import { CLUSTERS, MACHINES_PER_POOL, POOLS, replaceMachines, seedFleet } from "./ledger-seed.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");
const DIR = join(ROOT, ".marina", "bench-billing");
const REST_SECONDS = 30;
/** A tenth of the machines each day. */
const CHANGES_PER_DAY = (POOLS * MACHINES_PER_POOL) / 10;
const CHANGES = 1500;
const CHANGE_SECONDS = 30;
const DAY_SECONDS = 86_400;
const INTERVALS_PER_CLUSTER = 6 + ((POOLS * MACHINES_PER_POOL) / CLUSTERS) * 3;

/**
 * What following the usage of 10,000 clusters with 60,000 machines costs, of which 10 % change each day: CPU of the API
 * server and of Postgres, at rest and per change, as a share of one core; and the disk space of a cluster and month.
 */
export async function benchLedger(): Promise<void> {
  const stack = await startStack({ provider: "in-memory", dir: DIR, fresh: true, onCrash: "stop" });
  const sql = postgres(stack.info.databaseUrl, { max: 1, onnotice: () => undefined });
  try {
    await stack.part("operator").kill("SIGTERM");
    await sleep(10_000);
    const emptyRest = await cpuOfRest(stack);
    await seedFleet(sql);
    const startedAt = performance.now();
    const before = readCpu(stack);
    await until(
      "the first round",
      async () => (await countIntervals(sql)) >= CLUSTERS * INTERVALS_PER_CLUSTER,
    );
    const firstSeconds = secondsSince(startedAt);
    const firstCpu = readCpu(stack) - before;
    const firstBytes = await readBytes(sql);
    await sql`analyze`;
    const rest = Math.max(0, (await cpuOfRest(stack)) - emptyRest);
    const changeCpu = await cpuOfChanges(stack, sql, rest + emptyRest);
    const bytesPerChange = ((await readBytes(sql)) - firstBytes) / CHANGES;
    const share = rest / REST_SECONDS + (changeCpu * CHANGES_PER_DAY) / DAY_SECONDS;
    const monthlyBytes = (firstBytes + 30 * CHANGES_PER_DAY * bytesPerChange) / CLUSTERS;
    report(`ledger of usage, ${CLUSTERS} clusters, ${POOLS * MACHINES_PER_POOL} machines`, [
      { name: "share of one core", value: share * 100, unit: "%", limit: 5 },
      { name: "at rest, share of one core", value: (rest / REST_SECONDS) * 100, unit: "%" },
      { name: "CPU per machine replaced", value: changeCpu * 1000, unit: "ms" },
      { name: "first round of everything", value: firstSeconds, unit: "s" },
      { name: "first round of everything, CPU", value: firstCpu, unit: "s" },
      { name: "disk per cluster and first month", value: monthlyBytes / 1024, unit: "KiB" },
      { name: "disk per machine replaced", value: bytesPerChange / 1024, unit: "KiB" },
    ]);
  } finally {
    await sql.end();
    await stack.stop();
  }
}

function readCpu(stack: Stack): number {
  const cpu = readStackCpuSeconds(stack);
  return (cpu.get("apiserver") ?? 0) + (cpu.get("postgres") ?? 0);
}

/** CPU seconds within the rest. */
async function cpuOfRest(stack: Stack): Promise<number> {
  const before = readCpu(stack);
  await sleep(REST_SECONDS * 1000);
  return readCpu(stack) - before;
}

/** CPU seconds per change, without those of the rest and of the updates that stand for the projection. */
async function cpuOfChanges(stack: Stack, sql: postgres.Sql, rest: number): Promise<number> {
  const intervals = await countIntervals(sql);
  const before = readCpu(stack);
  const startedAt = performance.now();
  let own = 0;
  for (let from = 0; from < CHANGES; from += CHANGES / CHANGE_SECONDS) {
    const atUpdate = readCpu(stack);
    await replaceMachines(sql, from, CHANGES / CHANGE_SECONDS);
    own += readCpu(stack) - atUpdate;
    await sleep(1000);
  }
  await until("all changes", async () => (await countIntervals(sql)) >= intervals + CHANGES * 3);
  const seconds = secondsSince(startedAt);
  return Math.max(0, readCpu(stack) - before - own - (rest / REST_SECONDS) * seconds) / CHANGES;
}

async function countIntervals(sql: postgres.Sql): Promise<number> {
  const [row] = await sql<{ count: number }[]>`select count(*)::int as count from usage_intervals`;
  return row?.count ?? 0;
}

async function readBytes(sql: postgres.Sql): Promise<number> {
  const tables = ["usage_intervals", "usage_evidence", "usage_sources"];
  const [row] = await sql<{ bytes: string }[]>`
    select sum(pg_total_relation_size(name::regclass)) as bytes from unnest(${tables}::text[]) as name`;
  return Number(row?.bytes ?? 0);
}
