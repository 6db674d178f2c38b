import { eq } from "drizzle-orm";
import { beforeAll, expect, test } from "vitest";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { createId } from "../../../shared/program/id.ts";
import { startTestApp } from "../../testing/app.ts";
import { closeMonth } from "../invoices/close.ts";
import { type Month, parseMonth } from "../month.ts";
import { insertRates } from "../rate-card/store.ts";
import { TEST_SUPPLIER } from "../testing.ts";
import { followRegistry } from "./figures.ts";
import { listEvidence } from "./ledger-store.ts";
import { createLedgerMetrics } from "./metrics.ts";
import { usageIntervals } from "./table.ts";

const STAFF = { kind: "staff", userId: createId(), email: null } as const;
const GIB = 1024 ** 3;
/** June 2028 has 30 days of 24 hours: at 7.20 EUR a month a GiB costs a cent an hour. */
const MICRO_EUROS = 7_200_000n;
const START_MS = Date.UTC(2028, 5, 10);
const hour = (hours: number) => new Date(START_MS + hours * 3_600_000);

const api = setUp(startTestApp);
let orgId: string;
let follow: (now: Date) => Promise<void>;
let stored: { orgId: string; storedBytes: number; measuredAt: Date }[] = [];

beforeAll(async () => {
  const invoicing = { supplier: TEST_SUPPLIER, vatBasisPoints: { DE: 1900 }, numberPrefix: "TEST" };
  api.deps.config = { ...api.deps.config, invoicing };
  const rule = { effectiveFrom: new Date(Date.UTC(2028, 0, 1)), changedBy: STAFF };
  await insertRates(api.deps.db, new Map([["registry", MICRO_EUROS]]), rule);
  const ledgerMetrics = createLedgerMetrics(api.deps.metrics);
  follow = (now) => followRegistry({ ...api.deps, ledgerMetrics, now: () => now }, async () => stored);
  orgId = await api.createOrganization();
});

const measure = (gib: number, hours: number) => {
  stored = [{ orgId, storedBytes: gib * GIB, measuredAt: hour(hours) }];
};

test("what the images of an organization take is in the ledger with its evidence, in the usage and on the invoice", async () => {
  measure(2, 0);
  await follow(hour(0.5));
  measure(5, 10);
  await Promise.all([follow(hour(11)), follow(hour(11))]);
  // No further figure: the last one holds for 24 hours.
  await follow(hour(100));
  const { db } = api.deps;
  const rows = await db.select().from(usageIntervals).where(eq(usageIntervals.organizationId, orgId));
  expect(rows).toMatchObject([
    { resourceType: "registry", quantity: BigInt(2 * GIB), startedAt: hour(0), endedAt: hour(10) },
    { resourceType: "registry", quantity: BigInt(5 * GIB), startedAt: hour(10), endedAt: hour(34) },
  ]);
  const evidence = (await listEvidence(db)).filter(({ organizationId }) => organizationId === orgId);
  expect(evidence.map(({ kind, sample }) => [kind, sample.quantities.registry])).toEqual([
    ["registry", String(2 * GIB)],
    ["registry", String(5 * GIB)],
    ["registry", undefined],
  ]);

  const cents = 2 * 10 + 5 * 24;
  api.deps.now = () => hour(200);
  const base = `/api/v1/organizations/${orgId}/billing`;
  const usage = await api.request("GET", `${base}/usage?month=2028-06`);
  expect(usage.body.resource_types).toEqual([{ resource_type: "registry", amount_cents: cents }]);

  await api.request("PUT", `${base}/profile`, { body: { name: "Example Ltd", country: "DE" } });
  api.deps.now = () => new Date(Date.UTC(2028, 6, 2));
  await closeMonth(api.deps, parseMonth("2028-06") as Month);
  const { items } = (await api.request("GET", `${base}/invoices`)).body;
  const { body: invoice } = await api.request("GET", `${base}/invoices/${items[0].id}`);
  expect(invoice).toMatchObject({
    amount_cents: cents,
    lines: [{ resource_type: "registry", cluster_id: null, amount_cents: cents }],
  });
});
