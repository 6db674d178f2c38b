import { eq, sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { setUp } from "../../e2e/testing/set-up.ts";
import { createId } from "../../shared/program/id.ts";
import { startTestApp } from "../testing/app.ts";
import {
  addAuditPartitions,
  assignPositions,
  dropOldAuditPartitions,
  insertAuditEntries,
  listAuditEntries,
} from "./store.ts";
import { auditLog } from "./table.ts";

const DAY_MS = 24 * 60 * 60_000;

const api = setUp(startTestApp);

const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MS);
const monthOf = (time: Date) => time.toISOString().slice(0, 7).replace("-", "_");

async function addEntry(orgId: string, at: Date): Promise<string> {
  const id = createId();
  const actor = { kind: "system", name: "test" } as const;
  const target = { targetKind: "organization", targetId: orgId };
  await insertAuditEntries(api.deps.db, [
    { id, at, actor, action: "organization.update", orgId, ...target, result: "done" },
  ]);
  return id;
}

async function partitions(): Promise<string[]> {
  const rows = await api.deps.db.execute<{ tablename: string }>(
    sql`select tablename from pg_tables where schemaname = 'audit_log_partitions' order by tablename`,
  );
  return rows.map(({ tablename }) => tablename);
}

test("a partition lies ready for each of the next twelve months, also after a second run", async () => {
  await addAuditPartitions(api.deps.db, new Date());
  await addAuditPartitions(api.deps.db, new Date());
  const now = new Date();
  const wanted = Array.from({ length: 13 }, (_, months) =>
    monthOf(new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months, 1))),
  );
  expect(await partitions()).toEqual(expect.arrayContaining(wanted));
});

test("entries older than the retention go with their month, and positions go on growing", async () => {
  const orgId = createId();
  await addAuditPartitions(api.deps.db, daysAgo(500));
  await addEntry(orgId, daysAgo(500));
  const old = await addEntry(orgId, daysAgo(490));
  await assignPositions(api.deps.db);
  const lastPosition = (await listAuditEntries(api.deps.db, { orgId, limit: 10 })).at(-1)?.position ?? 0;
  const kept = await addEntry(orgId, daysAgo(399));

  const dropped = await dropOldAuditPartitions(api.deps.db, 400);
  expect(dropped).toContain(monthOf(daysAgo(490)));
  expect(dropped).not.toContain(monthOf(daysAgo(399)));
  await addEntry(orgId, new Date());
  const rows = await listAuditEntries(api.deps.db, { orgId, limit: 10 });
  expect(rows.map(({ id }) => id)).toEqual([kept, expect.any(String)]);
  for (const { position } of rows) expect(position).toBeGreaterThan(lastPosition);
  // A reader whose cursor is a deleted entry continues with the first remaining one.
  const next = await listAuditEntries(api.deps.db, { orgId, limit: 10, cursor: old });
  expect(next.map(({ id }) => id)).toEqual(rows.map(({ id }) => id));
});

test("the database refuses to drop what is not 30 days old", async () => {
  await expect(dropOldAuditPartitions(api.deps.db, 29)).rejects.toMatchObject({
    cause: expect.objectContaining({ message: expect.stringContaining("30 days at least") }),
  });
});

test.each([
  ["an actor", sql`${auditLog.actor} @> '{"manager": "argocd"}'::jsonb`, "Index Cond: (actor @>"],
  ["an action", eq(auditLog.action, "cluster.update"), "Index Cond: (action ="],
])("entries of %s are found by an index", async (_what, condition, plan) => {
  const explained = await api.deps.db.transaction(async (tx) => {
    // The planner of a small table prefers to read all of it.
    await tx.execute(sql`set local enable_seqscan = off`);
    return tx.execute(sql`explain ${tx.select({ id: auditLog.id }).from(auditLog).where(condition)}`);
  });
  expect(JSON.stringify(explained)).toContain(plan);
});
