import { beforeAll, expect, test } from "vitest";
import { recomputeInvoices } from "../../../e2e/contract/billing/recompute.ts";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { createId } from "../../../shared/program/id.ts";
import { type Month, parseMonth } from "../month.ts";
import { insertRates } from "../rate-card/store.ts";
import { RESOURCE_TYPES } from "../resource-types.ts";
import { insertUsage, startInvoicingApp } from "../testing.ts";
import { closeMonth } from "./close.ts";

const STAFF = { kind: "staff", userId: createId(), email: null } as const;
const MONTHS = ["2028-01", "2028-02", "2028-03"];
const BYTES_PER_GIB = 2 ** 30;
const at = (text: string) => new Date(`${text}Z`);

const api = setUp(startInvoicingApp);

beforeAll(async () => {
  const rates = RESOURCE_TYPES.map((type, index) => [type, BigInt(2_345_678 + index * 777_777)] as const);
  const dearer = rates.map(([type, price]) => [type, price + 1n] as const);
  for (const [prices, effectiveFrom] of [
    [rates, at("2027-12-01T00:00:00")],
    [dearer, at("2028-02-10T10:20:30")],
  ] as const)
    await insertRates(api.deps.db, new Map(prices), { effectiveFrom, changedBy: STAFF });
});

/** Uses of every resource type, of lengths that no month divides, by two clusters and the organization. */
async function insertUses(organizationId: string, month: string, seed: number): Promise<void> {
  for (const [index, resourceType] of RESOURCE_TYPES.entries()) {
    const isShared = resourceType === "storage_rwx" || resourceType === "registry";
    const startedAt = new Date(at(`${month}-05T00:00:00`).getTime() + (seed * 7919 + index * 104_729) * 1000);
    const endedAt = new Date(startedAt.getTime() + (seed * 65_537 + index * 15_485) * 1000);
    const quantity = BigInt(index * 3 + seed) * (isShared ? BigInt(BYTES_PER_GIB + 12_345) : 1n);
    const clusters = isShared ? [null] : ["0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e01", createId()];
    for (const clusterId of clusters)
      await insertUsage(api.deps.db, {
        organizationId,
        resourceType,
        clusterId,
        clusterName: clusterId === null ? null : 'shop, "west"',
        quantity,
        startedAt,
        endedAt,
      });
  }
}

test("a recomputation in decimals, from the CSV files alone, gives every amount and total of the invoices", async () => {
  const orgId = await api.createOrganization();
  const base = `/api/v1/organizations/${orgId}/billing`;
  await api.request("PUT", `${base}/profile`, { body: { name: "Example Ltd", country: "DE" } });
  for (const [index, name] of MONTHS.entries()) {
    await insertUses(orgId, name, index + 1);
    // Known after the invoice of its month: an adjustment on this one.
    if (index > 0) await insertUses(orgId, MONTHS[index - 1] ?? "", index + 5);
    const month = parseMonth(name) as Month;
    api.deps.now = () => new Date(month.end.getTime() + 6 * 3_600_000);
    await closeMonth(api.deps, month);
  }
  const { items } = (await api.request("GET", `${base}/invoices`)).body;
  const files: string[] = [];
  for (const { id } of items) {
    const headers = { accept: "text/csv" };
    files.push((await api.request("GET", `${base}/invoices/${id}`, { headers })).body);
  }
  const totals = items.map((item: { number: string; amount_cents: number }) => [
    item.number,
    item.amount_cents,
  ]);
  expect(items).toHaveLength(MONTHS.length);
  expect(files.join("")).toContain(",true,");
  expect(await recomputeInvoices(files)).toEqual(new Map(totals));

  const [first = "", ...others] = files;
  const changed = first.replace(
    /(\d)(\r\n)$/,
    (_, digit: string, end: string) => `${(Number(digit) + 1) % 10}${end}`,
  );
  await expect(recomputeInvoices([changed, ...others])).rejects.toThrow(/EUR expected/);
});
