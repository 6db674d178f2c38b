import { eq } from "drizzle-orm";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { createId } from "../../../shared/program/id.ts";
import { organizations } from "../../organizations/index.ts";
import { projectedClusters, projectedNodePools } from "../../resources/project/table.ts";
import { projected, projectedPool } from "../../resources/project/testing.ts";
import { startTestApp } from "../../testing/app.ts";
import { FOCUS_CSV } from "../invoices/focus.ts";
import { insertRates } from "../rate-card/store.ts";
import type { UsageInterval } from "../resource-types.ts";
import { insertUsage } from "../testing.ts";

const at = (text: string) => new Date(`2026-02-${text}Z`);

const api = setUp(startTestApp);
let organizationId: string;

beforeAll(async () => {
  api.deps.now = () => at("21T00:00:00");
  // February 2026 has 28 days: at 28 EUR a month a unit costs 1 EUR a day.
  const rates = new Map([["vcpu", 28_000_000n] as const, ["registry", 28_000_000n] as const]);
  const changedBy = { kind: "staff", userId: createId(), email: null } as const;
  await insertRates(api.deps.db, rates, { effectiveFrom: new Date("2026-01-01"), changedBy });
});
beforeEach(async () => {
  organizationId = await api.createOrganization();
});

const insert = (given: Partial<UsageInterval> & Pick<UsageInterval, "startedAt">) =>
  insertUsage(api.deps.db, { organizationId, ...given });
const get = (operation: string, headers = {}) =>
  api.request("GET", `/api/v1/organizations/${organizationId}/billing/${operation}`, { headers });

/** Two clusters with labels, one of them deleted, one without; a pool with a label of its own; a shared registry. */
async function insertLabelled() {
  const { db } = api.deps;
  const [web, shop, bare] = [0, 1, 2].map((n) => projected(organizationId, n));
  if (web === undefined || shop === undefined || bare === undefined) throw new Error("no clusters");
  web.object.spec.labels = { team: "web" };
  shop.object.spec.labels = { team: "shop" };
  const pool = projectedPool(web, 3);
  pool.object.spec.labels = { team: "" };
  await db.insert(projectedClusters).values([web, { ...shop, deletedAt: at("11T00:00:00") }, bare]);
  const amounts = { quotaNodes: 0, quotaVcpus: 0, quotaMemoryGB: 0 };
  await db.insert(projectedNodePools).values({ ...pool, ...amounts });
  const third = { startedAt: at("20T00:00:00"), endedAt: at("20T08:00:00") };
  for (const [clusterId, nodePoolId] of [
    [web.id, null],
    [web.id, pool.id],
    [shop.id, null],
    [bare.id, createId()],
  ] as const)
    await insert({ clusterId, clusterName: "one", nodePoolId, ...third });
  await insert({ resourceType: "registry", quantity: 1n << 30n, startedAt: at("20T00:00:00") });
  return { web, pool };
}

test("usage adds up to the total to the cent, pages and deleted clusters included, by the labels of now", async () => {
  const { web } = await insertLabelled();
  const groups = (await get("usage?group_by=label:team&limit=1")).body.groups;
  expect(groups).toEqual([
    { value: "", amount_cents: 33 },
    { value: "shop", amount_cents: 33 },
    { value: "web", amount_cents: 34 },
    { value: null, amount_cents: 133 },
  ]);
  expect((await get("usage")).body).toMatchObject({ amount_cents: 233 });
  expect((await get("usage")).body).not.toHaveProperty("groups");
  await api.deps.db
    .update(organizations)
    .set({ labels: { team: "all" } })
    .where(eq(organizations.id, organizationId));
  web.object.spec.labels = {};
  await api.deps.db
    .update(projectedClusters)
    .set({ object: web.object })
    .where(eq(projectedClusters.uid, web.uid));
  expect((await get("usage?group_by=label:team")).body.groups).toEqual([
    { value: "", amount_cents: 33 },
    { value: "all", amount_cents: 167 },
    { value: "shop", amount_cents: 33 },
  ]);
});

test("the forecast adds up, and the file has the label as its last column", async () => {
  await insertLabelled();
  const { body } = await get("forecast?group_by=label:team");
  expect(body.groups).toContainEqual({ value: null, amount_cents: 133, forecast_cents: 933 });
  const sum = (field: string) =>
    body.groups.reduce((all: number, one: Record<string, number>) => all + (one[field] ?? 0), 0);
  expect([sum("amount_cents"), sum("forecast_cents")]).toEqual([body.amount_cents, body.forecast_cents]);
  const { body: file } = await get("usage?group_by=label:team", { accept: "text/csv" });
  const cells = file
    .split("\r\n")
    .slice(0, -1)
    .map((row: string) => row.split(",").at(-1));
  expect(cells.toSorted()).toEqual(["", "", "", "label:team", "shop", "web"]);
});

test("a key that nothing has, whatever JavaScript knows by it, has one group with everything", async () => {
  await insertLabelled();
  for (const key of ["constructor", "example.com/other", `${"a".repeat(63)}`])
    expect((await get(`usage?group_by=label:${key}`)).body.groups).toEqual([
      { value: null, amount_cents: 233 },
    ]);
});

test.each([
  "team",
  "label:",
  "label:-a",
  "cluster:x",
  "label:a%20b",
  "label:%3Cscript%3E",
  "label:a,b",
  `label:${"a".repeat(64)}`,
])("%s is refused, of usage and forecast", async (groupBy) => {
  for (const operation of ["usage", "forecast"])
    expect(await get(`${operation}?group_by=${groupBy}`)).toMatchObject({
      status: 400,
      body: { error: { details: [{ field: "group_by", code: "invalid_format" }] } },
    });
  const long = await get(`usage?group_by=label:${"a".repeat(318)}`);
  expect(long.body.error.details[0]).toMatchObject({ field: "group_by" });
});

test("a label to group by is refused with the columns of FOCUS, whether the month is closed or not", async () => {
  for (const month of ["2026-01", "2026-02"])
    expect(
      await get(`usage?month=${month}&group_by=label:team`, { accept: `${FOCUS_CSV}, text/csv;q=0.5` }),
    ).toMatchObject({
      status: 400,
      body: {
        error: {
          message: "The query parameter group_by must be left out with FOCUS, whose Tags hold the labels.",
          details: [{ field: "group_by", code: "unsupported" }],
        },
      },
    });
});
