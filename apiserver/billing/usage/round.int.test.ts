import { asc, eq } from "drizzle-orm";
import { beforeEach, describe, expect, test } from "vitest";
import { setUp } from "../../../e2e/testing/set-up.ts";
import type { NodePoolStatus } from "../../../shared/crd/node-pool.ts";
import { createId } from "../../../shared/program/id.ts";
import { createRegistry } from "../../../shared/program/metrics.ts";
import {
  type ProjectedCluster,
  type ProjectedNodePool,
  projectObservations,
} from "../../resources/project/index.ts";
import { syncPeriods } from "../../resources/project/table.ts";
import { projected, projectedPool } from "../../resources/project/testing.ts";
import { startTestApp } from "../../testing/app.ts";
import { listEvidence } from "./ledger-store.ts";
import { createLedgerMetrics } from "./metrics.ts";
import { type LedgerDeps, runRound } from "./round.ts";
import { usageIntervals, usageRounds } from "./table.ts";
import { SIZE } from "./testing.ts";

const api = setUp(startTestApp);
let deps: LedgerDeps;
let registry: ReturnType<typeof createRegistry>;
let orgId: string;
let version = 1000n;
let n = 0;

beforeEach(async () => {
  registry = createRegistry();
  deps = { ...api.deps, ledgerMetrics: createLedgerMetrics(registry) };
  orgId = createId();
  await api.deps.db.delete(syncPeriods);
  await api.deps.db.delete(usageRounds);
});

const HOUR_MS = 3_600_000;
const ago = (hours: number) => new Date(Math.floor((Date.now() - hours * HOUR_MS) / 1000) * 1000);
const round = () => runRound(deps, new AbortController().signal);

function project(object: ProjectedCluster | ProjectedNodePool, deleted = false) {
  version += 1n;
  const observation = { object: { ...object, resourceVersion: version }, deleted };
  return api.deps.db.transaction((tx) => projectObservations(tx, [observation]));
}

/** A cluster that became ready ten hours ago. */
function aReadyCluster(): ProjectedCluster {
  n += 1;
  const cluster = projected(orgId, n);
  const status = { firstReadyAt: ago(10).toISOString() };
  return { ...cluster, object: { ...cluster.object, status } };
}

function aPoolOf(cluster: ProjectedCluster, status: NodePoolStatus): ProjectedNodePool {
  n += 1;
  const pool = projectedPool(cluster, n);
  return { ...pool, object: { ...pool.object, status } };
}

const aMachine = (uid: string) => {
  const createdAt = ago(9).toISOString();
  return { uid, name: uid, node: "node", ready: true, createdAt, ...SIZE };
};

/** The projection followed the Kubernetes API between these hours ago. */
function watched(startedHoursAgo: number, seenHoursAgo: number) {
  const [startedAt, seenAt] = [ago(startedHoursAgo), ago(seenHoursAgo)];
  return api.deps.db.insert(syncPeriods).values({ id: createId(), startedAt, seenAt });
}

/** `<type> <hours since the start> <hours since the end>`, in hours ago; 0 is now. */
async function readUses(): Promise<string[]> {
  const rows = await api.deps.db
    .select()
    .from(usageIntervals)
    .where(eq(usageIntervals.organizationId, orgId))
    .orderBy(asc(usageIntervals.resourceType), asc(usageIntervals.startedAt));
  const hours = (at: Date) => Math.round((Date.now() - at.getTime()) / HOUR_MS);
  return rows.map(
    ({ resourceType, startedAt, endedAt }) =>
      `${resourceType} from ${hours(startedAt)}${endedAt === null ? "" : ` to ${hours(endedAt)}`}`,
  );
}

const readEnds = async () =>
  Object.fromEntries(
    [...(await registry.metrics()).matchAll(/usage_ends_total\{reason="(\w+)"\} (\d+)/g)].map(
      ([, reason, count]) => [reason, Number(count)],
    ),
  );

test("rounds of many replicas at once write each use once", async () => {
  const cluster = aReadyCluster();
  await project(cluster);
  await project(aPoolOf(cluster, { machines: [aMachine(createId()), aMachine(createId())] }));
  await Promise.all([round(), round(), round(), round()]);
  await round();
  const perMachine = ["disk", "memory", "vcpu"].flatMap((type) => [`${type} from 9`, `${type} from 9`]);
  expect(await readUses()).toEqual(["control_plane from 10", ...perMachine].sort());
  const evidence = (await listEvidence(api.deps.db)).filter(({ organizationId }) => organizationId === orgId);
  expect(evidence).toHaveLength(3);
});

describe("a cluster that is deleted with its pool", () => {
  const remove = async () => {
    const cluster = aReadyCluster();
    const pool = aPoolOf(cluster, { machines: [aMachine(createId())] });
    await project(cluster);
    await project(pool);
    await round();
    await project(pool, true);
    await project(cluster, true);
  };
  const ended = (hours: number) =>
    ["control_plane from 10", "disk from 9", "memory from 9", "vcpu from 9"].map(
      (use) => `${use} to ${hours}`,
    );

  test("counts until it was seen to be deleted, while the projection followed the Kubernetes API", async () => {
    await remove();
    await watched(20, 5);
    await watched(4, 0);
    await round();
    expect(await readUses()).toEqual(ended(0));
    expect(await readEnds()).toEqual({ ended: 2, not_seen: 0, expired: 0 });
  });

  test("counts until it was last seen, when it was found missing later, and that is counted", async () => {
    await remove();
    await watched(20, 5);
    await round();
    expect(await readUses()).toEqual(ended(5));
    expect(await readEnds()).toEqual({ ended: 0, not_seen: 2, expired: 0 });
  });

  test("counts until its deletion was found when nothing was ever recorded of watches", async () => {
    await remove();
    await round();
    expect(await readUses()).toEqual(ended(0));
  });
});

test("a machine that a pool names no more counts until the last round in which everything was seen", async () => {
  const cluster = aReadyCluster();
  const pool = aPoolOf(cluster, { machines: [aMachine(createId())] });
  await watched(20, 3);
  await project(cluster);
  await project(pool);
  await round();
  await project({ ...pool, object: { ...pool.object, status: {} } });
  await watched(20, 0);
  await round();
  expect((await readUses()).filter((use) => use.startsWith("vcpu"))).toEqual(["vcpu from 9 to 3"]);
  expect(await readEnds()).toMatchObject({ not_seen: 1 });
});

test("a cluster whose object was restored with another uid goes on", async () => {
  const cluster = aReadyCluster();
  await project(cluster);
  await round();
  await project({ ...cluster, uid: crypto.randomUUID() });
  await round();
  expect(await readUses()).toEqual(["control_plane from 10"]);
});

test("an object that cannot be written is left for later, stops no other one, and the round is not complete", async () => {
  const [bad, good] = [aReadyCluster(), aReadyCluster()];
  const broken = { ...bad, object: { ...bad.object, status: { firstReadyAt: "yesterday" } } };
  await project(broken);
  await project(good);
  await watched(20, 0);
  await round();
  expect(await readUses()).toEqual(["control_plane from 10"]);
  expect(await api.deps.db.select().from(usageRounds)).toEqual([]);
  await project(bad);
  await round();
  expect(await readUses()).toEqual(["control_plane from 10", "control_plane from 10"]);
  expect(await api.deps.db.select().from(usageRounds)).toHaveLength(1);
});
