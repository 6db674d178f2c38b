import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { LABEL_ORG_ID } from "../../shared/crd/names.ts";
import { STORAGE_INVENTORY_NAME, storageInventoryKind } from "../../shared/crd/storage-inventory.ts";
import { createClient, type KubeClient } from "../../shared/kube/client.ts";
import { loadConnection } from "../../shared/kube/connection.ts";
import { namespaceKind } from "../../shared/kube/core-kinds.ts";
import { createTransport } from "../../shared/kube/transport.ts";
import { readCpuSeconds } from "../platform/programs/proc.ts";
import { startStack } from "../platform/stack/stack.ts";
import type { StackInfo } from "../platform/stack/stack-info.ts";
import { until } from "./measure.ts";
import { readMetrics } from "./operator/metrics.ts";
import { report } from "./report.ts";
import { organizationId } from "./tenants.ts";

const DIR = join(import.meta.dirname, "..", "..", ".marina", "bench-storage");
const ORGANIZATIONS = 1000;
const FILES = 20;
const INTERVAL_SECONDS = 10;
/** All of them within 5 minutes of the last status, so that none is written again for its age. */
const QUIET_ROUNDS = 6;
const LIMIT_SECONDS = 30;
const ROUNDS = 'controller="storage-round"';
const AT_ONCE = 20;

/** Rounds of the shared storage over 1,000 organizations, in folders: nothing moved, and every figure moved. */
export async function benchStorage(): Promise<void> {
  const stack = await startStack({
    provider: "in-memory",
    dir: DIR,
    fresh: true,
    onCrash: "stop",
    operator: { MARINA_STORAGE_INTERVAL_SECONDS: String(INTERVAL_SECONDS) },
  });
  const { info } = stack;
  const transport = createTransport({ connection: loadConnection(info.kubeconfig), qps: 500, burst: 500 });
  try {
    const client = createClient(transport);
    await seedInventories(client);
    await untilUsed(client, (bytes) => bytes === 0);
    const pid = info.processes.operator?.pid ?? 0;

    storeFiles(info);
    const movedFrom = { at: performance.now(), cpu: readCpuSeconds(pid) };
    await untilUsed(client, (bytes) => bytes > 0);
    const moved = {
      seconds: (performance.now() - movedFrom.at) / 1000,
      cpu: readCpuSeconds(pid) - movedFrom.cpu,
    };

    await untilRounds(info, (await countRounds(info)) + 2);
    const before = {
      rounds: await countRounds(info),
      writes: await countWrites(info),
      cpu: readCpuSeconds(pid),
    };
    await untilRounds(info, before.rounds + QUIET_ROUNDS);
    const rounds = (await countRounds(info)) - before.rounds;
    const cpu = (readCpuSeconds(pid) - before.cpu) / rounds;
    report(`storage: ${ORGANIZATIONS} organizations with ${FILES} files each`, [
      { name: "CPU of a round in which nothing moved", value: cpu, unit: "s", limit: LIMIT_SECONDS },
      {
        name: `writes in ${rounds} such rounds`,
        value: (await countWrites(info)) - before.writes,
        unit: "",
        limit: 0,
      },
      {
        name: "CPU until every moved figure is published",
        value: moved.cpu,
        unit: "s",
        limit: LIMIT_SECONDS,
      },
      {
        name: `the same, of the clock (a round every ${INTERVAL_SECONDS} s)`,
        value: moved.seconds,
        unit: "s",
      },
    ]);
  } finally {
    await transport.close();
    await stack.stop();
  }
}

async function seedInventories(client: KubeClient): Promise<void> {
  const options = { fieldManager: "bench" };
  const seedOne = async (n: number) => {
    const orgId = organizationId(n);
    const namespace = `org-${orgId}`;
    const labels = { [LABEL_ORG_ID]: orgId };
    await client.create(namespaceKind, { metadata: { name: namespace, labels } }, options);
    const metadata = { name: STORAGE_INVENTORY_NAME, namespace, labels };
    await client.create(storageInventoryKind, { metadata, spec: {} }, options);
  };
  for (let n = 0; n < ORGANIZATIONS; n += AT_ONCE)
    await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => seedOne(n + index)));
}

function storeFiles({ sharedStorage }: StackInfo): void {
  for (const name of readdirSync(sharedStorage).filter((entry) => entry.startsWith("org-"))) {
    const folder = join(sharedStorage, name, "data");
    mkdirSync(folder);
    for (let file = 0; file < FILES; file += 1) writeFileSync(join(folder, String(file)), "data");
  }
}

async function untilUsed(client: KubeClient, isUsed: (bytes: number) => boolean): Promise<void> {
  const look = async () => {
    const inventories = await client.listAll(storageInventoryKind);
    const done = inventories.filter(
      ({ status }) => status?.usedBytes !== undefined && isUsed(status.usedBytes),
    );
    return done.length >= ORGANIZATIONS;
  };
  await until("the figures of all organizations", look, { timeoutMs: 180_000, everyMs: 500 });
}

async function countRounds({ metrics }: StackInfo): Promise<number> {
  return (await readMetrics(metrics.operator)).sum("marina_operator_reconciles_total", ROUNDS);
}

/** Requests that write a StorageInventory or the times of orphans. */
async function countWrites({ metrics }: StackInfo): Promise<number> {
  const read = await readMetrics(metrics.operator);
  const written = (kind: string) =>
    read.sum("marina_operator_kube_requests_total", `kind="${kind}"`) -
    read.sum("marina_operator_kube_requests_total", `method="GET",kind="${kind}"`);
  return written("storageinventories") + written("configmaps");
}

async function untilRounds(info: StackInfo, count: number): Promise<void> {
  while ((await countRounds(info)) < count) await sleep(200);
}
