import { sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { connectDatabase } from "../../db/client.ts";
import { type ClaimedDelivery, type ClaimOptions, claimDeliveries, findNextDueMs } from "./claim-store.ts";
import { type DeliveryResult, saveAttemptResults } from "./result-store.ts";
import { FAILURE, SUCCESS, startTestDeliveries, type TestDeliveries } from "./testing.ts";

const URL = "https://example.com/hook";
let store: TestDeliveries;
let orgId: string;
let webhookId: string;

beforeAll(async () => {
  store = await startTestDeliveries();
});
beforeEach(async () => {
  // Clears what is due from earlier tests, so that only this test's deliveries are due.
  await store.db.execute(sql`update webhook_queues set due_at = null`);
  orgId = await store.addOrganization();
  webhookId = await store.addWebhook(orgId, URL);
});
afterAll(() => store.end());

function claim(options: Partial<ClaimOptions> = {}, db = store.db): Promise<ClaimedDelivery[]> {
  const unlimited = { limit: 100, endpointConcurrency: 8, orgCapacityOf: () => 100, busyOrgIds: [] };
  return claimDeliveries(db, { ...unlimited, ...options });
}

function complete(deliveries: readonly ClaimedDelivery[], outcome = SUCCESS): Promise<DeliveryResult[]> {
  return saveAttemptResults(
    store.db,
    deliveries.map((delivery) => ({ delivery, outcome })),
  );
}

const idsOf = (deliveries: readonly { id: string }[]) => deliveries.map(({ id }) => id);
const statusesOf = async (id = webhookId) => (await store.findDeliveries(id)).map(({ status }) => status);

describe("a claim", () => {
  test("takes the deliveries that have waited longest, up to the cap of the endpoint", async () => {
    const ids = await store.addDeliveries(webhookId, 5);
    expect(idsOf(await claim({ endpointConcurrency: 3 })).sort()).toEqual(ids.slice(0, 3));
    expect(await claim({ endpointConcurrency: 3 })).toEqual([]);
    const { dueAt, claims } = await store.findQueue(webhookId);
    expect(dueAt?.getTime()).toBe(Math.round(claims[0]?.endsAtMs ?? 0));
  });

  test("brings what is sent", async () => {
    const [id = ""] = await store.addDeliveries(webhookId, 1, { trigger: "recovery", attempts: 2 });
    expect(await claim()).toMatchObject([
      {
        id,
        orgId,
        webhookId,
        eventId: id,
        trigger: "recovery",
        attempts: 2,
        maxAttempts: 8,
        url: URL,
        body: `{"of":"${id}"}`,
      },
    ]);
  });

  test("takes one at a time of an endpoint with ten consecutive failures", async () => {
    await store.addDeliveries(webhookId, 5);
    await store.setQueue(webhookId, { consecutiveFailures: 10 });
    expect(await claim()).toHaveLength(1);
  });

  test("leaves what is due later, and the queue is due then", async () => {
    const later = new Date(Date.now() + 3_600_000);
    await store.addDeliveries(webhookId, 1, { nextAttemptAt: later });
    expect(await claim()).toEqual([]);
    expect((await store.findQueue(webhookId)).dueAt).toEqual(later);
  });

  test("takes nothing of a pause, whose end a lease does not precede", async () => {
    const pausedUntil = new Date(Date.now() + 3_600_000);
    await store.addDeliveries(webhookId, 2);
    const [first] = await claim({ endpointConcurrency: 1 });
    await store.setQueue(webhookId, { pausedUntil, dueAt: new Date(0) });
    expect(await claim()).toHaveLength(1);
    expect((await store.findQueue(webhookId)).dueAt).toEqual(pausedUntil);
    expect(first).toBeDefined();
  });

  test("serves queues in the order in which they became due, and one that was served goes to the end", async () => {
    const other = await store.addWebhook(orgId, URL);
    const third = await store.addWebhook(orgId, URL);
    for (const id of [webhookId, other, third]) await store.addDeliveries(id, 4);
    const served: string[] = [];
    for (let turn = 0; turn < 6; turn++) {
      const claimed = await claim({ limit: 2 });
      await complete(claimed);
      served.push(...new Set(claimed.map((delivery) => delivery.webhookId)));
    }
    expect(served).toEqual([webhookId, other, third, webhookId, other, third]);
  });

  test("takes of an organization as many as its capacity, and passes over a busy one", async () => {
    const other = await store.addWebhook(await store.addOrganization(), URL);
    const second = await store.addWebhook(orgId, URL);
    for (const id of [webhookId, second, other]) await store.addDeliveries(id, 4);
    const claimed = await claim({ orgCapacityOf: (id) => (id === orgId ? 6 : 3) });
    const countOf = (id: string) => claimed.filter((delivery) => delivery.webhookId === id).length;
    expect([webhookId, second, other].map(countOf)).toEqual([4, 2, 3]);
    expect((await claim({ busyOrgIds: [orgId] })).map((delivery) => delivery.webhookId)).toEqual([other]);
    expect(await claim()).toHaveLength(2);
  });
});

describe("a webhook", () => {
  test("that is disabled is not served, and what is pending waits until it is enabled", async () => {
    await store.addDeliveries(webhookId, 2);
    await store.setWebhook(webhookId, { enabled: false, disabledAt: new Date() });
    expect(await claim()).toEqual([]);
    expect((await store.findQueue(webhookId)).dueAt).toBeNull();
    await store.setWebhook(webhookId, { enabled: true });
    await store.makeDue(webhookId);
    expect(await claim()).toHaveLength(2);
  });

  test("that is disabled while an attempt is in progress stays unserved", async () => {
    await store.addDeliveries(webhookId, 2);
    const claimed = await claim({ endpointConcurrency: 1 });
    await store.setWebhook(webhookId, { enabled: false, disabledAt: new Date() });
    expect(await complete(claimed)).toEqual(["delivered"]);
    expect((await store.findQueue(webhookId)).dueAt).toBeNull();
  });

  test("that is deleted is not served", async () => {
    await store.addDeliveries(webhookId, 1);
    await store.setWebhook(webhookId, { deletedAt: new Date() });
    expect(await claim()).toEqual([]);
  });

  test("of an organization that is being deleted is served until then", async () => {
    await store.addDeliveries(webhookId, 1);
    await store.setWebhook(webhookId, { deletedAt: new Date(Date.now() + 3_600_000) });
    expect(await claim()).toHaveLength(1);
  });
});

describe("a claim of a process that died", () => {
  test("ends, and its delivery is attempted once more", async () => {
    const ids = await store.addDeliveries(webhookId, 2);
    expect(await claim()).toHaveLength(2);
    expect(await claim()).toEqual([]);
    await store.makeDue(webhookId);
    const again = await claim();
    expect(idsOf(again).sort()).toEqual(ids);
    expect(await complete(again)).toEqual(["delivered", "delivered"]);
    expect(await statusesOf()).toEqual(["delivered", "delivered"]);
  });

  test("that lives on changes nothing once another process has taken its deliveries over", async () => {
    await store.addDeliveries(webhookId, 1);
    const paused = await claim();
    await store.makeDue(webhookId);
    const other = await claim();
    expect(await complete(paused, FAILURE)).toEqual(["superseded"]);
    expect(await complete(other)).toEqual(["delivered"]);
    expect(await complete(paused)).toEqual(["superseded"]);
    const [delivery] = await store.findDeliveries(webhookId);
    expect(delivery).toMatchObject({ status: "delivered", attempts: 1 });
    expect(await store.findAttempts(delivery?.id ?? "")).toHaveLength(1);
  });

  test("that lives on completes what no other has taken over", async () => {
    await store.addDeliveries(webhookId, 1);
    const claimed = await claim();
    await store.makeDue(webhookId);
    expect(await complete(claimed)).toEqual(["delivered"]);
  });
});

describe("the result of an attempt", () => {
  test("writes what was sent and what came back, but not of a delivery that the purge of that has passed", async () => {
    const [old = "", recent = ""] = await store.addDeliveries(webhookId, 2);
    await store.setQueue(webhookId, { responsesPurgedTo: old });
    await complete(await claim(), FAILURE);
    const written = {
      deliveryId: recent,
      number: 1,
      orgId,
      at: new Date(FAILURE.atMs),
      durationMs: 13,
      requestUrl: URL,
      requestHeaders: FAILURE.requestHeaders,
      statusCode: 500,
      responseHeaders: FAILURE.responseHeaders,
      responseBody: Buffer.from([0, 255]),
      errorClass: "status",
      errorMessage: "500",
    };
    const without = { ...written, deliveryId: old, responseHeaders: null, responseBody: null };
    expect(await store.findAttempts(recent)).toEqual([written]);
    expect(await store.findAttempts(old)).toEqual([without]);
  });

  test("makes a backlog due again at once, and a failed delivery later", async () => {
    // The second retry is minutes later.
    await store.addDeliveries(webhookId, 2, { attempts: 1 });
    expect(await complete(await claim({ endpointConcurrency: 1 }), FAILURE)).toEqual(["retried"]);
    expect(await findNextDueMs(store.db)).toBeLessThanOrEqual(0);
    expect(await complete(await claim())).toEqual(["delivered"]);
    const [failed] = await store.findDeliveries(webhookId);
    expect((await store.findQueue(webhookId)).dueAt).toEqual(failed?.nextAttemptAt);
    expect(failed?.nextAttemptAt?.getTime()).toBeGreaterThan(Date.now());
  });

  test("of a delivery that was cancelled meanwhile leaves it cancelled, unless it was delivered", async () => {
    await store.addDeliveries(webhookId, 2);
    const [first, second] = await claim();
    await store.db.execute(sql`update webhook_deliveries set status = 'cancelled', next_attempt_at = null
      where webhook_id = ${webhookId}`);
    if (first === undefined || second === undefined) throw new Error("two were claimed");
    await complete([first], FAILURE);
    await complete([second]);
    const deliveries = await store.findDeliveries(webhookId);
    expect(
      Object.fromEntries(deliveries.map(({ id, status, attempts }) => [id, [status, attempts]])),
    ).toEqual({
      [first.id]: ["cancelled", 1],
      [second.id]: ["delivered", 1],
    });
  });

  test("of 410 disables the webhook at once, and the audit log has it", async () => {
    await store.addDeliveries(webhookId, 3);
    const gone = { ...FAILURE, statusCode: 410 };
    expect(await complete(await claim({ endpointConcurrency: 2 }), gone)).toEqual(["failed", "failed"]);
    expect(await claim()).toEqual([]);
    const [webhook] = await store.db.execute(sql`select * from webhooks where id = ${webhookId}`);
    const after = { enabled: false, disabled_reason: "gone" };
    expect(webhook).toMatchObject({ ...after, disabled_at: expect.anything() });
    const own = sql`target_id = ${webhookId}`;
    const audits = await store.db.execute(sql`select actor, action, after from audit_log where ${own}`);
    expect([...audits]).toEqual([
      { actor: { kind: "system", name: "webhooks" }, action: "webhook.disable", after },
    ]);
  });

  test("of 410 to what is still sent after the organization was deleted keeps nothing back", async () => {
    await store.addDeliveries(webhookId, 2);
    const later = sql`now() + interval '1 day'`;
    await store.db.execute(sql`update webhooks set deleted_at = ${later} where id = ${webhookId}`);
    await complete(await claim({ endpointConcurrency: 1 }), { ...FAILURE, statusCode: 410 });
    expect(await claim()).toHaveLength(1);
  });

  test("of 410 to a test does not disable", async () => {
    await store.addDeliveries(webhookId, 1, { trigger: "test", maxAttempts: 1 });
    await complete(await claim(), { ...FAILURE, statusCode: 410 });
    const [webhook] = await store.db.execute(sql`select enabled from webhooks where id = ${webhookId}`);
    expect(webhook).toEqual({ enabled: true });
  });
});

test("the cost of a claim does not depend on what is pending for endpoints that are down", async () => {
  // A single connection: its statistics are flushed before they are read.
  const one = connectDatabase(store.url, { poolSize: 1 });
  // Without the time limit of a statement of requests: on a slow machine it takes longer.
  await one.sql`
    with down as (
      insert into webhooks (id, org_id, url, description, events, enabled)
      select gen_random_uuid(), ${orgId}, ${URL}, '', '{*}', true from generate_series(1, 100) returning id
    ), queue as (
      insert into webhook_queues (webhook_id, org_id, due_at, paused_until, consecutive_failures)
      select id, ${orgId}, now() + interval '1 minute', now() + interval '1 minute', 10 from down
    ), event as (
      insert into webhook_events (id, org_id, type, body, occurred_at)
      values (gen_random_uuid(), ${orgId}, 'node.replaced', '{}', now()) returning id
    )
    insert into webhook_deliveries (id, org_id, webhook_id, event_id, event_type, trigger, max_attempts)
    select gen_random_uuid(), ${orgId}, down.id, event.id, 'node.replaced', 'redelivery', 8
    from down, event, generate_series(1, 200)`;
  await store.db.execute(sql`analyze`);
  await store.addDeliveries(webhookId, 20);
  const readBlocks = async () => {
    await one.db.execute(sql`select pg_stat_force_next_flush()`);
    const [row] = await one.db.execute<{ blocks: number }>(sql`
      select (heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit)::int as blocks
      from pg_statio_user_tables where relname = 'webhook_deliveries'`);
    return row?.blocks ?? 0;
  };
  // Other connections and autovacuum report what they have read at any time: the least is the claim's own.
  const blocks: number[] = [];
  for (let round = 0; round < 5; round += 1) {
    const before = await readBlocks();
    expect(await claim({}, one.db)).toHaveLength(8);
    blocks.push((await readBlocks()) - before);
    await store.setQueue(webhookId, { claims: [], dueAt: new Date(0) });
  }
  await one.close();
  expect(Math.min(...blocks)).toBeGreaterThan(0);
  expect(Math.min(...blocks)).toBeLessThan(50);
});
