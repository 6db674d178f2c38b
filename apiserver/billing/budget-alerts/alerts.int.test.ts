import { and, asc, eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createId } from "../../../shared/id.ts";
import { webhookEvents } from "../../outbox/table.ts";
import { startTestApp, type TestApp } from "../../testing/app.ts";
import { setRates } from "../rate-card/changes.ts";
import { insertRates } from "../rate-card/store.ts";
import { insertUsage } from "../testing.ts";
import { budgetJobs } from "./jobs.ts";

const STAFF = { kind: "staff", userId: createId(), email: null } as const;
/** February 2026 has 28 days: at 28 EUR a month a unit costs 1 EUR a day. */
const at = (day: number) => new Date(Date.UTC(2026, 1, day));

let api: TestApp;
let orgId: string;
let now: Date;

beforeAll(async () => {
  api = await startTestApp();
  api.deps.now = () => now;
  const rule = { effectiveFrom: new Date("2026-01-01T00:00:00Z"), changedBy: STAFF };
  await insertRates(api.deps.db, new Map([["vcpu", 28_000_000n]]), rule);
});
afterAll(() => api.close());
beforeEach(async () => {
  now = at(1);
  orgId = await api.createOrganization();
  await insertUsage(api.deps.db, { organizationId: orgId, startedAt: at(1) });
});

async function setBudget(limit: number, thresholds: number[]) {
  const body = { monthly_limit_eur: limit, thresholds_pct: thresholds };
  const path = `/api/v1/organizations/${orgId}/billing/budget`;
  expect((await api.request("PUT", path, { body })).status).toBe(200);
}

async function runRound(deps = api.deps) {
  for (const job of budgetJobs(deps)) await job.run(new AbortController().signal);
}

async function readAlerts() {
  const rows = await api.deps.db
    .select()
    .from(webhookEvents)
    .where(and(eq(webhookEvents.orgId, orgId), eq(webhookEvents.type, "usage.alert")))
    .orderBy(asc(webhookEvents.id));
  return rows.map(({ body }) => {
    const { data } = JSON.parse(body);
    return [data.billing_month, data.threshold_pct, data.spend_eur, data.budget_eur];
  });
}

test("a steady cluster alerts as its spend grows with time alone, once per threshold and month", async () => {
  await setBudget(20, [10, 50, 100]);
  await runRound();
  expect(await readAlerts()).toEqual([]);
  now = at(3);
  await runRound();
  await runRound();
  expect(await readAlerts()).toEqual([["2026-02", 10, 2, 20]]);
  now = at(21);
  await runRound();
  expect(await readAlerts()).toEqual([
    ["2026-02", 10, 2, 20],
    ["2026-02", 50, 20, 20],
    ["2026-02", 100, 20, 20],
  ]);
  now = new Date("2026-03-04T00:00:00Z");
  await runRound();
  expect((await readAlerts()).slice(3)).toEqual([["2026-03", 10, 2.71, 20]]);
});

test("a budget that is raised, deleted and created again does not fire again in the month", async () => {
  now = at(11);
  await setBudget(20, [50]);
  await runRound();
  await setBudget(21, [50]);
  now = at(12);
  await runRound();
  await api.request("DELETE", `/api/v1/organizations/${orgId}/billing/budget`);
  await runRound();
  await setBudget(10, [50, 100]);
  await runRound();
  expect((await readAlerts()).map(([, pct]) => pct)).toEqual([50, 100]);
});

test("two replicas in one round send each alert once", async () => {
  await setBudget(20, [10, 50]);
  now = at(12);
  await Promise.all([runRound(), runRound(), runRound()]);
  expect((await readAlerts()).map(([, pct]) => pct)).toEqual([10, 50]);
});

test("a round reads only the budgets that are due", async () => {
  await setBudget(20, [10]);
  await runRound();
  now = at(2);
  let reads = 0;
  const db = new Proxy(api.deps.db, {
    get: (target, key) => {
      if (key === "transaction") reads += 1;
      const value = Reflect.get(target, key);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  await runRound({ ...api.deps, db });
  expect(reads).toBe(0);
});

test("a change of prices is compared in the next round", async () => {
  await setBudget(20, [10]);
  await runRound();
  now = at(2);
  const origin = { principal: { kind: "user", userId: createId() }, asStaff: true } as never;
  await api.deps.db.transaction((tx) =>
    setRates(tx, origin, { rates: new Map([["vcpu", 2_800_000_000n]]), now: () => now }),
  );
  now = new Date(at(2).getTime() + 3_600_000);
  await runRound();
  expect((await readAlerts()).map(([, pct]) => pct)).toEqual([10]);
});

test("what falls due during a round is left to the next one", async () => {
  await setBudget(20, [100]);
  const earlier = orgId;
  orgId = await api.createOrganization();
  await insertUsage(api.deps.db, { organizationId: orgId, startedAt: at(1) });
  now = at(3);
  await setBudget(20, [10]);
  const times = [at(2)];
  const clock = () => times.shift() ?? at(4);
  await runRound({ ...api.deps, now: clock });
  expect([earlier === orgId, await readAlerts()]).toEqual([false, []]);
  now = at(4);
  await runRound();
  expect((await readAlerts()).map(([, pct]) => pct)).toEqual([10]);
});
