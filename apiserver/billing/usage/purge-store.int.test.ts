import { asc, eq, inArray } from "drizzle-orm";
import { expect, test } from "vitest";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { createId } from "../../../shared/program/id.ts";
import { createRegistry } from "../../../shared/program/metrics.ts";
import { organizations } from "../../organizations/index.ts";
import { type ProjectedCluster, projectObservations } from "../../resources/project/index.ts";
import { projectedClusters } from "../../resources/project/table.ts";
import { projected } from "../../resources/project/testing.ts";
import { startTestApp } from "../../testing/app.ts";
import { insertUsage } from "../testing.ts";
import { rebuildIntervals } from "./apply-evidence.ts";
import { listEvidence, purgeNotes } from "./ledger-store.ts";
import { createLedgerMetrics } from "./metrics.ts";
import { runRound } from "./round.ts";
import { usageEvidence, usageFigures, usageIntervals, usageSources } from "./table.ts";

const DAY_MS = 86_400_000;

const api = setUp(startTestApp);
let version = 1000n;

const daysAgo = (days: number) => new Date(Math.floor(Date.now() / 1000) * 1000 - days * DAY_MS);
const round = () =>
  runRound(
    { ...api.deps, ledgerMetrics: createLedgerMetrics(createRegistry()) },
    new AbortController().signal,
  );

function project(object: ProjectedCluster, deleted = false) {
  version += 1n;
  const observation = { object: { ...object, resourceVersion: version }, deleted };
  return api.deps.db.transaction((tx) => projectObservations(tx, [observation]));
}

function aReadyCluster(orgId: string, n: number): ProjectedCluster {
  const cluster = projected(orgId, n);
  const status = { firstReadyAt: daysAgo(20).toISOString() };
  return { ...cluster, object: { ...cluster.object, status } };
}

async function readLedger(orgId: string) {
  const { db } = api.deps;
  const isOwn = eq(usageIntervals.organizationId, orgId);
  const intervals = await db.select().from(usageIntervals).where(isOwn).orderBy(asc(usageIntervals.id));
  const evidence = (await listEvidence(db)).filter(({ organizationId }) => organizationId === orgId);
  return { intervals, evidence };
}

test("of an object without even a tombstone the note goes, and neither the ledger nor what a rebuild gives changes", async () => {
  const { db } = api.deps;
  const orgId = createId();
  const [kept, tombstone, gone] = [1, 2, 3].map((n) => aReadyCluster(orgId, n)) as [
    ProjectedCluster,
    ProjectedCluster,
    ProjectedCluster,
  ];
  for (const cluster of [kept, tombstone, gone]) await project(cluster);
  await round();
  for (const cluster of [tombstone, gone]) await project(cluster, true);
  await round();
  await db.delete(projectedClusters).where(eq(projectedClusters.uid, gone.uid));
  const before = await readLedger(orgId);

  await purgeNotes(db);
  const uids = [kept, tombstone, gone].map(({ uid }) => uid);
  const notes = await db.select().from(usageSources).where(inArray(usageSources.uid, uids));
  expect(notes.map(({ uid }) => uid).toSorted()).toEqual([kept.uid, tombstone.uid].toSorted());
  await round();

  expect(await readLedger(orgId)).toEqual(before);
  const rebuilt = rebuildIntervals(before.evidence, createId);
  const sumOf = (intervals: readonly { startedAt: Date; endedAt: Date | null }[]) =>
    intervals.map(({ startedAt, endedAt }) => `${startedAt.toISOString()} ${endedAt?.toISOString()}`).sort();
  expect(sumOf(rebuilt)).toEqual(sumOf(before.intervals));
});

test("the time of a figure goes when its organization was deleted long ago and nothing of it runs", async () => {
  const { db } = api.deps;
  const cases = [
    { what: "live", deletedAt: null, isRunning: false },
    { what: "deleted lately", deletedAt: daysAgo(29), isRunning: false },
    { what: "deleted long ago", deletedAt: daysAgo(31), isRunning: false },
    { what: "deleted long ago, still running", deletedAt: daysAgo(31), isRunning: true },
  ];
  const subjects = new Map<string, string>();
  for (const { what, deletedAt, isRunning } of cases) {
    const id = await api.createOrganization();
    subjects.set(id, what);
    await db.update(organizations).set({ deletedAt }).where(eq(organizations.id, id));
    await db.insert(usageFigures).values({ kind: "shared_storage", subject: id, measuredAt: daysAgo(40) });
    const endedAt = isRunning ? null : daysAgo(39);
    await insertUsage(db, { organizationId: id, startedAt: daysAgo(40), endedAt, subject: id });
  }
  const evidence = await db.$count(usageEvidence);
  await purgeNotes(db);
  const left = await db
    .select()
    .from(usageFigures)
    .where(inArray(usageFigures.subject, [...subjects.keys()]));
  expect(new Set(left.map(({ subject }) => subjects.get(subject)))).toEqual(
    new Set(["live", "deleted lately", "deleted long ago, still running"]),
  );
  expect(await db.$count(usageEvidence)).toBe(evidence);
});
