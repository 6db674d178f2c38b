import { and, asc, count, eq, getTableColumns, gt, isNotNull, isNull, sql } from "drizzle-orm";
import { NIL_ID } from "../../shared/program/id.ts";
import type { Queryable } from "../db/client.ts";
import type { PageRequest } from "../http/contract/page.ts";
import { notFound } from "../http/errors.ts";
import { type WebhookQueueRow, type WebhookRow, webhookQueues, webhooks } from "./table.ts";

const NEXT_VERSION = sql`${webhooks.version} + 1`;

/** A webhook with the health of its endpoint. */
export type Webhook = WebhookRow & Pick<WebhookQueueRow, "failingSince" | "lastAttemptAt" | "lastStatusCode">;

const columns = {
  ...getTableColumns(webhooks),
  failingSince: webhookQueues.failingSince,
  lastAttemptAt: webhookQueues.lastAttemptAt,
  lastStatusCode: webhookQueues.lastStatusCode,
};

export interface WebhookFilter {
  enabled?: boolean | undefined;
  disabled_reason?: WebhookRow["disabledReason"] | undefined;
  failing?: boolean | undefined;
}

/** Webhooks of an organization, or of all, ordered by id; one row more than `limit`. */
export async function listWebhooks(
  db: Queryable,
  orgId: string | undefined,
  { enabled, disabled_reason: reason, failing, cursor = NIL_ID, limit }: WebhookFilter & PageRequest,
): Promise<Webhook[]> {
  return db
    .select(columns)
    .from(webhooks)
    .innerJoin(webhookQueues, eq(webhookQueues.webhookId, webhooks.id))
    .where(
      and(
        orgId === undefined ? undefined : eq(webhooks.orgId, orgId),
        isNull(webhooks.deletedAt),
        gt(webhooks.id, cursor),
        enabled === undefined ? undefined : eq(webhooks.enabled, enabled),
        reason == null ? undefined : eq(webhooks.disabledReason, reason),
        failing === undefined ? undefined : (failing ? isNotNull : isNull)(webhookQueues.failingSince),
      ),
    )
    .orderBy(asc(webhooks.id))
    .limit(limit + 1);
}

/** One webhook. Throws 404. */
export async function requireWebhook(db: Queryable, orgId: string, id: string): Promise<Webhook> {
  const [row] = await db
    .select(columns)
    .from(webhooks)
    .innerJoin(webhookQueues, eq(webhookQueues.webhookId, webhooks.id))
    .where(isOne(orgId, id));
  if (row === undefined) throw notFound("webhook");
  return row;
}

/** Like requireWebhook, with a row lock until the transaction ends. Throws 404. */
export async function lockWebhook(tx: Queryable, orgId: string, id: string): Promise<Webhook> {
  const [row] = await tx
    .select(columns)
    .from(webhooks)
    .innerJoin(webhookQueues, eq(webhookQueues.webhookId, webhooks.id))
    .where(isOne(orgId, id))
    // A delivery that is made at the same time refers to the row and must not wait for it.
    .for("no key update", { of: webhooks });
  if (row === undefined) throw notFound("webhook");
  return row;
}

/** How many webhooks an organization has, and how many with those that are deleted and not yet purged. */
export async function countWebhooks(
  tx: Queryable,
  orgId: string,
): Promise<{ present: number; kept: number }> {
  const [row] = await tx
    .select({
      present: sql<number>`count(*) filter (where ${isNull(webhooks.deletedAt)})::int`,
      kept: count(),
    })
    .from(webhooks)
    .where(eq(webhooks.orgId, orgId));
  return row ?? { present: 0, kept: 0 };
}

/** Adds a webhook. */
export async function insertWebhook(
  tx: Queryable,
  values: typeof webhooks.$inferInsert,
): Promise<WebhookRow> {
  const [row] = await tx.insert(webhooks).values(values).returning();
  if (row === undefined) throw new Error("an insert returned no row");
  return row;
}

/** Adds the queue of a webhook. */
export async function insertQueue(tx: Queryable, orgId: string, webhookId: string): Promise<void> {
  await tx.insert(webhookQueues).values({ orgId, webhookId });
}

/** Changes a webhook. Throws 404. */
export async function updateWebhookRow(
  tx: Queryable,
  orgId: string,
  id: string,
  values: Partial<
    Pick<
      WebhookRow,
      | "url"
      | "description"
      | "events"
      | "enabled"
      | "disabledAt"
      | "disabledReason"
      | "deletedAt"
      | "updatedAt"
    >
  >,
): Promise<WebhookRow> {
  const [row] = await tx
    .update(webhooks)
    .set({ ...values, version: NEXT_VERSION })
    .where(isOne(orgId, id))
    .returning();
  if (row === undefined) throw notFound("webhook");
  return row;
}

/** Marks all webhooks of an organization as deleted at `deletedAt`. */
export async function endWebhooks(tx: Queryable, orgId: string, deletedAt: Date): Promise<void> {
  await tx
    .update(webhooks)
    .set({ deletedAt, version: NEXT_VERSION })
    .where(and(eq(webhooks.orgId, orgId), isNull(webhooks.deletedAt)));
}

/** Changes the queue of a webhook. */
export async function updateQueue(
  tx: Queryable,
  orgId: string,
  webhookId: string,
  values: Partial<Omit<WebhookQueueRow, "orgId" | "webhookId">>,
): Promise<void> {
  await tx
    .update(webhookQueues)
    .set(values)
    .where(and(eq(webhookQueues.orgId, orgId), eq(webhookQueues.webhookId, webhookId)));
}

function isOne(orgId: string, id: string) {
  return and(eq(webhooks.orgId, orgId), eq(webhooks.id, id), isNull(webhooks.deletedAt));
}
