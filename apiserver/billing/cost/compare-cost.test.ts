import { expect, test } from "vitest";
import { type Month, parseMonth } from "../month.ts";
import { flatPrices } from "../rating/testing.ts";
import { type BilledCluster, compareCost } from "./compare-cost.ts";

const EUR = 1_000_000n;
const FEBRUARY = parseMonth("2026-02") as Month;
const NOTHING: BilledCluster = { cluster: undefined, pools: [] };
const dev = {
  slug: "dev",
  priceMicroEuros: 19n * EUR,
  included: new Map([
    ["control_plane", 1n],
    ["vcpu", 2n],
  ] as const),
  effectiveFrom: new Date("2026-02-03"),
};
const history = { prices: flatPrices(EUR), packages: [dev] };
const pool = { id: "pool", size: { vcpus: 2, memoryGB: 4, diskGB: 20 }, nodes: 1, maxNodes: 1 };
const cluster = (spec: object, status?: object): BilledCluster => ({
  cluster: {
    spec: { version: "1.34.2", publicEndpoint: false, ...spec },
    ...(status !== undefined && { status }),
  },
  pools: [pool],
});
const totals = (before: BilledCluster, after: BilledCluster) => {
  const cost = compareCost(FEBRUARY, history, before, after);
  return [cost.monthly_eur_before, cost.monthly_eur_after, cost.monthly_eur_max];
};

test.each<[string, BilledCluster, number]>([
  ["nothing", NOTHING, 0],
  ["a control plane and a node", cluster({}), 1 + 2 + 4 + 20],
  ["a package and what is over its contents", cluster({ plan: "dev" }), 19 + 4 + 20],
  ["a package that has no price is billed per resource", cluster({ plan: "scale" }), 1 + 2 + 4 + 20],
  ["an address", cluster({ publicEndpoint: true }), 1 + 2 + 4 + 20 + 1],
  [
    "what the status names",
    cluster({}, { usage: { blockStorageGB: 10, loadBalancers: 1, snapshotGB: 3 } }),
    27 + 14,
  ],
])("%s costs a full month of each", (_name, billed, euros) => {
  expect(totals(NOTHING, billed)).toEqual([0, euros, euros]);
  expect(totals(billed, NOTHING)).toEqual([euros, 0, 0]);
});

test("an autoscaled pool costs at most what its maximum costs", () => {
  const billed = { cluster: undefined, pools: [{ ...pool, maxNodes: 3 }] };
  expect(totals(NOTHING, billed)).toEqual([0, 26, 78]);
});

test("the newest price holds for the whole month, and every resource type that is used is listed", () => {
  const later = flatPrices(2n * EUR).map((one) => ({ ...one, effectiveFrom: new Date("2026-02-20") }));
  const cost = compareCost(FEBRUARY, { prices: [...later, ...history.prices], packages: [] }, NOTHING, {
    cluster: undefined,
    pools: [pool],
  });
  expect(cost.resource_types).toEqual([
    { resource_type: "vcpu", monthly_eur_before: 0, monthly_eur_after: 4 },
    { resource_type: "memory", monthly_eur_before: 0, monthly_eur_after: 8 },
    { resource_type: "disk", monthly_eur_before: 0, monthly_eur_after: 40 },
  ]);
});
