import diagnostics from "node:diagnostics_channel";
import { readFileSync } from "node:fs";
import { readLeftovers } from "./leftovers.ts";
import { readChecks } from "./tenant-reader.ts";
import { aCluster, createReader } from "./testing-tenant.ts";

/** With the deadline that requests have. */
const DEADLINE_MS = 5_000;
const RUNS = 100;

const [, , kubeconfigFile = "", server = "", target = ""] = process.argv;
const reader = createReader(readFileSync(kubeconfigFile, "utf8"), DEADLINE_MS);
const cluster = aCluster(server);

/** The bytes of each response since the last run began. */
let bytesOf = new Map<object, number>();
diagnostics.subscribe("undici:request:bodyChunkReceived", (message) => {
  const { request, chunk } = message as { request: object; chunk: Uint8Array };
  bytesOf.set(request, (bytesOf.get(request) ?? 0) + chunk.length);
});

async function measure(read: () => Promise<unknown>) {
  const seconds: number[] = [];
  let found: unknown;
  for (let run = 0; run < RUNS; run++) {
    bytesOf = new Map();
    const startedAt = performance.now();
    found = await read();
    seconds.push((performance.now() - startedAt) / 1000);
  }
  const bytes = [...bytesOf.values()];
  return {
    seconds,
    calls: bytes.length,
    largestCallBytes: Math.max(...bytes),
    allBytes: bytes.reduce((sum, one) => sum + one, 0),
    // Undefined where nothing is known: its figures say nothing then.
    found: Array.isArray(found) ? found.length : undefined,
    unknown: JSON.stringify(found).match(/"unknown".{0,300}/)?.[0],
  };
}

const leftovers = await measure(() => readLeftovers(reader, cluster));
const checks = await measure(async () => (await readChecks(reader, cluster, [target]))(target));
process.stdout.write(JSON.stringify({ leftovers, checks }));
