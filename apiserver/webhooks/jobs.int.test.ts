import { sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createId } from "../../shared/program/id.ts";
import { createRegistry } from "../../shared/program/metrics.ts";
import { createDeliveryMetrics } from "./deliverer/metrics.ts";
import { BATCH_SIZE } from "./deliverer/retention-store.ts";
import { startTestDeliveries, type TestDeliveries } from "./deliverer/testing.ts";
import { deliveryJobs } from "./jobs.ts";

const URL = "https://example.com/hook";
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
let store: TestDeliveries;
let orgId: string;
let webhookId: string;

beforeAll(async () => {
  store = await startTestDeliveries();
});
beforeEach(async () => {
  orgId = await store.addOrganization();
  webhookId = await store.addWebhook(orgId, URL);
});
afterAll(() => store.end());

const ago = (ms: number) => new Date(Date.now() - ms);

async function run(name: string): Promise<void> {
  const job = deliveryJobs(store).find((one) => one.name === name);
  if (job === undefined) throw new Error(`there is no job ${name}`);
  await job.run(new AbortController().signal);
}

async function countByStatus(id = webhookId): Promise<Record<string, number>> {
  const rows = await store.findDeliveries(id);
  return Object.fromEntries(
    Object.entries(Object.groupBy(rows, ({ status }) => status)).map(([key, all]) => [key, all.length]),
  );
}

const findAudits = async () => [
  ...(await store.db.execute(
    sql`select action, actor->>'name' as by, after from audit_log where target_id = ${webhookId} order by id`,
  )),
];
const findWebhook = async () =>
  (await store.db.execute(sql`select * from webhooks where id = ${webhookId}`))[0];

describe("what is pending", () => {
  test("for a deleted webhook is cancelled, however much it is", async () => {
    const other = await store.addWebhook(orgId, URL);
    await store.addDeliveries(webhookId, BATCH_SIZE + 1);
    await store.addDeliveries(other, 1);
    await store.setWebhook(webhookId, { deletedAt: new Date() });
    await run("cancel-deliveries-of-deleted-webhooks");
    expect(await countByStatus()).toEqual({ cancelled: BATCH_SIZE + 1 });
    expect(await countByStatus(other)).toEqual({ pending: 1 });
  });

  test("for a disabled webhook is cancelled after 72 hours", async () => {
    const [old] = await store.addDeliveries(webhookId, 1, { createdAt: ago(73 * HOUR_MS) });
    await store.addDeliveries(webhookId, 1, { createdAt: ago(71 * HOUR_MS) });
    await run("cancel-deliveries-of-disabled-webhooks");
    expect(await countByStatus()).toEqual({ pending: 2 });
    await store.setWebhook(webhookId, { enabled: false, disabledAt: new Date() });
    await run("cancel-deliveries-of-disabled-webhooks");
    expect((await store.findDeliveries(webhookId)).map(({ id, status }) => [id === old, status])).toEqual([
      [true, "cancelled"],
      [false, "pending"],
    ]);
  });
});

describe("a webhook without a success", () => {
  test("for four days is in the audit log, once", async () => {
    const failingSince = ago(4 * DAY_MS + 1);
    await store.setQueue(webhookId, { failingSince, exhaustedEvents: 3 });
    await run("review-failing-webhooks");
    await run("review-failing-webhooks");
    expect(await findAudits()).toEqual([
      { action: "webhook.fail", by: "webhooks", after: { failing_since: failingSince.toISOString() } },
    ]);
    expect(await findWebhook()).toMatchObject({ enabled: true });
  });

  test("for five days and two events is disabled, and in the audit log", async () => {
    await store.addDeliveries(webhookId, 1);
    await store.setQueue(webhookId, {
      failingSince: ago(5 * DAY_MS + 1),
      exhaustedEvents: 2,
      failureAuditedAt: ago(DAY_MS),
    });
    await run("review-failing-webhooks");
    await run("review-failing-webhooks");
    expect(await findWebhook()).toMatchObject({
      enabled: false,
      disabled_reason: "failing",
      disabled_at: expect.anything(),
    });
    expect((await store.findQueue(webhookId)).dueAt).toBeNull();
    expect(await findAudits()).toEqual([
      { action: "webhook.disable", by: "webhooks", after: { enabled: false, disabled_reason: "failing" } },
    ]);
  });

  test("for five days and one event stays enabled", async () => {
    await store.setQueue(webhookId, {
      failingSince: ago(9 * DAY_MS),
      exhaustedEvents: 1,
      failureAuditedAt: ago(DAY_MS),
    });
    await run("review-failing-webhooks");
    expect(await findWebhook()).toMatchObject({ enabled: true });
    expect(await findAudits()).toEqual([]);
  });
});

describe("after 30 days", () => {
  const longAgo = ago(31 * DAY_MS);
  const oldId = (index: number) =>
    `${longAgo
      .getTime()
      .toString(16)
      .padStart(12, "0")
      .replace(/^(.{8})/, "$1-")}-7000-8000-${index.toString().padStart(12, "0")}`;

  const addAttempt = (deliveryId: string) =>
    store.db.execute(sql`insert into webhook_attempts (delivery_id, number, org_id, at, duration_ms, request_url, request_headers)
      values (${deliveryId}, 1, ${orgId}, now(), 1, ${URL}, '{}')`);

  async function addOld(count: number): Promise<void> {
    await store.addDeliveries(webhookId, count, { status: "delivered", nextAttemptAt: null });
    const ids = (await store.findDeliveries(webhookId)).map(({ id }) => id);
    for (const [index, id] of ids.entries()) {
      await store.db.execute(sql`update webhook_deliveries set id = ${oldId(index)} where id = ${id}`);
      await addAttempt(oldId(index));
      await store.db.execute(
        sql`update webhook_events set created_at = ${longAgo.toISOString()} where id = ${id}`,
      );
    }
  }

  test("deliveries, events and attempts, those that have lost their delivery too, are deleted, and none earlier", async () => {
    await addOld(3);
    await addAttempt(oldId(3));
    const kept = await store.addDeliveries(webhookId, 1, { status: "delivered", nextAttemptAt: null });
    await run("purge-webhook-deliveries");
    await run("purge-webhook-events");
    expect((await store.findDeliveries(webhookId)).map(({ id }) => id)).toEqual(kept);
    for (const index of [0, 3]) expect(await store.findAttempts(oldId(index))).toEqual([]);
    const events = await store.db.execute(sql`select id from webhook_events where org_id = ${orgId}`);
    expect([...events]).toEqual(kept.map((id) => ({ id })));
  });

  test("an event is kept while its deliveries are to be made", async () => {
    const id = createId();
    await store.db.execute(sql`
      insert into webhook_events (id, org_id, type, body, occurred_at, created_at, pending_webhook_ids)
      values (${id}, ${orgId}, 'node.replaced', '{}', now(), now() - interval '40 days', array[${webhookId}::uuid])`);
    await run("purge-webhook-events");
    expect(await store.db.execute(sql`select 1 from webhook_events where id = ${id}`)).toHaveLength(1);
  });

  test("an event is kept while a delivery of it is", async () => {
    const [id] = await store.addDeliveries(webhookId, 1);
    await store.db.execute(
      sql`update webhook_events set created_at = now() - interval '40 days' where id = ${id}`,
    );
    await run("purge-webhook-events");
    expect(await store.db.execute(sql`select 1 from webhook_events where id = ${id}`)).toHaveLength(1);
  });

  test("a deleted webhook is gone, with its secrets and its queue", async () => {
    await store.setWebhook(webhookId, { deletedAt: ago(29 * DAY_MS) });
    await run("purge-deleted-webhooks");
    expect(await findWebhook()).toBeDefined();
    await store.setWebhook(webhookId, { deletedAt: ago(31 * DAY_MS) });
    await run("purge-deleted-webhooks");
    expect(await findWebhook()).toBeUndefined();
    expect(
      await store.db.execute(sql`select 1 from webhook_secrets where webhook_id = ${webhookId}`),
    ).toHaveLength(0);
  });
});

describe("what came back", () => {
  const KEPT = 2000;
  const DONE = { status: "delivered", nextAttemptAt: null } as const;
  const addAnswer = (id: string, number = 1) =>
    store.db.execute(sql`insert into webhook_attempts (delivery_id, number, org_id, at, duration_ms, request_url,
        request_headers, status_code, response_headers, response_body)
      values (${id}, ${number}, ${orgId}, now(), 1, ${URL}, '{}', 204, '{"date": "now"}', 'text')`);
  /** How many attempts of each delivery have what came back. */
  const countAnswers = async (ids: readonly string[]) => {
    const found = await Promise.all(ids.map((id) => store.findAttempts(id)));
    return found.map((all) => all.filter(({ responseHeaders: headers }) => headers !== null).length);
  };

  test("is kept of the newest 2,000 deliveries of a webhook", async () => {
    const ids = await store.addDeliveries(webhookId, KEPT + 1, DONE);
    const [oldest = "", next = ""] = ids.toSorted();
    for (const id of [oldest, next]) await addAnswer(id);
    await run("purge-webhook-responses");
    const kept = await Promise.all([oldest, next].map((id) => store.findAttempts(id)));
    expect(kept).toMatchObject([
      [{ statusCode: 204, responseHeaders: null, responseBody: null }],
      [{ statusCode: 204, responseHeaders: { date: "now" }, responseBody: expect.anything() }],
    ]);
  });

  test("is removed however many deliveries are older, pending ones too, and a later run reads none of them again", async () => {
    const old = await store.addDeliveries(webhookId, BATCH_SIZE + 2, DONE);
    await store.addDeliveries(webhookId, KEPT, DONE);
    const ends = [old[0] ?? "", old.at(-1) ?? ""];
    for (const id of ends) await addAnswer(id);
    await store.db.execute(sql`update webhook_deliveries
      set status = 'pending', next_attempt_at = now() where id = ${ends[0]}`);
    await run("purge-webhook-responses");
    expect(await countAnswers(ends)).toEqual([0, 0]);
    for (const id of ends) await addAnswer(id, 2);
    const [next = ""] = await store.addDeliveries(webhookId, KEPT + 1, DONE);
    await addAnswer(next);
    await run("purge-webhook-responses");
    expect(await countAnswers([...ends, next])).toEqual([1, 1, 0]);
  });
});

test("the metrics tell what is pending, how old, what is overdue, and what is disabled", async () => {
  const registry = createRegistry();
  const metrics = createDeliveryMetrics(registry, store.db);
  await store.addDeliveries(webhookId, 2, { createdAt: ago(HOUR_MS) });
  await store.setWebhook(await store.addWebhook(orgId, URL), {
    enabled: false,
    disabledAt: new Date(),
    disabledReason: "gone",
  });
  metrics.onResult("postponed");
  metrics.onAttempt({ durationMs: 20, errorClass: "timeout" });
  const text = await registry.metrics();
  const readValue = (line: string) =>
    Number(
      text
        .split("\n")
        .find((one) => one.startsWith(line))
        ?.split(" ")
        .at(-1),
    );
  expect(readValue("marina_apiserver_webhook_deliveries_pending")).toBeGreaterThanOrEqual(2);
  expect(readValue("marina_apiserver_webhook_oldest_pending_seconds")).toBeGreaterThanOrEqual(3600);
  expect(readValue("marina_apiserver_webhook_overdue_seconds")).toBeGreaterThan(0);
  expect(readValue('marina_apiserver_webhooks_disabled{reason="gone"}')).toBeGreaterThanOrEqual(1);
  expect(readValue('marina_apiserver_webhook_deliveries_total{result="postponed"}')).toBe(1);
  expect(readValue('marina_apiserver_webhook_attempt_seconds_count{result="timeout"}')).toBe(1);
});
