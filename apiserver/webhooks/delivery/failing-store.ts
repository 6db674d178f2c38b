import { and, eq, sql } from "drizzle-orm";
import type { Database, Queryable } from "../../db/client.ts";
import { webhooks } from "../../events/table.ts";
import { webhookQueues } from "../table.ts";
import { auditBySystem, disableFailing } from "./disable-store.ts";
import { classifyFailure } from "./endpoint-health.ts";

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
  const verdict = classifyFailure(
    {
      failingSinceMs: queue.failingSince?.getTime() ?? null,
      failureReportedAtMs: queue.failureReportedAt?.getTime() ?? null,
      exhaustedEvents: queue.exhaustedEvents,
    },
    nowMs,
  );
  if (verdict === "disable") await disableFailing(tx, [id]);
  if (verdict !== "report") return;
  await tx
    .update(webhookQueues)
    .set({ failureReportedAt: new Date(nowMs) })
    .where(eq(webhookQueues.webhookId, id));
  const after = { failing_since: failingSince };
  await auditBySystem(tx, [{ action: "webhook.fail", orgId, id, after }]);
}
