import { createSecretKey, type KeyObject } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { drizzle } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import { serve } from "../../e2e/bench/remote.ts";
import { nowMs } from "../../e2e/bench/webhooks/programs.ts";
import { createId } from "../../shared/program/id.ts";
import { connectDatabase, type DatabaseClients } from "../db/client.ts";
import { createTestDatabase, type TestDatabase } from "../db/testing.ts";
import { emitWebhookEvents, type NewWebhookEvent, newEvent } from "../events/emit.ts";
import { nodeReplaced } from "../resources/project/index.ts";
import { claimDeliveries } from "./deliverer/claim-store.ts";
import { fanOutEvents } from "./deliverer/fan-out-store.ts";
import { encryptSecret } from "./secrets/cipher.ts";
import { createSecret } from "./sending/sign.ts";
import { webhookQueues, webhookSecrets, webhooks } from "./table.ts";

/** A program of `npm run bench webhooks`: fills the tables of a database and publishes events. */
const ROWS_PER_STATEMENT = 500;
const EVENTS_PER_TRANSACTION = 100;

let database: TestDatabase;
let clients: DatabaseClients;
let key: KeyObject;
const orgIds: string[] = [];
let published = 0;
let backlogOrgId = "";

/** An event of the next organization, in turn. Its number makes it unique. */
function nextEvent(): NewWebhookEvent {
  const orgId = orgIds[published % orgIds.length] ?? "";
  published += 1;
  return newEvent(nodeReplaced, {
    orgId,
    occurredAt: new Date(),
    data: {
      cluster_id: orgId,
      node_pool_id: orgId,
      old_node: "production-workers-8rtvh-6x2lw",
      new_node: `node-${published}`,
      reason: "Unhealthy",
    },
  });
}

async function publishOne(): Promise<{ name: string; atMs: number }> {
  const event = nextEvent();
  // Before the transaction: others are published meanwhile.
  const name = `node-${published}`;
  const atMs = await clients.db.transaction(async (tx) => {
    await emitWebhookEvents(tx, [event]);
    return nowMs();
  });
  return { name, atMs };
}

async function insertWebhooks(urls: readonly string[], orgIdOf: () => string): Promise<string[]> {
  const added: string[] = [];
  for (let start = 0; start < urls.length; start += ROWS_PER_STATEMENT) {
    const rows = urls
      .slice(start, start + ROWS_PER_STATEMENT)
      .map((url) => ({ id: createId(), orgId: orgIdOf(), url, events: ["*" as const] }));
    await clients.sql`insert into organizations (id, name, slug)
      select id, 'Bench', id from unnest(${rows.map(({ orgId }) => orgId)}::uuid[]) as id on conflict do nothing`;
    await clients.db.insert(webhooks).values(rows.map((row) => ({ ...row, description: "", enabled: true })));
    await clients.db.insert(webhookQueues).values(rows.map(({ id, orgId }) => ({ webhookId: id, orgId })));
    await clients.db.insert(webhookSecrets).values(
      rows.map(({ id: webhookId, orgId }) => ({
        id: createId(),
        webhookId,
        orgId,
        ...encryptSecret({ id: "bench", key }, webhookId, createSecret()),
      })),
    );
    added.push(...rows.map(({ orgId }) => orgId));
  }
  return added;
}

async function analyze(): Promise<void> {
  await clients.sql`vacuum analyze`;
}

serve({
  open: async ({ adminUrl, key: text }: { adminUrl: string; key: string }) => {
    database = await createTestDatabase(adminUrl);
    clients = connectDatabase(database.url);
    key = createSecretKey(Buffer.from(text, "base64"));
    return database.url;
  },
  addWebhooks: async (urls: readonly string[]) => {
    orgIds.push(...(await insertWebhooks(urls, createId)));
    await analyze();
  },
  publish: async (count: number) => {
    for (let left = count; left > 0; left -= EVENTS_PER_TRANSACTION) {
      const events = Array.from({ length: Math.min(left, EVENTS_PER_TRANSACTION) }, nextEvent);
      await clients.db.transaction((tx) => emitWebhookEvents(tx, events));
    }
  },
  publishAtRate: async ({ perSecond, seconds }: { perSecond: number; seconds: number }) => {
    const startedMs = nowMs();
    const publishing: Promise<{ name: string; atMs: number }>[] = [];
    for (let n = 0; n < perSecond * seconds; n++) {
      const waitMs = startedMs + (n * 1000) / perSecond - nowMs();
      if (waitMs > 0) await sleep(waitMs);
      publishing.push(publishOne());
    }
    const times = new Map((await Promise.all(publishing)).map(({ name, atMs }) => [name, atMs]));
    const rows = await clients.sql<{ id: string; name: string }[]>`
      select id, body::json->'data'->>'new_node' as name from webhook_events`;
    return rows.flatMap(({ id, name }) => {
      const atMs = times.get(name);
      return atMs === undefined ? [] : [[id, atMs]];
    });
  },
  addBacklog: async (backlog: { webhooks: number; deliveriesEach: number; url: string }) => {
    backlogOrgId = createId();
    const urls = Array.from({ length: backlog.webhooks }, (_, n) => `${backlog.url}/${n}`);
    await insertWebhooks(urls, () => backlogOrgId);
    const { sql } = clients;
    await sql`
      with events as (
        insert into webhook_events (id, org_id, type, body, occurred_at)
        select uuidv7(), ${backlogOrgId}, 'node.replaced', repeat('x', 300), now()
        from generate_series(1, ${backlog.deliveriesEach * backlog.webhooks})
        returning id
      ), numbered as (select id, row_number() over () as number from events),
      targets as (
        select id, row_number() over () as number from webhooks where org_id = ${backlogOrgId}
      )
      insert into webhook_deliveries (id, org_id, webhook_id, event_id, event_type, trigger, attempts, max_attempts)
      select uuidv7(), ${backlogOrgId}, targets.id, numbered.id, 'node.replaced', 'event', 1, 8
      from numbered join targets on targets.number = 1 + numbered.number % ${backlog.webhooks}`;
    await sql`
      update webhook_queues set consecutive_failures = 10, failing_since = now() - interval '1 hour',
        paused_until = pause.ends_at, due_at = pause.ends_at
      from (select webhook_id, now() + random() * interval '60 s' as ends_at from webhook_queues) pause
      where pause.webhook_id = webhook_queues.webhook_id and org_id = ${backlogOrgId}`;
    await analyze();
  },
  countPending: async () => {
    const [row] = await clients.sql`
      select count(*)::int as count from webhook_deliveries
      where status = 'pending' and webhook_id in (select id from webhooks where org_id = any(${orgIds}::uuid[]))`;
    return row?.count;
  },
  countBacklog: async () => {
    const [row] = await clients.sql`
      select count(*)::int as count from webhook_deliveries where status = 'pending' and org_id = ${backlogOrgId}`;
    return row?.count;
  },
  makeDue: async () => {
    await clients.sql`update webhook_deliveries set next_attempt_at = now() where status = 'pending'`;
    await clients.sql`update webhook_queues set paused_until = null, consecutive_failures = 0, due_at = now()`;
  },
  explainClaim: async (superuserUrl: string) => {
    const url = Object.assign(new URL(superuserUrl), { pathname: new URL(database.url).pathname });
    const plans: string[] = [];
    const sql = postgres(url.href, { max: 1, onnotice: ({ message = "" }) => plans.push(message) });
    await sql`load 'auto_explain'`;
    await sql`set auto_explain.log_min_duration = 0`;
    await sql`set auto_explain.log_analyze = on`;
    await sql`set auto_explain.log_buffers = on`;
    await sql`set client_min_messages = log`;
    const unlimited = { limit: 128, endpointConcurrency: 8, orgCapacityOf: () => 32, busyOrgIds: [] };
    await drizzle(sql)
      .transaction(async (tx) => {
        await fanOutEvents(tx as unknown as DatabaseClients["db"]);
        await claimDeliveries(tx as unknown as DatabaseClients["db"], unlimited);
        tx.rollback();
      })
      .catch((error: Error) => {
        if (error.name !== "TransactionRollbackError" && error.message !== "Rollback") throw error;
      });
    await sql.end();
    return plans.join("\n\n");
  },
  readBody: async () => {
    const [row] = await clients.sql`select body from webhook_events order by id limit 1`;
    return row?.body;
  },
  drop: async () => {
    await clients.close();
    await database.drop();
  },
});
