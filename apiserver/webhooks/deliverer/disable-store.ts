import { and, eq, sql } from "drizzle-orm";
import { type AuditEntry, recordSystemAudits } from "../../audit/index.ts";
import type { Database, Queryable } from "../../db/client.ts";
import { type DISABLED_REASONS, webhookQueues, webhooks } from "../table.ts";
import { classifyFailure } from "./endpoint-health.ts";

type DisabledReason = (typeof DISABLED_REASONS)[number];

/**
 * Disables webhooks, in the transaction that has locked them; each is in the audit log. `gone`: the endpoint responded with
 * 410; `failing`: it has failed for five days. The version rises, so that an If-Match from before it was disabled cannot enable it.
 * One whose deletion is set for a later time is left out: until then what waits is sent.
 */
export async function disableWebhooks(
  tx: Queryable,
  ids: readonly string[],
  reason: DisabledReason,
): Promise<void> {
  if (ids.length === 0) return;
  const disabled = await tx.execute<{ id: string; org_id: string }>(sql`
    update webhooks set enabled = false, disabled_reason = ${reason}, disabled_at = now(), version = version + 1
    where id in (select value::uuid from json_array_elements_text(${JSON.stringify(ids)}::text::json))
      and enabled and deleted_at is null
    returning id, org_id`);
  const stopped = JSON.stringify(disabled.map(({ id }) => id));
  await tx.execute(sql`
    update webhook_queues set due_at = null
    where webhook_id in (select value::uuid from json_array_elements_text(${stopped}::text::json))`);
  const after = { enabled: false, disabled_reason: reason };
  await recordWebhookAudits(
    tx,
    disabled.map(({ id, org_id: orgId }) => ({ action: "webhook.disable", orgId, id, after })),
  );
}

/** Audit rows of what Marina itself did to webhooks, or found of them. */
async function recordWebhookAudits(
  tx: Queryable,
  entries: readonly (Pick<AuditEntry, "action" | "orgId" | "after"> & { id: string })[],
): Promise<void> {
  await recordSystemAudits(
    tx,
    "webhooks",
    entries.map(({ id, ...entry }) => ({ ...entry, target: { kind: "webhook", id }, result: "done" })),
  );
}

/**
 * Disables each webhook that has failed for five days and exhausted the retries of two events, and records once in the
 * audit log each that has failed for four days.
 */
export async function reviewFailing(db: Database): Promise<void> {
  const failing = await db
    .select({ id: webhooks.id })
    .from(webhookQueues)
    .innerJoin(webhooks, eq(webhooks.id, webhookQueues.webhookId))
    .where(
      and(
        sql`${webhookQueues.failingSince} < now() - interval '4 days'`,
        sql`${webhooks.enabled} and ${webhooks.deletedAt} is null`,
      ),
    );
  for (const { id } of failing) await db.transaction((tx) => review(tx, id));
}

async function review(tx: Queryable, id: string): Promise<void> {
  const [webhook] = await tx
    .select({
      orgId: webhooks.orgId,
      enabled: webhooks.enabled,
      nowMs: sql<number>`extract(epoch from now())::float8 * 1000`,
    })
    .from(webhooks)
    .where(and(eq(webhooks.id, id), sql`${webhooks.deletedAt} is null`))
    .for("no key update");
  const [queue] = await tx.select().from(webhookQueues).where(eq(webhookQueues.webhookId, id)).for("update");
  if (webhook?.enabled !== true || queue === undefined) return;
  const { orgId, nowMs } = webhook;
  const failingSince = queue.failingSince?.toISOString() ?? null;
  const consequence = classifyFailure(
    {
      failingSinceMs: queue.failingSince?.getTime() ?? null,
      failureAuditedAtMs: queue.failureAuditedAt?.getTime() ?? null,
      exhaustedEvents: queue.exhaustedEvents,
    },
    nowMs,
  );
  if (consequence === "disable") await disableWebhooks(tx, [id], "failing");
  if (consequence !== "record") return;
  await tx
    .update(webhookQueues)
    .set({ failureAuditedAt: new Date(nowMs) })
    .where(eq(webhookQueues.webhookId, id));
  const after = { failing_since: failingSince };
  await recordWebhookAudits(tx, [{ action: "webhook.fail", orgId, id, after }]);
}
