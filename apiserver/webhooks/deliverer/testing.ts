import { randomBytes } from "node:crypto";
import { Agent, request } from "node:https";
import { asc, eq, sql } from "drizzle-orm";
import { readStack } from "../../../e2e/platform/stack/testing.ts";
import { createId } from "../../../shared/program/id.ts";
import { createLogger } from "../../../shared/program/log.ts";
import { createRegistry } from "../../../shared/program/metrics.ts";
import { connectDatabase, type DatabaseClients } from "../../db/client.ts";
import { createTestDatabase } from "../../db/testing.ts";
import { webhookEvents } from "../../events/table.ts";
import { organizations } from "../../organizations/index.ts";
import { webhookAttempts, webhookDeliveries, webhookQueues, webhookSecrets, webhooks } from "../table.ts";
import type { SendAttempt } from "./attempt.ts";
import { type DelivererOptions, startDeliverer } from "./deliverer.ts";
import { createDeliveryMetrics } from "./metrics.ts";
import { makeQueuesDue } from "./queue-store.ts";
import type { Attempted } from "./result-store.ts";

/** An attempt that succeeded. */
export const SUCCESS: Attempted = {
  kind: "attempted",
  atMs: Date.now(),
  durationMs: 12.5,
  requestHeaders: { "webhook-id": "a" },
  statusCode: 200,
  responseHeaders: { "content-type": "text/plain" },
  responseBody: Buffer.from([0, 255]),
  errorClass: null,
  errorMessage: null,
};
/** One that failed. */
export const FAILURE: Attempted = { ...SUCCESS, statusCode: 500, errorClass: "status", errorMessage: "500" };

const log = createLogger({ name: "test", level: "silent" });

export interface TestDeliveries extends DatabaseClients {
  url: string;
  addOrganization(): Promise<string>;
  /** With a queue and a signing secret. Returns its id. */
  addWebhook(orgId: string, url: string): Promise<string>;
  /** Adds pending deliveries that are due, each of a separate event. Returns their ids, in order. */
  addDeliveries(
    webhookId: string,
    count: number,
    values?: Partial<typeof webhookDeliveries.$inferInsert>,
  ): Promise<string[]>;
  findDeliveries(webhookId: string): Promise<(typeof webhookDeliveries.$inferSelect)[]>;
  findAttempts(deliveryId: string): Promise<(typeof webhookAttempts.$inferSelect)[]>;
  findQueue(webhookId: string): Promise<typeof webhookQueues.$inferSelect>;
  setQueue(webhookId: string, values: Partial<typeof webhookQueues.$inferInsert>): Promise<void>;
  setWebhook(webhookId: string, values: Partial<typeof webhooks.$inferInsert>): Promise<void>;
  /** Makes every pending delivery and its queue due, as the passing of time does; claims of dead processes end. */
  makeDue(webhookId: string): Promise<void>;
  end(): Promise<void>;
}

/** A separate database with what the tests of deliveries need in it. */
export async function startTestDeliveries(): Promise<TestDeliveries> {
  const database = await createTestDatabase(readStack().databaseUrl);
  const clients = connectDatabase(database.url);
  const { db } = clients;
  return {
    ...clients,
    url: database.url,
    async addOrganization() {
      const id = createId();
      await db.insert(organizations).values({ id, name: "Test organization", slug: id });
      return id;
    },
    async addWebhook(orgId, url) {
      const id = createId();
      await db.insert(webhooks).values({ id, orgId, url, description: "", events: ["*"], enabled: true });
      await db.insert(webhookQueues).values({ webhookId: id, orgId });
      const ciphertext = randomBytes(32);
      await db
        .insert(webhookSecrets)
        .values({ id: createId(), webhookId: id, orgId, ciphertext, keyId: "a" });
      return id;
    },
    async addDeliveries(webhookId, count, values = {}) {
      const [webhook] = await db.select().from(webhooks).where(eq(webhooks.id, webhookId));
      if (webhook === undefined) throw new Error("there is no such webhook");
      const { orgId } = webhook;
      const eventType = "node.replaced" as const;
      const ids = Array.from({ length: count }, createId);
      await db.transaction(async (tx) => {
        await tx
          .insert(webhookEvents)
          .values(
            ids.map((id) => ({ id, orgId, type: eventType, body: `{"of":"${id}"}`, occurredAt: new Date() })),
          );
        await tx.insert(webhookDeliveries).values(
          ids.map((id) => ({
            id,
            orgId,
            webhookId,
            eventId: id,
            eventType,
            trigger: "event" as const,
            maxAttempts: 8,
            ...values,
          })),
        );
        await makeQueuesDue(tx, [webhookId]);
      });
      return ids;
    },
    findDeliveries: (webhookId) =>
      db
        .select()
        .from(webhookDeliveries)
        .where(eq(webhookDeliveries.webhookId, webhookId))
        .orderBy(asc(webhookDeliveries.id)),
    findAttempts: (deliveryId) =>
      db
        .select()
        .from(webhookAttempts)
        .where(eq(webhookAttempts.deliveryId, deliveryId))
        .orderBy(asc(webhookAttempts.number)),
    async findQueue(webhookId) {
      const [queue] = await db.select().from(webhookQueues).where(eq(webhookQueues.webhookId, webhookId));
      if (queue === undefined) throw new Error("the webhook has no queue");
      return queue;
    },
    async setQueue(webhookId, values) {
      await db.update(webhookQueues).set(values).where(eq(webhookQueues.webhookId, webhookId));
    },
    async setWebhook(webhookId, values) {
      await db.update(webhooks).set(values).where(eq(webhooks.id, webhookId));
    },
    async makeDue(webhookId) {
      await db.transaction(async (tx) => {
        await tx.execute(sql`
          update webhook_queues set paused_until = null, due_at = now(), claims = (
            select coalesce(jsonb_agg(jsonb_set(claim, '{endsAtMs}', '0')), '[]') from jsonb_array_elements(claims) claim
          ) where webhook_id = ${webhookId}`);
        await tx.execute(sql`
          update webhook_deliveries set next_attempt_at = now()
          where webhook_id = ${webhookId} and status = 'pending' and next_attempt_at > now()`);
        await makeQueuesDue(tx, [webhookId]);
      });
    },
    async end() {
      await clients.close();
      await database.drop();
    },
  };
}

export interface TestDeliverer {
  stop(): Promise<void>;
}

/** A deliverer as one replica runs it. */
export function startTestDeliverer(
  { db, sql: client }: Pick<DatabaseClients, "db" | "sql">,
  send: SendAttempt,
  changes: Partial<DelivererOptions> = {},
): TestDeliverer {
  const stopping = new AbortController();
  const { stopped } = startDeliverer(
    {
      db,
      sql: client,
      log,
      now: () => new Date(),
      metrics: createDeliveryMetrics(createRegistry(), db),
      send,
      createSigner:
        () =>
        ({ eventId }) => ({ "webhook-id": eventId }),
      concurrency: 128,
      endpointConcurrency: 8,
      ...changes,
    },
    stopping.signal,
  );
  return {
    async stop() {
      stopping.abort();
      await stopped;
    },
  };
}

/** Sends over HTTPS, trusting one authority. */
export function createTestSender(ca: string): SendAttempt {
  const agent = new Agent({ ca, keepAlive: true });
  return ({ url, headers, body, signal }) =>
    new Promise((resolve, reject) => {
      const startedMs = performance.now();
      const sent = request(url, { method: "POST", headers, agent, signal }, (response) => {
        response.resume();
        const statusCode = response.statusCode ?? 0;
        resolve({
          durationMs: performance.now() - startedMs,
          statusCode,
          responseHeaders: {},
          responseBody: Buffer.alloc(0),
          errorClass: statusCode < 300 ? null : "status",
          errorMessage: null,
        });
      });
      sent.on("error", reject);
      sent.end(body);
    });
}
