import { and, eq, isNull } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readStack, waitFor } from "../../../e2e/platform/stack/testing.ts";
import { createEngineer, type Engineer } from "../../../e2e/testing/custom-resources.ts";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { clusterKind } from "../../../shared/crd/cluster.ts";
import { ensureNamespace } from "../../organizations/index.ts";
import { startProjector } from "../../resources/project/projector.ts";
import { startTestApp } from "../../testing/app.ts";
import type { MeteredType } from "../resource-types.ts";
import { createLedgerMetrics } from "../usage/metrics.ts";
import { type LedgerDeps, runRound } from "../usage/round.ts";
import { usageIntervals } from "../usage/table.ts";
import type { CostEffect } from "./schema.ts";

const MS_PER_DAY = 86_400_000;
const POOL = { name: "web", vcpus: 2, memory_gb: 4, disk_gb: 50, desired_nodes: 2, max_nodes: 9 };
const AUTO = {
  name: "auto",
  vcpus: 1,
  memory_gb: 2,
  disk_gb: 20,
  desired_nodes: 1,
  max_vcpus: 3,
  max_memory_gb: 6,
};

const api = setUp(startTestApp);
let engineer: Engineer;
let orgId: string;
let organization: string;
let ledger: LedgerDeps;
let stopProjector: () => Promise<void>;

beforeAll(async () => {
  orgId = await api.createOrganization();
  organization = `/api/v1/organizations/${orgId}`;
  // A request waits for it for 2 s, and no job runs here.
  await ensureNamespace(api.deps, orgId);
  engineer = await createEngineer(readStack(), orgId);
  ledger = { ...api.deps, ledgerMetrics: createLedgerMetrics(api.deps.metrics) };
  const stop = new AbortController();
  const projector = startProjector(api.deps, stop.signal);
  stopProjector = async () => {
    stop.abort();
    await projector.stopped;
  };
  await waitFor("the projector", async () => projector.synced());
});
afterAll(async () => {
  await stopProjector();
  await engineer.close();
});

const round = (now = new Date()) => runRound({ ...ledger, now: () => now }, new AbortController().signal);

function readRunning() {
  const isRunning = and(eq(usageIntervals.organizationId, orgId), isNull(usageIntervals.endedAt));
  return api.deps.db.select().from(usageIntervals).where(isRunning);
}

/** Waits until the ledger has exactly `count` nodes in use, and the resource types in `others`. */
async function waitForNodes(
  count: number,
  others: MeteredType[] = ["control_plane", "public_ip"],
): Promise<void> {
  await waitFor(`${count} nodes in the ledger`, async () => {
    await round();
    const running = (await readRunning()).map(({ resourceType }) => resourceType);
    return (
      running.filter((type) => type === "vcpu").length === count &&
      others.every((type) => running.includes(type))
    );
  });
}

/** Plays the month after the next one day by day, and returns what usage bills for it. */
async function playMonth(): Promise<{ euros: number; types: Record<string, number> }> {
  const today = new Date();
  const start = new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + 2));
  const end = new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + 3));
  for (let day = start.getTime(); day <= end.getTime(); day += MS_PER_DAY) await round(new Date(day));
  api.deps.now = () => end;
  const month = start.toISOString().slice(0, 7);
  const { status, body } = await api.request("GET", `${organization}/billing/usage?month=${month}`);
  api.deps.now = () => new Date();
  expect([status, body.error]).toEqual([200, undefined]);
  const types = body.resource_types.map((one: { resource_type: string; amount_cents: number }) => [
    one.resource_type,
    one.amount_cents / 100,
  ]);
  return { euros: body.amount_eur, types: Object.fromEntries(types) };
}

async function dryRun(method: string, path: string, body?: object): Promise<CostEffect> {
  const found = await api.request(method, `${path}?dry_run=true`, body === undefined ? {} : { body });
  expect([found.status, found.body.error]).toEqual([200, undefined]);
  return found.body.effects.cost;
}

const after = (cost: CostEffect) => {
  const types = cost.resource_types.map((one) => [one.resource_type, one.monthly_eur_after] as const);
  return {
    euros: cost.monthly_eur_after,
    types: Object.fromEntries(types.filter(([, euros]) => euros !== 0)),
  };
};

test("a dry run tells exactly what usage then bills for a full month, for every write of clusters and pools", async () => {
  const clusters = `${organization}/clusters`;
  const body = {
    name: "shop",
    k8s_version: "1.34.2",
    plan: "dev",
    public_endpoint: true,
    node_pools: [POOL],
  };
  const create = await dryRun("POST", clusters, body);
  const created = (await api.request("POST", clusters, { body })).body;
  const cluster = `${clusters}/${created.id}`;
  await waitForNodes(2);
  let billed = await playMonth();
  expect(create.monthly_eur_before).toBe(0);
  expect(after(create)).toEqual(billed);
  expect(billed.euros).toBeGreaterThan(0);

  const usage = { blockStorageGB: 100, loadBalancers: 2, snapshotGB: 7 };
  const { namespace } = engineer;
  const [object] = await engineer.client.listAll(clusterKind, { namespace });
  await engineer.client.apply(
    clusterKind,
    { metadata: { name: object?.metadata.name ?? "", namespace }, status: { usage } },
    { fieldManager: "storage-agent", subresource: "status" },
  );
  await waitForNodes(2, ["storage_block", "loadbalancer", "snapshot"]);
  billed = await playMonth();
  const rename = await dryRun("PUT", cluster, { name: "store" });
  expect([rename.monthly_eur_before, after(rename)]).toEqual([billed.euros, billed]);
  const upgrade = await dryRun("POST", `${cluster}/upgrade`, { target_version: "1.35.1" });
  expect([upgrade.monthly_eur_before, after(upgrade)]).toEqual([billed.euros, billed]);

  const [pool] = (await api.request("GET", `${cluster}/nodepools`)).body.items;
  const change = { desired_nodes: 3, vcpus: 4 };
  const resize = await dryRun("PUT", `${cluster}/nodepools/${pool.id}`, change);
  expect(resize.monthly_eur_before).toBe(billed.euros);
  await api.request("PUT", `${cluster}/nodepools/${pool.id}`, { body: change });
  // Meanwhile nodes of both sizes are in use, at times as many as later.
  await waitFor("3 nodes of the other size, and no others, in the ledger", async () => {
    await round();
    const nodes = (await readRunning()).filter(({ resourceType }) => resourceType === "vcpu");
    return nodes.length === 3 && nodes.every(({ quantity }) => quantity === 4n);
  });
  billed = await playMonth();
  expect(after(resize)).toEqual(billed);

  const add = await dryRun("POST", `${cluster}/nodepools`, AUTO);
  expect(add.monthly_eur_before).toBe(billed.euros);
  expect(add.monthly_eur_max).toBeGreaterThan(add.monthly_eur_after);
  await api.request("POST", `${cluster}/nodepools`, { body: AUTO });
  await waitForNodes(4);
  billed = await playMonth();
  expect(after(add)).toEqual(billed);

  const remove = await dryRun("DELETE", `${cluster}/nodepools/${pool.id}`);
  expect(remove.monthly_eur_before).toBe(billed.euros);
  await api.request("DELETE", `${cluster}/nodepools/${pool.id}`);
  await waitForNodes(1);
  billed = await playMonth();
  expect(after(remove)).toEqual(billed);

  const end = await dryRun("DELETE", cluster);
  expect([end.monthly_eur_before, after(end)]).toEqual([billed.euros, { euros: 0, types: {} }]);
  await api.request("DELETE", cluster);
  await waitFor("nothing to be in use", async () => {
    await round();
    return (await readRunning()).length === 0;
  });
  expect(await playMonth()).toEqual({ euros: 0, types: {} });
});
