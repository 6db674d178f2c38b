import { sql } from "drizzle-orm";
import { type AuditEntry, recordSystemAudits } from "../../audit/index.ts";
import type { Queryable } from "../../db/client.ts";

type DisabledReason = "gone" | "failing";

/** Disables the webhooks whose endpoints answered 410, in the transaction that has locked them; each is in the audit log. */
export function disableGone(tx: Queryable, ids: readonly string[]): Promise<void> {
  return disableWebhooks(tx, ids, "gone");
}

/** Like disableGone, for those that have failed for five days. */
export function disableFailing(tx: Queryable, ids: readonly string[]): Promise<void> {
  return disableWebhooks(tx, ids, "failing");
}

async function disableWebhooks(tx: Queryable, ids: readonly string[], reason: DisabledReason): Promise<void> {
  if (ids.length === 0) return;
  const disabled = await tx.execute<{ id: string; org_id: string }>(sql`
    update webhooks set enabled = false, disabled_reason = ${reason}, disabled_at = now()
    where id in (select value::uuid from json_array_elements_text(${JSON.stringify(ids)}::text::json))
      and enabled and deleted_at is null
    returning id, org_id`);
  await tx.execute(sql`
    update webhook_queues set due_at = null
    where webhook_id in (select value::uuid from json_array_elements_text(${JSON.stringify(ids)}::text::json))`);
  const after = { enabled: false, disabled_reason: reason };
  await auditBySystem(
    tx,
    disabled.map(({ id, org_id: orgId }) => ({ action: "webhook.disable", orgId, id, after })),
  );
}

/** Rows of the audit log about what Marina itself found or did. */
export async function auditBySystem(
  tx: Queryable,
  facts: readonly { action: string; orgId: string; id: string; after: NonNullable<AuditEntry["after"]> }[],
): Promise<void> {
  await recordSystemAudits(
    tx,
    "webhooks",
    facts.map(({ id, ...fact }) => ({ ...fact, target: { kind: "webhook", id }, result: "done" })),
  );
}
