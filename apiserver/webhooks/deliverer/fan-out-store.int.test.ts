import { and, eq, isNotNull } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createId } from "../../../shared/program/id.ts";
import { emitWebhookEvents } from "../../events/emit.ts";
import { webhookEvents } from "../../events/table.ts";
import { webhookDeliveries, webhookQueues, type webhooks } from "../table.ts";
import { aReplacement } from "../testing.ts";
import { fanOutEvents } from "./fan-out-store.ts";
import { startTestDeliveries, type TestDeliveries } from "./testing.ts";

let deliveries: TestDeliveries;
let orgId: string;
let webhookId: string;

beforeAll(async () => {
  deliveries = await startTestDeliveries();
});
beforeEach(async () => {
  orgId = await deliveries.addOrganization();
  webhookId = await deliveries.addWebhook(orgId, "https://hooks.example.com");
});
afterAll(() => deliveries.end());

function emit(count = 1): Promise<void> {
  const event = aReplacement({ id: orgId });
  return deliveries.db.transaction((tx) => emitWebhookEvents(tx, Array(count).fill(event)));
}

function findPending() {
  const isPending = and(eq(webhookEvents.orgId, orgId), isNotNull(webhookEvents.pendingWebhookIds));
  return deliveries.db.select().from(webhookEvents).where(isPending);
}

/** The event of each delivery; one that is listed twice has two deliveries. */
async function findDelivered(): Promise<string[]> {
  return (await deliveries.findDeliveries(webhookId)).map(({ eventId }) => eventId).sort();
}

describe("between an event and its fan-out", () => {
  test.each<[string, Partial<typeof webhooks.$inferInsert>, string[]]>([
    [
      "a webhook that is disabled gets a delivery, which waits",
      { enabled: false, disabledAt: new Date() },
      ["pending"],
    ],
    ["a webhook that is deleted gets none", { deletedAt: new Date() }, []],
    [
      "a webhook whose organization is deleted gets one",
      { deletedAt: new Date(Date.now() + 3_600_000) },
      ["pending"],
    ],
    ["a webhook that subscribes to other events gets one", { events: ["cluster.ready"] }, ["pending"]],
  ])("%s", async (_name, values, statuses) => {
    await emit();
    await deliveries.setWebhook(webhookId, values);
    await fanOutEvents(deliveries.db);
    expect((await deliveries.findDeliveries(webhookId)).map(({ status }) => status)).toEqual(statuses);
    expect(await findPending()).toEqual([]);
  });

  test.each<[string, Partial<typeof webhooks.$inferInsert>]>([
    ["is enabled", { enabled: false, disabledAt: new Date() }],
    ["subscribes", { events: ["cluster.ready"] }],
  ])("a webhook that %s only then gets none", async (_name, before) => {
    await deliveries.setWebhook(webhookId, before);
    await emit();
    await deliveries.setWebhook(webhookId, { enabled: true, events: ["*"] });
    await fanOutEvents(deliveries.db);
    expect(await deliveries.findDeliveries(webhookId)).toEqual([]);
  });
});

test("an event locks no queue: its webhooks are worked on while the transaction of the cause is open", async () => {
  await deliveries.db.transaction(async (tx) => {
    await emitWebhookEvents(tx, [aReplacement({ id: orgId })]);
    const locked = await deliveries.db
      .select({ id: webhookQueues.webhookId })
      .from(webhookQueues)
      .where(eq(webhookQueues.webhookId, webhookId))
      .for("update", { noWait: true });
    expect(locked).toHaveLength(1);
  });
});

test("processes that fan out at once make one delivery of each event", async () => {
  await emit(1200);
  const expected = (await findPending()).map(({ id }) => id).sort();
  while ((await findPending()).length > 0)
    await Promise.all(Array.from({ length: 4 }, () => fanOutEvents(deliveries.db)));
  expect(expected).toHaveLength(1200);
  expect(await findDelivered()).toEqual(expected);
});

test("a delivery that is there already is not made again", async () => {
  await emit();
  const [event] = await findPending();
  if (event === undefined) throw new Error("no event");
  const values = {
    id: createId(),
    orgId,
    webhookId,
    eventId: event.id,
    eventType: event.type,
    maxAttempts: 8,
  };
  await deliveries.db.insert(webhookDeliveries).values({ ...values, trigger: "event" });
  await fanOutEvents(deliveries.db);
  expect([await findDelivered(), await findPending()]).toEqual([[event.id], []]);
});
