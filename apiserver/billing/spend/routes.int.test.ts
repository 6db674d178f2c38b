import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { createId } from "../../../shared/program/id.ts";
import { startTestApp } from "../../testing/app.ts";
import { FOCUS_CSV } from "../invoices/focus.ts";
import { insertRates } from "../rate-card/store.ts";
import type { UsageInterval } from "../resource-types.ts";
import { insertUsage } from "../testing.ts";

const STAFF = { kind: "staff", userId: createId(), email: null } as const;
const at = (text: string) => new Date(`2026-02-${text}Z`);
/** February 2026 has 28 days: at 28 EUR a month a unit costs 1 EUR a day. */
const MICRO_EUROS = 28_000_000n;

const api = setUp(startTestApp);
let organizationId: string;

beforeAll(async () => {
  api.deps.now = () => at("21T00:00:00.500");
  const rates = new Map([
    ["vcpu", MICRO_EUROS],
    ["memory", MICRO_EUROS],
    ["registry", MICRO_EUROS],
    ["public_ip", MICRO_EUROS],
  ] as const);
  const rule = { effectiveFrom: new Date("2026-01-01T00:00:00Z"), changedBy: STAFF };
  await insertRates(api.deps.db, rates, rule);
});
beforeEach(async () => {
  organizationId = await api.createOrganization();
});

const insert = (given: Partial<UsageInterval>) =>
  insertUsage(api.deps.db, { organizationId, startedAt: at("01T00:00:00"), ...given });
const get = (operation: string, headers = {}) =>
  api.request("GET", `/api/v1/organizations/${organizationId}/billing/${operation}`, { headers });

describe("GET billing/usage", () => {
  test("an organization without usage has spent nothing", async () => {
    expect(await get("usage")).toMatchObject({
      status: 200,
      body: {
        org_id: organizationId,
        month: "2026-02",
        period_start: "2026-02-01T00:00:00.000Z",
        period_end: "2026-03-01T00:00:00.000Z",
        rated_until: "2026-02-21T00:00:00.000Z",
        amount_cents: 0,
        amount_eur: 0,
        resource_types: [],
        items: [],
        next_cursor: null,
      },
    });
  });

  test("an open month is not there in the columns of FOCUS: whoever accepts another form gets that, the others 406", async () => {
    const fallback = await get("usage", { accept: `${FOCUS_CSV}, application/json;q=0.5` });
    expect(fallback).toMatchObject({ status: 200, body: { month: "2026-02" } });
    const refused = await get("usage", { accept: FOCUS_CSV });
    expect(refused).toMatchObject({ status: 406, body: { error: { code: "not_acceptable" } } });
    expect(refused.body.error.message).toContain(
      "2026-02 is not closed. Offered: application/json, text/csv.",
    );
  });

  test("tells each cluster, node pool, resource type and day, and the sum of the rounded lines", async () => {
    const cluster = { clusterId: createId(), clusterName: "production" };
    const nodePoolId = createId();
    await insert({ ...cluster, nodePoolId, quantity: 2n, startedAt: at("19T12:00:00") });
    await insert({ ...cluster, resourceType: "public_ip", startedAt: at("20T00:00:00") });
    await insert({ resourceType: "registry", quantity: 1n << 30n, endedAt: at("02T00:00:00") });
    const { body } = await get("usage?month=2026-02");
    expect(body).toMatchObject({ amount_cents: 3200, amount_eur: 32 });
    expect(body.resource_types).toEqual(
      expect.arrayContaining([
        { resource_type: "registry", amount_cents: 100 },
        { resource_type: "vcpu", amount_cents: 300 },
        { resource_type: "public_ip", amount_cents: 2800 },
      ]),
    );
    expect(body.items).toMatchObject([
      { cluster_id: null, cluster_name: null, amount_cents: 100 },
      { cluster_id: cluster.clusterId, cluster_name: "production", amount_cents: 3100 },
    ]);
    const { resources } = body.items[1];
    expect(resources.find((one: { resource_type: string }) => one.resource_type === "vcpu")).toEqual({
      node_pool_id: nodePoolId,
      resource_type: "vcpu",
      unit_price_eur: "28.000000",
      used_unit_seconds: "259200",
      unit_seconds: "259200",
      amount_eur: "3.000000000000",
      days: [
        {
          date: "2026-02-19",
          used_unit_seconds: "86400",
          unit_seconds: "86400",
          amount_eur: "1.000000000000",
        },
        {
          date: "2026-02-20",
          used_unit_seconds: "172800",
          unit_seconds: "172800",
          amount_eur: "2.000000000000",
        },
      ],
    });
  });

  test("its pages hold every cluster once, and each has the total of the month", async () => {
    const ids = Array.from({ length: 5 }, () => createId());
    for (const clusterId of ids) await insert({ clusterId, clusterName: "one" });
    await insert({ resourceType: "registry", quantity: 1n << 30n });
    const seen: (string | null)[] = [];
    let cursor: string | null = null;
    do {
      const { body } = await get(`usage?limit=2${cursor === null ? "" : `&cursor=${cursor}`}`);
      expect(body.amount_cents).toBe(12_000);
      seen.push(...body.items.map((item: { cluster_id: string | null }) => item.cluster_id));
      cursor = body.next_cursor;
    } while (cursor !== null);
    expect(seen).toEqual([null, ...ids.toSorted()]);
  });

  test("as CSV it holds every row, in the order of days", async () => {
    const clusterId = createId();
    await insert({ clusterId, clusterName: '=cmd, "one"', startedAt: at("20T00:00:00") });
    await insert({ resourceType: "registry", quantity: 7n, startedAt: at("19T23:59:59") });
    const { status, headers, body } = await get("usage?limit=1", { accept: "text/csv" });
    expect(status).toBe(200);
    expect(headers.get("content-disposition")).toBe("attachment; filename=2026-02-usage.csv");
    const [header, first, ...rest] = body.split("\r\n");
    expect(header).toBe(
      "date,cluster_id,cluster_name,node_pool_id,resource_type,unit_price_eur,used_unit_seconds,unit_seconds,unit_size,month_seconds,amount_eur",
    );
    expect(first).toBe("2026-02-19,,,,registry,28.000000,7,7,1073741824,2419200,0.000000000000");
    expect(rest).toEqual(
      expect.arrayContaining([
        "2026-02-20,,,,registry,28.000000,604800,604800,1073741824,2419200,0.000000006519",
        `2026-02-20,${clusterId},"'=cmd, ""one""",,vcpu,28.000000,86400,86400,1,2419200,1.000000000000`,
        "",
      ]),
    );
    const dates = rest.slice(0, -1).map((row: string) => row.split(",")[0]);
    expect(dates).toEqual(dates.toSorted());
  });

  test("a rate that changes counts from its second on, in the next request", async () => {
    const other = await startTestApp({ replicaOf: api });
    try {
      other.deps.now = api.deps.now;
      await insert({ resourceType: "snapshot", startedAt: at("18T00:00:00") });
      const effectiveFrom = at("19T00:00:00");
      await insertRates(api.deps.db, new Map([["snapshot", 2n * MICRO_EUROS]]), {
        effectiveFrom,
        changedBy: STAFF,
      });
      const path = `/api/v1/organizations/${organizationId}/billing/usage`;
      const { body } = await other.request("GET", path);
      const prices = body.items[0].resources.map((one: { unit_price_eur: string }) => one.unit_price_eur);
      expect(prices).toEqual(["0.040000", "56.000000"]);
    } finally {
      await other.close();
    }
  });

  test("a cluster with a package is billed the package, and what exceeds it", async () => {
    const cluster = { clusterId: createId(), clusterName: "packaged" };
    const nodePoolId = createId();
    await insert({ ...cluster, resourceType: "plan:dev" });
    await insert({ ...cluster, resourceType: "control_plane" });
    await insert({ ...cluster, nodePoolId, quantity: 3n, endedAt: at("11T00:00:00") });
    const january = "usage?month=2026-01";
    expect((await get(january)).body.amount_cents).toBe(0);
    const now = api.deps.now;
    api.deps.now = () => new Date("2026-03-02T00:00:00Z");
    try {
      const { body } = await get("usage?month=2026-02");
      expect(body).toMatchObject({ amount_cents: 1900 + 1000 });
      expect(body.items[0].resources).toContainEqual(
        expect.objectContaining({
          node_pool_id: nodePoolId,
          resource_type: "vcpu",
          used_unit_seconds: String(3 * 10 * 86_400),
          unit_seconds: String(10 * 86_400),
        }),
      );
    } finally {
      api.deps.now = now;
    }
  });

  test("a month that has passed is whole, and one to come is empty", async () => {
    await insert({ startedAt: new Date("2026-01-01T00:00:00Z") });
    expect((await get("usage?month=2026-01")).body).toMatchObject({
      rated_until: "2026-02-01T00:00:00.000Z",
      amount_cents: 2800,
    });
    expect((await get("usage?month=2026-03")).body).toMatchObject({
      rated_until: "2026-03-01T00:00:00.000Z",
      amount_cents: 0,
    });
  });

  test.each(["2026-13", "2026-1", "02-2026", "1999-12"])("the month %s is refused", async (month) => {
    expect(await get(`usage?month=${month}`)).toMatchObject({
      status: 400,
      body: { error: { details: [{ field: "month", code: "invalid_format" }] } },
    });
  });
});

describe("GET billing/forecast", () => {
  test("what runs goes on until the end of the month, and what ended does not", async () => {
    const cluster = { clusterId: createId(), clusterName: "production" };
    await insert({ ...cluster, startedAt: at("11T00:00:00"), quantity: 2n });
    await insert({ ...cluster, resourceType: "memory", endedAt: at("06T00:00:00") });
    const { body } = await get("forecast");
    expect(body).toMatchObject({
      month: "2026-02",
      rated_until: "2026-02-21T00:00:00.000Z",
      amount_cents: 2500,
      forecast_cents: 4100,
      forecast_eur: 41,
    });
    expect(body.assumption).toContain("runs on unchanged until the end of the month");
    expect(body.resource_types).toContainEqual({
      resource_type: "vcpu",
      amount_cents: 2000,
      forecast_cents: 3600,
    });
  });

  test("at the month's end the forecast is what the usage amounts to", async () => {
    await insert({ startedAt: at("11T03:04:05"), quantity: 3n });
    const { forecast_cents: forecast } = (await get("forecast")).body;
    api.deps.now = () => new Date("2026-03-02T00:00:00Z");
    try {
      expect((await get("usage?month=2026-02")).body.amount_cents).toBe(forecast);
    } finally {
      api.deps.now = () => at("21T00:00:00.500");
    }
  });
});

test("another organization's usage is in neither", async () => {
  await insert({ organizationId: await api.createOrganization() });
  expect((await get("usage")).body.amount_cents).toBe(0);
  expect((await get("forecast")).body.forecast_cents).toBe(0);
});
