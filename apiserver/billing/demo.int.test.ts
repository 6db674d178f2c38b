import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { and, eq, inArray } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { recomputeInvoices } from "../../e2e/contract/billing/recompute.ts";
import { readStack, waitFor } from "../../e2e/platform/stack/testing.ts";
import { setUp } from "../../e2e/testing/set-up.ts";
import { openWebhookEndpoint } from "../../e2e/testing/webhook-endpoint.ts";
import type { ClusterStatus } from "../../shared/crd/cluster.ts";
import type { NodePoolStatus } from "../../shared/crd/node-pool.ts";
import { createRegistry } from "../../shared/program/metrics.ts";
import { webhookEvents } from "../events/table.ts";
import {
  type ProjectedCluster,
  type ProjectedNodePool,
  projectObservations,
} from "../resources/project/index.ts";
import { projected, projectedPool } from "../resources/project/testing.ts";
import { startTestApp } from "../testing/app.ts";
import { startWebhookDeliverer } from "../webhooks/index.ts";
import { sendAlerts } from "./budget-alerts/send-alerts.ts";
import { runCloses } from "./jobs.ts";
import { TEST_SUPPLIER } from "./testing.ts";
import { writeSeenAt } from "./usage/ledger-store.ts";
import { createLedgerMetrics } from "./usage/metrics.ts";
import { runRound } from "./usage/round.ts";

/** `npm run demo:billing`: three months of a tenant on a simulated clock, with a real database and real deliveries. */
const FOLDER = join(import.meta.dirname, "..", "..", ".marina", "demo-billing");
const MONTHS = ["2026-08", "2026-09", "2026-10"];
const START = at("2026-08-01T00:00:00");
const END = at("2026-11-01T06:00:00");
const STEP_MS = 6 * 3_600_000;
const SIZE = { vcpus: 4, memoryGB: 8, diskGB: 80 };

function at(text: string): Date {
  return new Date(`${text}Z`);
}

const api = setUp(startTestApp);
let organization: string;
let version = 1000n;
const stopping = new AbortController();
let delivering: Promise<void>;
const endpoint = openWebhookEndpoint(readStack());

beforeAll(async () => {
  const { webhooks } = api.deps.config;
  api.deps.config = {
    ...api.deps.config,
    invoicing: { supplier: TEST_SUPPLIER, vatBasisPoints: { DE: 1900 }, numberPrefix: "DEMO" },
    webhooks: {
      ...webhooks,
      allowedAddresses: ["127.0.0.0/8"],
      caFile: readStack().webhookReceiver.caFile,
    },
  };
  // Endpoints verify when a delivery was sent, so deliveries are made on the real clock.
  const real = { ...api.deps, metrics: createRegistry(), now: () => new Date() };
  delivering = startWebhookDeliverer(real, stopping.signal).stopped;
});
afterAll(async () => {
  stopping.abort();
  await delivering;
});

/** Writes an object as the API server sees it in the Kubernetes API. */
function observe(object: ProjectedCluster | ProjectedNodePool): Promise<unknown> {
  version += 1n;
  const observation = { object: { ...object, resourceVersion: version } };
  return api.deps.db.transaction((tx) => projectObservations(tx, [observation]));
}

const withStatus = (cluster: ProjectedCluster, status: ClusterStatus, spec = {}): ProjectedCluster => ({
  ...cluster,
  object: { ...cluster.object, spec: { ...cluster.object.spec, ...spec }, status },
});
const withMachines = (pool: ProjectedNodePool, status: NodePoolStatus): ProjectedNodePool => ({
  ...pool,
  object: { ...pool.object, status },
});
const machine = (name: string, createdAt: string) => ({
  uid: `00000000-0000-4000-8000-${name.padStart(12, "0")}`,
  name,
  node: name,
  ready: true,
  createdAt: `${createdAt}Z`,
  ...SIZE,
});

/** What happens to the tenant, in order of time. */
function composeEvents(orgId: string): [string, () => Promise<unknown>][] {
  const shop = projected(orgId, 1, { displayName: "shop" });
  const web = projectedPool(shop, 1);
  const reports = projected(orgId, 2, { displayName: "reports" });
  const nightly = projectedPool(reports, 2);
  const shopStatus = { firstReadyAt: "2026-08-03T09:12:30Z", publicAddress: "203.0.113.7" };
  const reportsStatus = { firstReadyAt: "2026-09-05T14:00:00Z" };
  const first = [machine("1", "2026-08-03T09:05:00"), machine("2", "2026-08-03T09:05:01")];
  const third = machine("3", "2026-08-20T11:30:00");
  const gone = { ...machine("2", "2026-08-03T09:05:01"), goneAt: "2026-10-10T03:00:00Z", hadNode: true };
  const rates = { rates: [{ resource_type: "vcpu", unit_price_eur: 5.5 }] };
  return [
    ["2026-08-03T09:12:40", () => observe(withStatus(shop, shopStatus, { plan: "starter" }))],
    ["2026-08-03T09:13:00", () => observe(withMachines(web, { machines: first }))],
    ["2026-08-20T11:31:00", () => observe(withMachines(web, { machines: [...first, third] }))],
    ["2026-09-05T14:00:10", () => observe(withStatus(reports, reportsStatus))],
    [
      "2026-09-05T14:10:00",
      () => observe(withMachines(nightly, { machines: [machine("4", "2026-09-05T14:03:00")] })),
    ],
    [
      "2026-09-08T08:00:00",
      () =>
        observe(withStatus(reports, { ...reportsStatus, usage: { blockStorageGB: 500, loadBalancers: 1 } })),
    ],
    [
      "2026-09-20T12:00:00",
      () => api.request("PUT", "/api/v1/admin/rate-card", { as: "staff", body: rates }),
    ],
    [
      "2026-10-10T03:00:05",
      () => observe(withMachines(web, { machines: [...first.slice(0, 1), third], goneMachines: [gone] })),
    ],
  ];
}

/** Lets the jobs of billing run every six hours and after each event. */
async function playUntil(end: Date, events: readonly [string, () => Promise<unknown>][]): Promise<void> {
  const ledger = { ...api.deps, ledgerMetrics: createLedgerMetrics(createRegistry()) };
  const times = new Map(events.map(([time, happen]) => [at(time).getTime(), happen]));
  for (let step = START.getTime(); step <= end.getTime(); step += STEP_MS)
    times.set(step, times.get(step) ?? (async () => undefined));
  for (const [time, happen] of [...times].toSorted(([a], [b]) => a - b)) {
    api.deps.now = () => new Date(time);
    await happen();
    await runRound({ ...ledger, now: api.deps.now }, stopping.signal);
    await writeSeenAt(api.deps.db, api.deps.now());
    await sendAlerts(api.deps, stopping.signal);
    await runCloses(api.deps, stopping.signal);
  }
}

function leave(name: string, content: string | Uint8Array): void {
  writeFileSync(join(FOLDER, name), content);
}

async function readPdf(id: string): Promise<Uint8Array> {
  const headers = { accept: "application/pdf", authorization: `Bearer ${readStack().tokens.alice}` };
  const response = await api.app.request(`${organization}/billing/invoices/${id}`, { headers });
  expect(response.status).toBe(200);
  return new Uint8Array(await response.arrayBuffer());
}

const readCsv = async (path: string): Promise<string> =>
  (await api.request("GET", `${organization}/billing/${path}`, { headers: { accept: "text/csv" } })).body;

const SUBSCRIBED = ["usage.alert", "invoice.generated"] as const;

/** Waits until each event has arrived; returns the deliveries, of which an event may have several. */
async function receiveEvents(orgId: string) {
  const isSubscribed = and(eq(webhookEvents.orgId, orgId), inArray(webhookEvents.type, [...SUBSCRIBED]));
  const events = await api.deps.db.select().from(webhookEvents).where(isSubscribed);
  return waitFor("every delivery", async () => {
    const deliveries = await endpoint.list();
    const arrived = new Set(deliveries.map(({ id }) => id));
    return events.every(({ id }) => arrived.has(id)) ? deliveries : undefined;
  });
}

test("three months of a tenant end in three invoices, each alert sent once, and files to look at", async () => {
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  const orgId = await api.createOrganization();
  organization = `/api/v1/organizations/${orgId}`;
  api.deps.now = () => START;
  const profile = { name: "Example Ltd", street: "Main Street 1", city: "Berlin", country: "DE" };
  await api.request("PUT", `${organization}/billing/profile`, { body: profile });
  const budget = { monthly_limit_eur: 120, thresholds_pct: [50, 80, 100] };
  await api.request("PUT", `${organization}/billing/budget`, { body: budget });
  const subscription = { url: endpoint.url, events: SUBSCRIBED };
  const hook = await api.request("POST", `${organization}/webhooks`, { body: subscription });
  await endpoint.useSecret(hook.body.secret);

  await playUntil(END, composeEvents(orgId));

  const { items } = (await api.request("GET", `${organization}/billing/invoices`)).body;
  const files: string[] = [];
  for (const { id, number } of items) {
    const csv = await readCsv(`invoices/${id}`);
    files.push(csv);
    leave(`${number}.csv`, csv);
    const { body } = await api.request("GET", `${organization}/billing/invoices/${id}`);
    leave(`${number}.json`, JSON.stringify(body, undefined, 2));
    leave(`${number}.pdf`, await readPdf(id));
  }
  for (const month of MONTHS) leave(`usage-${month}.csv`, await readCsv(`usage?month=${month}`));
  const received = await receiveEvents(orgId);
  leave("webhook-deliveries.json", JSON.stringify(received, undefined, 2));

  expect(items.map(({ month }: { month: string }) => month).toReversed()).toEqual(MONTHS);
  const totals = items.map((item: { number: string; amount_cents: number }) => [
    item.number,
    item.amount_cents,
  ]);
  expect(await recomputeInvoices(files)).toEqual(new Map(totals));
  expect(received.every(({ verified }) => verified === true)).toBe(true);
  const sent = [...new Map(received.map(({ id, body }) => [id, JSON.parse(body)])).values()];
  expect(sent.filter(({ type }) => type === "invoice.generated")).toHaveLength(3);
  const alerts = sent
    .filter(({ type }) => type === "usage.alert")
    .map(({ data }) => `${data.billing_month} ${data.threshold_pct}`);
  expect(alerts.toSorted()).toEqual([...new Set(alerts)].toSorted());
  expect(alerts.length).toBeGreaterThan(2);
  process.stdout.write(
    `Three invoices (PDF, CSV, JSON), the usage of each month and every delivery are in ${FOLDER}. Next: open an invoice there; docs/operators/billing.md says how it comes about.\n`,
  );
});
