import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { recomputeInvoices } from "../contract/billing/recompute.ts";
import { type Stack, startStack } from "../platform/stack/stack.ts";
import { waitFor } from "../platform/stack/testing.ts";
import { createEngineer, waitForCluster } from "../testing/custom-resources.ts";
import { requireEveryMachineMetered } from "../testing/machine-sets.ts";
import { startSecondApiserver } from "../testing/second-apiserver.ts";
import { createTenant, expectStatus, type Tenant } from "../testing/tenant.ts";
import { openWebhookEndpoint, type WebhookEndpoint } from "../testing/webhook-endpoint.ts";
import { callUntilAnswered, type Hold, killWhileHeld } from "./held-lock.ts";
import { shiftClock } from "./operator-process.ts";
import { insertUsage, readElectronicInvoices } from "./past-usage.ts";

const DIR = ".marina/faults-billing";
const MS_PER_HOUR = 3_600_000;

const today = new Date();
const monthStart = new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth()));
const monthEnd = new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + 1));
const month = monthStart.toISOString().slice(0, 7);
/** A clock on which this month has ended and its close is due. */
const afterMonth = shiftClock(monthEnd.getTime() + 7 * MS_PER_HOUR - today.getTime());

let stack: Stack;
let alice: Tenant;
let sql: postgres.Sql;

beforeAll(async () => {
  stack = await startStack({
    provider: "in-memory",
    dir: DIR,
    fresh: true,
    onCrash: "report",
    // Background jobs run in separate replicas, which have their own clock and which a test may kill.
    apiserver: { MARINA_ROLES: "api,harvester,webhooks" },
  });
  alice = createTenant(stack.info.apiUrl, stack.info.tokens.alice);
  sql = postgres(stack.info.databaseUrl, { max: 3, onnotice: () => undefined });
});
afterAll(async () => {
  await sql?.end();
  await stack?.stop();
});

/** A replica that runs the background jobs. */
const startJobs = (clock: Record<string, string> = {}) =>
  startSecondApiserver(DIR, { MARINA_ROLES: "projector", ...clock });

async function createOrganization(): Promise<string> {
  const { id: orgID } = expectStatus(201, await alice.call("createOrganization", { body: { name: "Shop" } }));
  const body = { name: "Shop GmbH", country: "DE", city: "Berlin" };
  expectStatus(200, await alice.call("setBillingProfile", { orgID, body }));
  return orgID;
}

interface Event {
  type: string;
  // biome-ignore lint/suspicious/noExplicitAny: the data of whatever type
  data: any;
}

/** The events that were received, each once; every delivery has a right signature. */
async function readEvents(endpoint: WebhookEndpoint): Promise<Event[]> {
  const deliveries = await endpoint.list();
  expect(deliveries.filter(({ verified }) => verified !== true)).toEqual([]);
  return [...new Map(deliveries.map(({ id, body }) => [id, JSON.parse(body)])).values()];
}

const readStored = (orgID: string, type: string) =>
  sql<{ body: string }[]>`
    select body from webhook_events where org_id = ${orgID} and type = ${type} order by id`;

test("a tenant goes from the first node to the issued invoice, by REST and by kubectl, and gets both events", async () => {
  const orgID = await createOrganization();
  const endpoint = openWebhookEndpoint(stack.info);
  const events = ["usage.alert" as const, "invoice.generated" as const];
  const hook = await alice.call("createWebhook", { orgID, body: { url: endpoint.url, events } });
  await endpoint.useSecret(expectStatus(201, hook).secret);
  const budget = { monthly_limit_eur: 4, thresholds_pct: [50, 100] };
  expectStatus(200, await alice.call("setBudget", { orgID, body: budget }));
  // A request that is too late to make the Namespace leaves it to the jobs.
  let jobs = await startJobs();
  const engineer = await createEngineer(stack.info, orgID).catch(async (error: unknown) => {
    await jobs.stop();
    throw error;
  });
  try {
    const pool = { name: "web", vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 1 };
    const body = { name: "by-rest", k8s_version: "1.34", public_endpoint: true, node_pools: [pool] };
    const { id: clusterID } = expectStatus(202, await alice.call("createCluster", { orgID, body }));
    await engineer.createCluster("by-kubectl", { plan: "dev" });
    await engineer.createPool("workers", "by-kubectl", { desiredNodes: 2 });
    await waitForCluster(engineer, "by-kubectl");
    // An address costs its month at once, so that the limit is reached as soon as the ledger has seen it.
    const alerts = await waitFor("both alerts", async () => {
      const received = (await readEvents(endpoint)).filter(({ type }) => type === "usage.alert");
      return received.length === 2 ? received : undefined;
    });
    expect(new Set(alerts.map(({ data }) => data.threshold_pct))).toEqual(new Set([50, 100]));
    expect(alerts[0]?.data).toMatchObject({ budget_eur: 4, billing_month: month });

    const named = await waitFor("the usage of both clusters", async () => {
      const { items } = expectStatus(200, await alice.call("getUsage", { orgID }));
      const count = (name: string, type: string) =>
        items
          .find((item) => item.cluster_name === name)
          ?.resources.filter((one) => one.resource_type === type).length;
      const isSeen = ["by-rest", "by-kubectl"].every(
        (name) => count(name, "vcpu") === 1 && count(name, "public_ip") === 1,
      );
      return isSeen && count("by-kubectl", "plan:dev") === 1 ? items : undefined;
    });
    expect(named.map((item) => item.cluster_id)).toContain(clusterID);
    // What is metered after the close would be in the forecast and not in the invoice.
    await waitFor("all nodes", async () => {
      const { status } = await engineer.getCluster("by-kubectl");
      const { nodes } = expectStatus(200, await alice.call("getCluster", { orgID, clusterID }));
      return status?.nodes?.ready === 2 && nodes.ready === 1;
    });
    await requireEveryMachineMetered(stack.info);
    await jobs.stop();
    jobs = await startJobs(afterMonth);
    const generated = await waitFor("the invoice", async () =>
      (await readEvents(endpoint)).find(({ type }) => type === "invoice.generated"),
    );
    await jobs.stop();
    const [summary, ...others] = expectStatus(200, await alice.call("listInvoices", { orgID })).items;
    expect(others).toEqual([]);
    const invoiceID = summary?.id ?? "";
    expect(generated.data).toMatchObject({ invoice_id: invoiceID, amount_cents: summary?.amount_cents });
    const invoice = expectStatus(200, await alice.call("getInvoice", { orgID, invoiceID }));
    const clusters = new Set(invoice.lines?.map(({ cluster_name }) => cluster_name));
    expect(clusters).toEqual(new Set(["by-kubectl", "by-rest"]));
    // Everything that ran goes on to the end of the month, which is what the forecast takes for granted.
    const forecast = expectStatus(200, await alice.call("getForecast", { orgID }));
    expect(forecast.forecast_cents).toBe(invoice.amount_cents);

    const path = `/organizations/${orgID}/billing/invoices/${invoiceID}`;
    const csv = await alice.request<string>("GET", path, undefined, { accept: "text/csv" });
    expect(await recomputeInvoices([csv.body])).toEqual(new Map([[invoice.number, invoice.amount_cents]]));
    const pdf = await alice.request<string>("GET", path, undefined, { accept: "application/pdf" });
    expect(pdf.body).toMatch(/^%PDF-1\.7/);
    // The replica that closed the month has also begun the next one, which has its own alerts.
    const told = (await readEvents(endpoint)).filter(({ data }) => (data.billing_month ?? month) === month);
    expect(told.map(({ type }) => type).toSorted()).toEqual([
      "invoice.generated",
      "usage.alert",
      "usage.alert",
    ]);
  } finally {
    await jobs.stop();
    await engineer.close();
  }
});

/** Runs the jobs of another replica until the condition holds. */
async function runJobsUntil(clock: Record<string, string>, what: string, condition: () => Promise<boolean>) {
  const jobs = await startJobs(clock);
  try {
    await waitFor(what, condition);
  } finally {
    await jobs.stop();
  }
}

describe("a close of a month", () => {
  const period = `${month}-01`;
  const isFinished = async () =>
    (await sql`select 1 from month_closes where period = ${period} and finished_at is not null`).length > 0;
  const askAgain = () => sql`update month_closes set finished_at = null where period = ${period}`;
  const readInvoices = (orgIDs: string[]) =>
    sql<{ org_id: string; number: string }[]>`
      select org_id, number from invoices where org_id in ${sql(orgIDs)} order by org_id`;
  const expectOneEach = async (orgIDs: string[]) => {
    expect((await readInvoices(orgIDs)).map(({ org_id }) => org_id)).toEqual(orgIDs);
    for (const orgID of orgIDs) expect(await readStored(orgID, "invoice.generated")).toHaveLength(1);
    const rows = await sql<{ sequence: number }[]>`select sequence from invoices order by sequence`;
    expect(rows.map(({ sequence }) => sequence)).toEqual(rows.map((_, index) => index + 1));
  };

  const points: [string, number, (orgIDs: string[]) => Hold][] = [
    [
      "between two organizations",
      1,
      // The third one is held too: a close that has waited 10 s for the second goes on to it.
      ([, ...others]) => ({
        hold: (tx) => tx`
          select pg_advisory_xact_lock(hashtextextended('marina invoices ' || id, 0))
          from unnest(${others}::text[]) as id`,
      }),
    ],
    [
      "before it takes a number",
      0,
      () => ({
        hold: (tx) => tx`lock table document_sequences in exclusive mode`,
        written: "document_sequences",
      }),
    ],
    [
      "between an invoice and its event",
      0,
      () => ({ hold: (tx) => tx`lock table webhook_events in share mode`, written: "invoices" }),
    ],
  ];

  test.each(points)(
    "killed %s leaves no number out and issues nothing twice",
    async (_point, issued, toHold) => {
      const orgIDs: string[] = [];
      for (let count = 0; count < 3; count++) orgIDs.push(await createOrganization());
      orgIDs.sort();
      for (const orgID of orgIDs) await insertUsage(sql, orgID, monthStart);
      await askAgain();
      await killWhileHeld(sql, () => startJobs(afterMonth), toHold(orgIDs));
      expect(await readInvoices(orgIDs)).toHaveLength(issued);
      expect(await isFinished()).toBe(false);

      await runJobsUntil(afterMonth, "the close", isFinished);
      await expectOneEach(orgIDs);
      const before = await readInvoices(orgIDs);
      await askAgain();
      await runJobsUntil(afterMonth, "the second close", isFinished);
      await expectOneEach(orgIDs);
      expect(await readInvoices(orgIDs)).toEqual(before);
    },
  );
});

describe("a round of alerts", () => {
  const isDue = async (orgID: string) =>
    (await sql`select 1 from budgets where org_id = ${orgID} and next_check_at <= now()`).length > 0;

  test.each([
    ["before it notes an alert", "budget_alerts"],
    ["between an alert and its event", "webhook_events"],
  ])("killed %s sends each alert once", async (_point, table) => {
    const orgIDs = [await createOrganization(), await createOrganization()];
    const setBudget = async (orgID: string) => {
      const body = { monthly_limit_eur: 1, thresholds_pct: [50, 100] };
      expectStatus(200, await alice.call("setBudget", { orgID, body }));
    };
    for (const orgID of orgIDs) {
      await insertUsage(sql, orgID, monthStart);
      await setBudget(orgID);
    }
    await killWhileHeld(sql, () => startJobs(), {
      hold: (tx) => tx`lock table ${tx(table)} in share mode`,
      written: "budget_alerts",
    });
    for (const orgID of orgIDs) expect(await readStored(orgID, "usage.alert")).toEqual([]);

    // Twice: the second round compares all of it again and finds nothing to report.
    for (let round = 0; round < 2; round++) {
      if (round > 0) for (const orgID of orgIDs) await setBudget(orgID);
      await sql`update budgets set next_check_at = now() where org_id in ${sql(orgIDs)}`;
      await runJobsUntil({}, "the round", async () => {
        const due = await Promise.all(orgIDs.map(isDue));
        return !due.includes(true);
      });
      for (const orgID of orgIDs) {
        const sent = (await readStored(orgID, "usage.alert")).map(({ body }) => JSON.parse(body));
        expect(sent.map(({ data }) => data.threshold_pct)).toEqual([50, 100]);
      }
    }
  });
});

test("an API server killed in the middle of a change of prices leaves none of them changed", async () => {
  const staff = createTenant(stack.info.apiUrl, stack.info.tokens.staff);
  const readRates = async () => expectStatus(200, await staff.call("getRateCardHistory", {}));
  const body = {
    rates: [
      { resource_type: "vcpu" as const, unit_price_eur: 6.25 },
      { resource_type: "memory" as const, unit_price_eur: 3.125 },
    ],
  };
  const before = await readRates();
  let changed: Promise<string> = Promise.resolve("not sent");
  const start = async () => {
    const replica = await startSecondApiserver(DIR, { MARINA_ROLES: "api" });
    const caller = createTenant(replica.url, stack.info.tokens.staff);
    changed = callUntilAnswered(() => caller.call("updateRateCard", { body }));
    return replica;
  };
  // The entry of the audit log is the last that a change writes.
  await killWhileHeld(sql, start, {
    hold: (tx) => tx`lock table audit_log in share mode`,
    written: "rate_card_prices",
  });
  expect(await changed).toBe("broken off");
  await expect.poll(readRates, { timeout: 400_000 }).toEqual(before);
  expectStatus(200, await staff.call("updateRateCard", { body }));
  const after = await readRates();
  expect(after.items).toHaveLength(before.items.length + body.rates.length);
});

test("each of the invoices is had as an electronic one", () =>
  expect(readElectronicInvoices(sql, alice)).resolves.toBeUndefined());
