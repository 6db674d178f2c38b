import { expect, test } from "vitest";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { createId } from "../../../shared/program/id.ts";
import { toMicroEuros } from "../money.ts";
import { type Month, parseMonth } from "../month.ts";
import { insertRates } from "../rate-card/store.ts";
import { insertUsage, startInvoicingApp } from "../testing.ts";
import { closeMonth } from "./close.ts";

const STAFF = { kind: "staff", userId: createId(), email: null } as const;
const MONTH = parseMonth("2028-02") as Month;

const api = setUp(startInvoicingApp);

test("a month at the largest price is invoiced exactly, and its JSON keeps to integers that clients read", async () => {
  const orgId = await api.createOrganization();
  const base = `/api/v1/organizations/${orgId}/billing`;
  await api.request("PUT", `${base}/profile`, { body: { name: "Example Ltd", country: "DE" } });
  await api.request("PUT", `${base}/budget`, { body: { monthly_limit_eur: 1, thresholds_pct: [50] } });
  const price = toMicroEuros(Number.MAX_VALUE);
  await insertRates(api.deps.db, new Map([["vcpu", price]]), {
    effectiveFrom: new Date("2027-12-01T00:00:00Z"),
    changedBy: STAFF,
  });
  await insertUsage(api.deps.db, {
    organizationId: orgId,
    resourceType: "vcpu",
    clusterId: createId(),
    clusterName: "shop",
    quantity: 1000n,
    startedAt: MONTH.start,
    endedAt: MONTH.end,
  });

  api.deps.now = () => new Date(MONTH.end.getTime() - 3_600_000);
  const usage = await api.request("GET", `${base}/usage?month=2028-02`);
  expect(usage).toMatchObject({ status: 200, body: { amount_cents: Number.MAX_SAFE_INTEGER } });

  api.deps.now = () => new Date(MONTH.end.getTime() + 6 * 3_600_000);
  await closeMonth(api.deps, MONTH);
  const [invoice] = (await api.request("GET", `${base}/invoices`)).body.items;
  expect(invoice.amount_cents).toBe(Number.MAX_SAFE_INTEGER);
  const record = `${base}/invoices/${invoice.id}`;
  const csv = (await api.request("GET", record, { headers: { accept: "text/csv" } })).body;
  expect(csv).toContain(`,${BigInt(Number.MAX_VALUE) * 1000n}.00`);
  for (const accept of ["application/json", "application/xml", "application/pdf"])
    expect((await api.request("GET", record, { headers: { accept } })).status).toBe(200);
});
