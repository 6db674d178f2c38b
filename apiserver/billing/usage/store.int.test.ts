import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { createId } from "../../../shared/program/id.ts";
import { objectRecords } from "../../resources/project/table.ts";
import { startTestApp } from "../../testing/app.ts";
import type { UsageInterval } from "../resource-types.ts";
import { readUsageIntervals } from "./ledger-store.ts";
import { usageEvidence, usageIntervals } from "./table.ts";

const api = setUp(startTestApp);

const at = (text: string) => new Date(`2026-02-${text}Z`);
const [FROM, TO] = [at("10T00:00:00"), at("20T00:00:00")];

/** Writes a row of the ledger unchanged, with an evidence. */
async function insert(row: Partial<UsageInterval> & { correctionOf?: string; subject?: string }) {
  const { db } = api.deps;
  const [id, evidenceId] = [createId(), createId()];
  const organizationId = row.organizationId ?? createId();
  const subject = row.subject ?? createId();
  const sample = { at: "", quantities: {}, clusterId: null, clusterName: null, nodePoolId: null };
  const evidence = { organizationId, kind: "machine", subject, objectUid: subject, sample } as const;
  await db.insert(usageEvidence).values({ id: evidenceId, ...evidence, observedAt: new Date() });
  const interval = {
    clusterId: null,
    clusterName: null,
    nodePoolId: null,
    resourceType: "vcpu" as const,
    quantity: 4n,
    startedAt: FROM,
    endedAt: null,
    ...row,
    organizationId,
  };
  await db.insert(usageIntervals).values({ ...interval, id, subject, evidenceId });
  const { correctionOf: _, subject: _subject, ...stored } = interval;
  return { id, stored: stored as UsageInterval, organizationId };
}

describe("the intervals of a time are those that have a part in it", () => {
  test.each([
    ["9 to 10", at("09T00:00:00"), FROM, false],
    ["9 to one second after the start", at("09T00:00:00"), at("10T00:00:01"), true],
    ["inside", at("12T00:00:00"), at("13T00:00:00"), true],
    ["all of it", at("01T00:00:00"), at("28T00:00:00"), true],
    ["one second before the end", at("19T23:59:59"), null, true],
    ["from the end", TO, null, false],
    ["running since before", at("01T00:00:00"), null, true],
  ])("%s", async (_name, startedAt, endedAt, isPart) => {
    const { stored, organizationId } = await insert({ startedAt, endedAt });
    const read = await readUsageIntervals(api.deps.db, [organizationId], { from: FROM, to: TO });
    expect(read).toEqual(isPart ? [stored] : []);
  });
});

test("a cluster has the name that it has now, and without a record that of its use", async () => {
  const [organizationId, other, clusterId] = [await api.createOrganization(), createId(), createId()];
  const used = { clusterId, clusterName: "before" };
  for (const organization of [organizationId, other]) await insert({ ...used, organizationId: organization });
  await api.deps.db.insert(objectRecords).values({
    id: clusterId,
    orgId: organizationId,
    namespace: `org-${organizationId}`,
    objectName: "shop",
    name: "after",
    nameKey: "after",
    createdAt: FROM,
  });
  const read = await readUsageIntervals(api.deps.db, [organizationId, other], { from: FROM, to: TO });
  const names = new Map(read.map((row) => [row.organizationId, row.clusterName]));
  expect(names).toEqual(
    new Map([
      [organizationId, "after"],
      [other, "before"],
    ]),
  );
});

test("intervals of other organizations are not read, and quantities are exact to the last byte", async () => {
  await insert({});
  const quantity = BigInt(Number.MAX_SAFE_INTEGER);
  const { stored, organizationId } = await insert({ resourceType: "storage_rwx", quantity });
  expect(await readUsageIntervals(api.deps.db, [organizationId], { from: FROM, to: TO })).toEqual([stored]);
  expect(stored.quantity).toBe(9_007_199_254_740_991n);
});

test("a correction is read together with what it corrects", async () => {
  const { id, stored, organizationId } = await insert({ endedAt: TO });
  const correction = await insert({ organizationId, quantity: -4n, endedAt: TO, correctionOf: id });
  expect(await readUsageIntervals(api.deps.db, [organizationId], { from: FROM, to: TO })).toEqual([
    stored,
    correction.stored,
  ]);
});

test("the end of an interval is set once, and nothing else of it changes", async () => {
  const { id } = await insert({});
  const set = (change: Partial<typeof usageIntervals.$inferInsert>) =>
    api.deps.db.update(usageIntervals).set(change).where(eq(usageIntervals.id, id));
  const refused = { cause: { code: "42501" } };
  await expect(set({ quantity: 5n, endedAt: TO })).rejects.toMatchObject(refused);
  await set({ endedAt: TO });
  await expect(set({ endedAt: FROM })).rejects.toMatchObject(refused);
  await expect(set({ endedAt: null })).rejects.toMatchObject(refused);
});

test.each([
  ["a quantity of 0", { quantity: 0n }],
  ["a negative quantity that corrects nothing", { quantity: -1n }],
  ["an end before the start", { startedAt: TO, endedAt: FROM }],
])("%s is refused", async (_name, row) => {
  await expect(insert(row)).rejects.toMatchObject({ cause: { code: "23514" } });
});

test("of one subject and resource type one interval runs at a time", async () => {
  const subject = createId();
  await insert({ subject });
  await insert({ subject, resourceType: "memory" });
  await expect(insert({ subject })).rejects.toMatchObject({ cause: { code: "23505" } });
});
