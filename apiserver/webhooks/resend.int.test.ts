import { and, eq, notInArray } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { createId } from "../../shared/program/id.ts";
import { emitWebhookEvents } from "../events/emit.ts";
import { webhookEvents } from "../events/table.ts";
import { makeOrganization } from "../testing/issuer.ts";
import { fanOutEvents } from "./deliverer/fan-out-store.ts";
import { MAX_RECOVERED } from "./resend.ts";
import { webhookDeliveries, webhookQueues, webhooks } from "./table.ts";
import { anAlert, aReplacement, setUpDeliveries } from "./testing.ts";

const { api, issuer, requests, start, emit } = setUpDeliveries();

const DAY_MS = 86_400_000;
const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MS);

describe("a test of a webhook", () => {
  test("is a pending delivery of one attempt, whose event no other webhook gets", async () => {
    const { org, id, send, list } = await start({ events: ["cluster.ready"] });
    const other = await requests.make(org, { events: ["*"] });
    const response = await send("POST", "/test");
    expect(response.status).toBe(202);
    expect(response.body).toMatchObject({
      webhook_id: id,
      event_type: "webhook.test",
      trigger: "test",
      status: "pending",
      max_attempts: 1,
    });
    const path = `${org.path}/webhooks/${id}/deliveries/${response.body.id}`;
    expect(response.headers.get("location")).toBe(path);
    expect(response.headers.get("retry-after")).toBe("1");
    expect(await list()).toEqual([response.body]);
    const { body } = (await send("GET", `/deliveries/${response.body.id}`)).body;
    expect(JSON.parse(body)).toMatchObject({ type: "webhook.test", data: { webhook_id: id } });
    expect((await requests.send(org, "GET", `/${other}/deliveries`)).body.items).toEqual([]);
    const [queue] = await api.deps.db.select().from(webhookQueues).where(eq(webhookQueues.webhookId, id));
    expect(queue?.dueAt).toBeInstanceOf(Date);
    expect((await requests.readAudit(org)).at(-1)).toMatchObject({ action: "webhook.test", targetId: id });
  });

  test("is one for each Idempotency-Key", async () => {
    const { send, list } = await start();
    const first = await send("POST", "/test", undefined, { "idempotency-key": "once" });
    const again = await send("POST", "/test", undefined, { "idempotency-key": "once" });
    expect(again.body).toEqual(first.body);
    expect(await list()).toHaveLength(1);
  });
});

describe("a redelivery", () => {
  test("is another delivery of the same event with one attempt, and leaves the first as it is", async () => {
    const { org, send, list } = await start();
    await emit(aReplacement(org));
    const [{ id }] = await list();
    await requests.settle(id, "delivered");
    const [first] = await list();
    const response = await send("POST", `/deliveries/${id}/redeliver`);
    expect(response.status).toBe(202);
    expect(response.body).toMatchObject({
      event_id: first.event_id,
      trigger: "redelivery",
      status: "pending",
      max_attempts: 1,
    });
    expect(response.body.id).not.toBe(id);
    expect(await list()).toEqual([response.body, first]);
    expect((await requests.readAudit(org)).at(-1)).toMatchObject({
      action: "webhook.redeliver",
      after: { redelivered_id: id, event_type: "node.replaced" },
    });
  });

  test("of an unknown delivery, or one of another webhook, is 404", async () => {
    const { org, send, list } = await start();
    await emit(aReplacement(org));
    const [{ id }] = await list();
    expect((await send("POST", `/deliveries/${createId()}/redeliver`)).status).toBe(404);
    const other = await requests.make(org);
    expect((await requests.send(org, "POST", `/${other}/deliveries/${id}/redeliver`)).status).toBe(404);
  });
});

describe("a recovery", () => {
  test("delivers what failed, was cancelled or was never sent, once, with all attempts", async () => {
    const { org, id, send, list } = await start({ events: ["node.replaced"] });
    await emit(...Array.from({ length: 4 }, () => aReplacement(org)));
    const [delivered, failed, cancelled, pending] = await list();
    await requests.settle(delivered.id, "delivered");
    await requests.settle(failed.id, "failed");
    await requests.settle(cancelled.id, "cancelled");
    await send("PUT", "", { enabled: false });
    await emit(aReplacement(org), anAlert(org));
    await send("PUT", "", { enabled: true });
    const response = await send("POST", "/recover", { since: daysAgo(1).toISOString() });
    expect([response.status, response.body.deliveries]).toEqual([202, 3]);
    const made = await list("?status=pending");
    const recovered = made.filter(({ trigger }: { trigger: string }) => trigger === "recovery");
    expect(recovered).toHaveLength(3);
    for (const one of recovered) expect(one).toMatchObject({ event_type: "node.replaced", max_attempts: 8 });
    const events = recovered.map(({ event_id: event }: { event_id: string }) => event);
    expect(events).toEqual(expect.arrayContaining([failed.event_id, cancelled.event_id]));
    expect(events).not.toContain(delivered.event_id);
    expect(events).not.toContain(pending.event_id);
    const again = await send("POST", "/recover", { since: daysAgo(1).toISOString() });
    expect(again.body.deliveries).toBe(0);
    expect((await requests.readAudit(org)).at(-1)).toMatchObject({
      action: "webhook.recover",
      targetId: id,
      after: { deliveries: 0 },
    });
  });

  test("makes none of an event whose delivery is still to be made", async () => {
    const { org, send, list } = await start();
    await api.deps.db.transaction((tx) => emitWebhookEvents(tx, [aReplacement(org)]));
    const { body } = await send("POST", "/recover", { since: daysAgo(1).toISOString() });
    expect(body.deliveries).toBe(0);
    await fanOutEvents(api.deps.db);
    expect(await list()).toHaveLength(1);
  });

  test("looks back to the time asked for, for 30 days at most, and not before the webhook's creation", async () => {
    const { org, id, send } = await start();
    const other = await makeOrganization(api, issuer);
    await api.deps.db
      .update(webhooks)
      .set({ createdAt: daysAgo(20) })
      .where(eq(webhooks.id, id));
    for (const days of [40, 25, 10, 1]) {
      const values = { orgId: org.id, type: "node.replaced", body: "{}", occurredAt: daysAgo(days) } as const;
      await api.deps.db.insert(webhookEvents).values({ ...values, id: createId(), createdAt: daysAgo(days) });
    }
    await emit(aReplacement(other));
    const recover = async (days: number) =>
      (await send("POST", "/recover", { since: daysAgo(days).toISOString() })).body;
    expect((await recover(-1)).deliveries).toBe(0);
    expect((await recover(5)).deliveries).toBe(1);
    const { since, deliveries } = await recover(100);
    expect(deliveries).toBe(1);
    expect(Math.round((Date.now() - Date.parse(since)) / DAY_MS)).toBe(20);
    await api.deps.db
      .update(webhooks)
      .set({ createdAt: daysAgo(100) })
      .where(eq(webhooks.id, id));
    const oldest = await recover(100);
    expect(oldest.deliveries).toBe(1);
    expect(Math.round((Date.now() - Date.parse(oldest.since)) / DAY_MS)).toBe(30);
  });

  test("makes 10,000 deliveries a request, for the oldest events; the next request continues", async () => {
    const { org, id, send } = await start();
    await api.deps.db
      .update(webhooks)
      .set({ createdAt: daysAgo(2) })
      .where(eq(webhooks.id, id));
    const left = Array.from({ length: 3 }, createId);
    const ids = [...Array.from({ length: MAX_RECOVERED }, createId), ...left];
    const values = { orgId: org.id, type: "node.replaced", body: "{}", occurredAt: daysAgo(1) } as const;
    for (let first = 0; first < ids.length; first += 1000)
      await api.deps.db.insert(webhookEvents).values(
        ids.slice(first, first + 1000).map((eventId, index) => ({
          ...values,
          id: eventId,
          createdAt: new Date(daysAgo(1).getTime() + first + index),
        })),
      );
    const recover = async () =>
      (await send("POST", "/recover", { since: daysAgo(2).toISOString() })).body.deliveries;
    const readUndelivered = async () => {
      const made = api.deps.db
        .select({ id: webhookDeliveries.eventId })
        .from(webhookDeliveries)
        .where(eq(webhookDeliveries.webhookId, id));
      return api.deps.db
        .select({ id: webhookEvents.id })
        .from(webhookEvents)
        .where(and(eq(webhookEvents.orgId, org.id), notInArray(webhookEvents.id, made)));
    };
    expect(await recover()).toBe(10_000);
    expect((await readUndelivered()).map((event) => event.id).sort()).toEqual(left.sort());
    expect(await recover()).toBe(3);
    expect(await readUndelivered()).toEqual([]);
  });

  test.each<[object, string]>([
    [{}, "since/required"],
    [{ since: "yesterday" }, "since/invalid_format"],
    [{ since: "2026-11-21" }, "since/invalid_format"],
    [{ since: null }, "since/invalid_type"],
  ])("with %j is 422 %s", async (body, fault) => {
    const { send } = await start();
    const response = await send("POST", "/recover", body);
    expect(response.status).toBe(422);
    expect(response.body.error.message.startsWith(`${fault}:`)).toBe(true);
  });
});

test("of a disabled webhook nothing is tested, redelivered or recovered: 409", async () => {
  const { org, send, list } = await start();
  await emit(aReplacement(org));
  const [{ id }] = await list();
  await send("PUT", "", { enabled: false });
  for (const [path, body] of [
    ["/test", undefined],
    [`/deliveries/${id}/redeliver`, undefined],
    ["/recover", { since: daysAgo(1).toISOString() }],
  ] as const) {
    const response = await send("POST", path, body);
    expect([response.status, response.body.error.code]).toEqual([409, "conflict"]);
  }
  expect(await list()).toHaveLength(1);
});
