import { expect, test } from "vitest";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { startTestApp } from "../../testing/app.ts";
import { DOUBLES } from "../testing.ts";
import { lockLastRateChange, setRates } from "./changes.ts";

const api = setUp(startTestApp);

const ADMIN_RECORD = "/api/v1/admin/rate-card";
const SEEDS = {
  control_plane: 20,
  vcpu: 5,
  memory: 2.5,
  disk: 0.08,
  storage_block: 0.08,
  storage_rwx: 0.12,
  loadbalancer: 8,
  registry: 0.05,
  snapshot: 0.04,
  public_ip: 4,
};

const readRates = async () => (await api.request("GET", "/api/v1/rate-card")).body.rates;
const setCard = (body: unknown) => api.request("PUT", ADMIN_RECORD, { as: "staff", body });
const readHistory = (query = "") => api.request("GET", `${ADMIN_RECORD}${query}`, { as: "staff" });

test("the first rate card has the seeded price of each resource type", async () => {
  expect(await readRates()).toEqual(SEEDS);
  const { items } = (await readHistory()).body;
  expect(items).toHaveLength(10);
  for (const item of items) {
    expect(item).toMatchObject({ effective_to: null, changed_by: { kind: "system", name: "migration" } });
  }
});

test("a change holds at once, keeps the other prices, and stands in history and audit log", async () => {
  const before = await readRates();
  const rates = [
    { resource_type: "vcpu", unit_price_eur: 5.123456 },
    { resource_type: "snapshot", unit_price_eur: 0 },
  ];
  const after = { ...before, vcpu: 5.123456, snapshot: 0 };
  const set = await setCard({ rates });
  expect(set).toMatchObject({ status: 200, body: { rates: after } });
  expect(await readRates()).toEqual(after);

  const { body } = await readHistory("?limit=100");
  expect(body.rates).toEqual(after);
  const [newest, former] = body.items.filter(
    (item: { resource_type: string }) => item.resource_type === "vcpu",
  );
  expect(newest).toMatchObject({
    unit_price_eur: 5.123456,
    effective_to: null,
    changed_by: { kind: "staff" },
  });
  expect(former).toMatchObject({ unit_price_eur: before.vcpu, effective_to: newest.effective_from });
  const audit = await api.request("GET", "/api/v1/admin/audit-log?action=rate_card.update", { as: "staff" });
  expect(audit.body.items.at(-1)).toMatchObject({ before, after, target: { kind: "rate_card" } });
});

test("the history is read page by page, the newest first", async () => {
  const whole = (await readHistory("?limit=100")).body.items;
  const first = (await readHistory("?limit=4")).body;
  const second = (await readHistory(`?limit=100&cursor=${first.next_cursor}`)).body;
  expect([...first.items, ...second.items]).toEqual(whole);
  expect(second.next_cursor).toBeNull();
});

test("changes at once, and with a clock that was set back, follow each other without a gap", async () => {
  const price = (unit_price_eur: number) => ({ rates: [{ resource_type: "disk", unit_price_eur }] });
  const done = await Promise.all([1, 2, 3, 4, 5, 6].map((euros) => setCard(price(euros))));
  expect(done.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
  const author = { principal: { kind: "user", userId: "0b54ad2a-6f2f-4b57-9a3e-3c1f2a7d1a01" } };
  await api.deps.db.transaction(async (tx) =>
    setRates(tx, { ...author, asStaff: true } as never, {
      rates: new Map([["disk", 7n]]),
      last: await lockLastRateChange(tx),
      now: () => new Date(0),
    }),
  );
  expect((await readRates()).disk).toBe(0.000007);
  const items = (await readHistory("?limit=100")).body.items.filter(
    (item: { resource_type: string }) => item.resource_type === "disk",
  );
  const starts = items.map((item: { effective_from: string }) => item.effective_from);
  expect(new Set(starts).size).toBe(starts.length);
  expect(items.map((item: { effective_to: string | null }) => item.effective_to)).toEqual([
    null,
    ...starts.slice(0, -1),
  ]);
});

test("If-Match and If-None-Match are obeyed", async () => {
  const body = { rates: [{ resource_type: "registry", unit_price_eur: 0.05 }] };
  const etag = (await readHistory()).headers.get("etag") ?? "";
  const send = (headers: Record<string, string>) =>
    api.request("PUT", ADMIN_RECORD, { as: "staff", body, headers });
  const read = () => api.request("GET", ADMIN_RECORD, { as: "staff", headers: { "if-none-match": etag } });
  expect((await read()).status).toBe(304);
  expect((await send({ "if-match": etag })).headers.get("etag")).not.toBe(etag);
  expect((await send({ "if-match": etag })).status).toBe(412);
  expect((await read()).status).toBe(200);
});

const vcpu = (unit_price_eur: unknown) => ({ resource_type: "vcpu", unit_price_eur });

test.each([
  ["no rates", {}, ["rates/required"]],
  ["an empty list", { rates: [] }, ["rates/too_short"]],
  ["an unknown field", { rates: [vcpu(1)], currency: "EUR" }, ["currency/unknown_field"]],
  ["a price below 0", { rates: [vcpu(-1)] }, ["rates[0].unit_price_eur/out_of_range"]],
  ["NaN as text", { rates: [vcpu("NaN")] }, ["rates[0].unit_price_eur/invalid_type"]],
  ["null", { rates: [vcpu(null)] }, ["rates[0].unit_price_eur/invalid_type"]],
  ["no price", { rates: [{ resource_type: "vcpu" }] }, ["rates[0].unit_price_eur/required"]],
  [
    "an unknown type",
    { rates: [{ resource_type: "gpu", unit_price_eur: 1 }] },
    ["rates[0].resource_type/invalid_enum"],
  ],
  ["a type twice", { rates: [vcpu(1), vcpu(2)] }, ["rates[1].resource_type/duplicate"]],
  [
    "several faults",
    { rates: [vcpu(-1), { resource_type: "disk", unit_price_eur: "1" }] },
    ["rates[0].unit_price_eur/out_of_range", "rates[1].unit_price_eur/invalid_type"],
  ],
])("%s is refused with each fault named, and changes nothing", async (_what, body, faults) => {
  const before = await readRates();
  const refused = await setCard(body);
  expect(refused.status).toBe(422);
  const found = refused.body.error.details.map(
    (detail: { field: string; code: string }) => `${detail.field}/${detail.code}`,
  );
  expect(found).toEqual(faults);
  expect(await readRates()).toEqual(before);
});

test.each(DOUBLES)(
  "a price of %d is kept and answered as %d, and can be sent back",
  async (sent, answered) => {
    const set = await setCard({ rates: [vcpu(sent)] });
    expect([set.status, set.body.rates.vcpu]).toEqual([200, answered]);
    expect((await readRates()).vcpu).toBe(answered);
    expect((await readHistory("?limit=1")).body.items[0].unit_price_eur).toBe(answered);
    expect((await setCard({ rates: [vcpu(answered)] })).body.rates.vcpu).toBe(answered);
  },
);
