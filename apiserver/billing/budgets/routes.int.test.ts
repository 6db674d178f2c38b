import { beforeEach, expect, test } from "vitest";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { startTestApp } from "../../testing/app.ts";
import { DOUBLES } from "../testing.ts";

const api = setUp(startTestApp);
let orgId: string;
let path: string;

beforeEach(async () => {
  orgId = await api.createOrganization();
  path = `/api/v1/organizations/${orgId}/billing/budget`;
});

const SETTINGS = { monthly_limit_eur: 99.99, thresholds_pct: [50, 80, 100] };
const put = (body: unknown, headers = {}) => api.request("PUT", path, { body, headers });

test("a budget is created, replaced, read, sent back and deleted, each with an audit entry", async () => {
  expect((await api.request("GET", path)).status).toBe(404);
  const created = await put(SETTINGS);
  expect(created).toMatchObject({ status: 200, body: { org_id: orgId, ...SETTINGS } });
  const read = await api.request("GET", path);
  expect(read.body).toEqual(created.body);
  const same = await put(read.body);
  expect(same.body).toMatchObject({ ...SETTINGS, created_at: created.body.created_at });
  const other = { monthly_limit_eur: 0.000001, thresholds_pct: [1] };
  expect((await put(other)).body).toMatchObject(other);
  expect((await api.request("DELETE", path)).status).toBe(204);
  expect((await api.request("GET", path)).status).toBe(404);
  expect((await api.request("DELETE", path)).status).toBe(404);

  const { items } = (await api.request("GET", `/api/v1/organizations/${orgId}/audit-log`)).body;
  const own = items.filter((item: { target: { kind: string } }) => item.target.kind === "budget");
  expect(own.map((item: { action: string }) => item.action)).toEqual([
    "budget.set",
    "budget.set",
    "budget.set",
    "budget.delete",
  ]);
  expect(own.at(-1)).toMatchObject({ before: other, after: null });
});

test("If-Match and If-None-Match are obeyed, also by a budget that was deleted and made again", async () => {
  expect((await put(SETTINGS, { "if-match": "*" })).status).toBe(412);
  const etag = (await put(SETTINGS, { "if-none-match": "*" })).headers.get("etag") ?? "";
  expect((await put(SETTINGS, { "if-none-match": "*" })).status).toBe(412);
  const unchanged = await api.request("GET", path, { headers: { "if-none-match": etag } });
  expect(unchanged.status).toBe(304);
  expect((await api.request("DELETE", path, { headers: { "if-match": '"9"' } })).status).toBe(412);
  expect((await api.request("DELETE", path, { headers: { "if-match": etag } })).status).toBe(204);
  await put(SETTINGS);
  expect((await put(SETTINGS, { "if-match": etag })).status).toBe(412);
});

test("budgets set at once leave one of them", async () => {
  const limits = [1, 2, 3, 4, 5, 6];
  const done = await Promise.all(limits.map((limit) => put({ ...SETTINGS, monthly_limit_eur: limit })));
  expect(done.map(({ status }) => status)).toEqual(limits.map(() => 200));
  const { body, headers } = await api.request("GET", path);
  expect(limits).toContain(body.monthly_limit_eur);
  expect(headers.get("etag")).toBe('"6"');
});

const limit = (monthly_limit_eur: unknown) => ({ ...SETTINGS, monthly_limit_eur });
const thresholds = (...thresholds_pct: unknown[]) => ({ ...SETTINGS, thresholds_pct });

test.each([
  ["an empty body", {}, ["monthly_limit_eur/required", "thresholds_pct/required"]],
  ["a limit of 0", limit(0), ["monthly_limit_eur/out_of_range"]],
  ["a limit below 0", limit(-5), ["monthly_limit_eur/out_of_range"]],
  ["NaN as text", limit("NaN"), ["monthly_limit_eur/invalid_type"]],
  ["no thresholds", thresholds(), ["thresholds_pct/too_short"]],
  ["a threshold of 0", thresholds(0, 50), ["thresholds_pct[0]/out_of_range"]],
  ["a threshold above 100", thresholds(50, 101), ["thresholds_pct[1]/out_of_range"]],
  ["part of a percent", thresholds(0.5), ["thresholds_pct[0]/invalid_type"]],
  ["equal thresholds", thresholds(50, 50), ["thresholds_pct[1]/not_ascending"]],
  ["descending thresholds", thresholds(80, 50), ["thresholds_pct[1]/not_ascending"]],
  [
    "another organization",
    { ...SETTINGS, org_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11" },
    ["org_id/immutable"],
  ],
  ["an unknown field", { ...SETTINGS, currency: "EUR" }, ["currency/unknown_field"]],
  [
    "several faults",
    { monthly_limit_eur: -1, thresholds_pct: [] },
    ["monthly_limit_eur/out_of_range", "thresholds_pct/too_short"],
  ],
])("%s is refused with each fault named", async (_what, body, faults) => {
  const refused = await put(body);
  expect(refused.status).toBe(422);
  const found = refused.body.error.details.map(
    (detail: { field: string; code: string }) => `${detail.field}/${detail.code}`,
  );
  expect(found).toEqual(faults);
});

test.each(DOUBLES.map(([sent, answered]) => [sent, answered || 0.000_001] as const))(
  "a limit of %d is kept and answered as %d, and can be sent back",
  async (sent, answered) => {
    const set = await put(limit(sent));
    expect([set.status, set.body.monthly_limit_eur]).toEqual([200, answered]);
    const read = await api.request("GET", path);
    expect(read.body).toEqual(set.body);
    expect((await put(read.body)).body.monthly_limit_eur).toBe(answered);
  },
);
