import { and, asc, eq, sql } from "drizzle-orm";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { waitFor } from "../../../e2e/platform/stack/testing.ts";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { createId } from "../../../shared/program/id.ts";
import { countLockWaits } from "../../db/testing.ts";
import { webhookEvents } from "../../events/table.ts";
import { startTestApp } from "../../testing/app.ts";
import { markDue } from "../budgets/store.ts";
import { budgetAlerts } from "../budgets/table.ts";
import { budgetJobs } from "../jobs.ts";
import { lockLastRateChange, setRates } from "../rate-card/changes.ts";
import { insertRates } from "../rate-card/store.ts";
import { insertUsage } from "../testing.ts";

const STAFF = { kind: "staff", userId: createId(), email: null } as const;
/** February 2026 has 28 days: at 28 EUR a month a unit costs 1 EUR a day. */
const at = (day: number) => new Date(Date.UTC(2026, 1, day));
/** Two days of a unit with a budget of 20 EUR. */
const TWO_EUROS = ["2026-02", 10, 2, 20];

const api = setUp(startTestApp);
let orgId: string;
let now: Date;

beforeAll(async () => {
  api.deps.now = () => now;
  const rule = { effectiveFrom: new Date("2026-01-01T00:00:00Z"), changedBy: STAFF };
  await insertRates(api.deps.db, new Map([["vcpu", 28_000_000n]]), rule);
});
beforeEach(async () => {
  now = at(1);
  orgId = await api.createOrganization();
  await insertUsage(api.deps.db, { organizationId: orgId, startedAt: at(1) });
});

async function setBudget(limit: number, thresholds: number[], of = orgId) {
  const body = { monthly_limit_eur: limit, thresholds_pct: thresholds };
  const path = `/api/v1/organizations/${of}/billing/budget`;
  expect((await api.request("PUT", path, { body })).status).toBe(200);
}

/** Organizations that spend as many EUR a day as the quantity, and have a budget of 20 EUR a month. Ordered by id. */
async function addOrganizations(count: number, thresholds: number[], quantity = 1n): Promise<string[]> {
  const orgIds = [];
  for (let n = 0; n < count; n++) {
    const added = await api.createOrganization();
    await insertUsage(api.deps.db, { organizationId: added, startedAt: at(1), quantity });
    await setBudget(20, thresholds, added);
    orgIds.push(added);
  }
  return orgIds.toSorted();
}

async function runRound(deps = api.deps) {
  for (const job of budgetJobs(deps)) await job.run(new AbortController().signal);
}

/** The test's dependencies; `count` returns how many transactions were begun with them. */
function countTransactions() {
  let begun = 0;
  const db = new Proxy(api.deps.db, {
    get: (target, key) => {
      if (key === "transaction") begun += 1;
      const value = Reflect.get(target, key);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return { deps: { ...api.deps, db }, count: () => begun };
}

/**
 * Until `start` ends no round can write what it has compared. It answers with an object: a promise would be awaited
 * before.
 */
function holdAlerts<Started extends object>(start: () => Promise<Started>): Promise<Started> {
  return api.deps.db.transaction(async (tx) => {
    await tx.execute(sql`lock table budget_alerts in share mode`);
    return start();
  });
}

async function readAlerts(of = orgId) {
  const rows = await api.deps.db
    .select()
    .from(webhookEvents)
    .where(and(eq(webhookEvents.orgId, of), eq(webhookEvents.type, "usage.alert")))
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

test("replicas in one round send each alert once", async () => {
  const orgIds = await addOrganizations(5, [10, 50]);
  now = at(12);
  const rounds = await holdAlerts(async () => {
    let ended = 0;
    const started = [1, 2, 3].map(() => runRound().then(() => (ended += 1)));
    const countMet = async () => ended + (await countLockWaits(api.deps.sql));
    await waitFor("every round to wait or to end", async () => (await countMet()) === started.length);
    return { started };
  });
  await Promise.all(rounds.started);
  for (const of of orgIds) expect((await readAlerts(of)).map(([, pct]) => pct)).toEqual([10, 50]);
});

test("organizations that are due at once are compared in one transaction, each with its own usage and thresholds", async () => {
  const [steady = "", grown = "", told = ""] = await addOrganizations(3, [10, 50]);
  now = at(3);
  await setBudget(2, [10, 50], told);
  await runRound();
  await insertUsage(api.deps.db, { organizationId: grown, startedAt: at(1), quantity: 4n });
  for (const of of [steady, grown, told]) await setBudget(20, [10, 50], of);
  const { deps, count } = countTransactions();
  await runRound(deps);
  expect(count()).toBe(1);
  expect(await readAlerts(steady)).toEqual([["2026-02", 10, 2, 20]]);
  expect(await readAlerts(grown)).toEqual([
    ["2026-02", 10, 2, 20],
    ["2026-02", 50, 10, 20],
  ]);
  expect(await readAlerts(told)).toEqual([
    ["2026-02", 10, 2, 2],
    ["2026-02", 50, 2, 2],
  ]);
});

test("organizations with more alerts than a transaction may have get all of them, in several", async () => {
  const thresholds = Array.from({ length: 100 }, (_, n) => n + 1);
  const orgIds = await addOrganizations(11, thresholds, 20n);
  now = at(3);
  const { deps, count } = countTransactions();
  await runRound(deps);
  expect(count()).toBe(3);
  for (const of of orgIds) expect((await readAlerts(of)).map(([, pct]) => pct)).toEqual(thresholds);
});

test("an organization whose alert cannot be written stops no other one of its batch, and is tried again", async () => {
  const orgIds = await addOrganizations(5, [10]);
  const [, , broken = ""] = orgIds;
  const refused = `alter table budget_alerts add constraint refused check (org_id <> '${broken}')`;
  await api.deps.db.execute(sql.raw(refused));
  now = at(3);
  await runRound();
  await runRound();
  for (const of of orgIds) expect([of, await readAlerts(of)]).toEqual([of, of === broken ? [] : [TWO_EUROS]]);
  await api.deps.db.execute(sql`alter table budget_alerts drop constraint refused`);
  await runRound();
  expect(await readAlerts(broken)).toEqual([TWO_EUROS]);
});

test("an amount of any size is alerted, and kept to the cent", async () => {
  const quantity = 98_765_432_109_876_543_210n;
  const [of = ""] = await addOrganizations(1, [10], quantity);
  now = at(3);
  await runRound();
  const rows = await api.deps.db.select().from(budgetAlerts).where(eq(budgetAlerts.orgId, of));
  expect(rows.map(({ spendCents }) => spendCents)).toEqual([2n * 100n * quantity]);
  // As a number of JSON it is the largest whole number of cents that every client reads exactly.
  expect(await readAlerts(of)).toEqual([["2026-02", 10, Number.MAX_SAFE_INTEGER / 100, 20]]);
});

test("usage that is stored while a round compares is compared in the next one", async () => {
  await setBudget(20, [10, 50]);
  now = at(3);
  const { db, sql: outside } = api.deps;
  const { round, marked } = await holdAlerts(async () => {
    const round = runRound();
    await waitFor("the round to write what it has compared", async () => (await countLockWaits(outside)) > 0);
    await insertUsage(db, { organizationId: orgId, startedAt: at(1), quantity: 4n });
    let isMarked = false;
    const marked = db.transaction((tx) => markDue(tx, [orgId], now)).then(() => (isMarked = true));
    const isMet = async () => isMarked || (await countLockWaits(outside)) > 1;
    await waitFor("the budget to be marked, or the change to wait", isMet);
    return { round, marked };
  });
  await Promise.all([round, marked]);
  expect(await readAlerts()).toEqual([TWO_EUROS]);
  await runRound();
  expect((await readAlerts()).slice(1)).toEqual([["2026-02", 50, 10, 20]]);
});

test("a round reads only the budgets that are due", async () => {
  await setBudget(20, [10]);
  await runRound();
  now = at(2);
  const { deps, count } = countTransactions();
  await runRound(deps);
  expect(count()).toBe(0);
});

test("a change of prices is compared in the next round", async () => {
  await setBudget(20, [10]);
  await runRound();
  now = at(2);
  const author = { principal: { kind: "user", userId: createId() }, asStaff: true } as never;
  await api.deps.db.transaction(async (tx) => {
    const last = await lockLastRateChange(tx);
    return setRates(tx, author, { rates: new Map([["vcpu", 2_800_000_000n]]), last, now: () => now });
  });
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
