import { asc, eq } from "drizzle-orm";
import { beforeEach, describe, expect, test } from "vitest";
import { setUp } from "../../e2e/testing/set-up.ts";
import { createId } from "../../shared/program/id.ts";
import { emitWebhookEvents, type NewWebhookEvent } from "../events/emit.ts";
import { webhookEvents } from "../events/table.ts";
import { type ProjectedCluster, projectObservations } from "../resources/project/index.ts";
import { projected } from "../resources/project/testing.ts";
import { startTestApp } from "../testing/app.ts";
import { fanOutEvents } from "./deliverer/fan-out-store.ts";
import { bodySchemaOf } from "./event-schema.ts";
import { webhookDeliveries, webhookQueues, webhooks } from "./table.ts";
import { aReplacement } from "./testing.ts";

const api = setUp(startTestApp);
let orgId: string;

beforeEach(async () => {
  orgId = await api.createOrganization();
});

async function addWebhook(values: Partial<typeof webhooks.$inferInsert> = {}): Promise<string> {
  const id = createId();
  await api.deps.db.insert(webhooks).values({
    id,
    orgId,
    url: "https://example.com",
    description: "",
    events: ["*"],
    enabled: true,
    ...values,
  });
  await api.deps.db.insert(webhookQueues).values({ webhookId: id, orgId: values.orgId ?? orgId });
  return id;
}

const anEvent = (): NewWebhookEvent => ({
  ...aReplacement({ id: orgId }),
  occurredAt: new Date("2026-11-21T09:00:00Z"),
});

async function findDeliveries() {
  return api.deps.db
    .select()
    .from(webhookDeliveries)
    .where(eq(webhookDeliveries.orgId, orgId))
    .orderBy(asc(webhookDeliveries.id));
}

async function findQueue(webhookId: string) {
  const [queue] = await api.deps.db
    .select()
    .from(webhookQueues)
    .where(eq(webhookQueues.webhookId, webhookId));
  if (queue === undefined) throw new Error("the webhook has no queue");
  return queue;
}

test("a webhook is of an organization that is there", async () => {
  await expect(addWebhook({ orgId: createId() })).rejects.toMatchObject({ cause: { code: "23503" } });
});

describe("an event", () => {
  test("gets one pending delivery for each enabled webhook of its organization that subscribes to it", async () => {
    const other = await api.createOrganization();
    const all = await addWebhook();
    const one = await addWebhook({ events: ["cluster.ready", "node.replaced"] });
    await addWebhook({ events: ["cluster.ready"] });
    await addWebhook({ enabled: false, disabledAt: new Date() });
    await addWebhook({ deletedAt: new Date() });
    await addWebhook({ orgId: other });
    await api.deps.db.transaction((tx) => emitWebhookEvents(tx, [anEvent()]));
    expect(await findDeliveries()).toEqual([]);
    await fanOutEvents(api.deps.db);
    const deliveries = await findDeliveries();
    expect(deliveries.map(({ webhookId }) => webhookId).sort()).toEqual([all, one].sort());
    for (const { status, trigger, nextAttemptAt } of deliveries)
      expect({ status, trigger, due: nextAttemptAt instanceof Date }).toEqual({
        status: "pending",
        trigger: "event",
        due: true,
      });
    expect((await findQueue(all)).dueAt).toBeInstanceOf(Date);
  });

  test("is kept without a webhook too, so that it can be recovered", async () => {
    const event = anEvent();
    await api.deps.db.transaction((tx) => emitWebhookEvents(tx, [event]));
    const [row] = await api.deps.db.select().from(webhookEvents).where(eq(webhookEvents.orgId, orgId));
    expect(row?.body).toBe(
      JSON.stringify({ type: event.type, timestamp: "2026-11-21T09:00:00.000Z", data: event.data }),
    );
  });

  test("of a transaction that is rolled back was never there", async () => {
    await addWebhook();
    const failing = api.deps.db.transaction(async (tx) => {
      await emitWebhookEvents(tx, [anEvent()]);
      throw new Error("rolled back");
    });
    await expect(failing).rejects.toThrow("rolled back");
    await fanOutEvents(api.deps.db);
    expect(await findDeliveries()).toEqual([]);
    expect(await api.deps.db.select().from(webhookEvents).where(eq(webhookEvents.orgId, orgId))).toEqual([]);
  });

  test("does not end the pause of a failing endpoint", async () => {
    const pausedUntil = new Date(Date.now() + 3_600_000);
    const id = await addWebhook();
    await api.deps.db.update(webhookQueues).set({ pausedUntil }).where(eq(webhookQueues.webhookId, id));
    await api.deps.db.transaction((tx) => emitWebhookEvents(tx, [anEvent()]));
    await fanOutEvents(api.deps.db);
    expect((await findQueue(id)).dueAt).toEqual(pausedUntil);
  });
});

test("a transition is published once, however often and by however many processes its cluster is observed", async () => {
  await addWebhook();
  const cluster = projected(orgId, 1);
  const status = { transitions: [{ sequence: 1, type: "Ready" as const, at: "2026-11-21T09:05:00Z" }] };
  const ready = { ...cluster, object: { ...cluster.object, status } };
  const observe = (resourceVersion: bigint, object: ProjectedCluster = ready) =>
    api.deps.db.transaction((tx) => projectObservations(tx, [{ object: { ...object, resourceVersion } }]));
  await observe(200n, cluster);
  await Promise.all([observe(201n), observe(201n), observe(202n)]);
  const gone = () =>
    api.deps.db.transaction((tx) => projectObservations(tx, [{ object: ready, deleted: true }]));
  await Promise.all([gone(), gone()]);
  const events = await api.deps.db
    .select()
    .from(webhookEvents)
    .where(eq(webhookEvents.orgId, orgId))
    .orderBy(asc(webhookEvents.id));
  expect(events.map(({ type }) => type)).toEqual(["cluster.created", "cluster.ready", "cluster.deleted"]);
  for (const { type, body } of events) expect(() => bodySchemaOf(type).parse(JSON.parse(body))).not.toThrow();
  await fanOutEvents(api.deps.db);
  expect(await findDeliveries()).toHaveLength(3);
});
