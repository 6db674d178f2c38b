import { asc, sql } from "drizzle-orm";
import type { Queryable } from "../../db/client.ts";
import { type WebhookSecretRow, webhookSecrets } from "../table.ts";

/** The secrets that sign for these webhooks now, the one in use first. */
export async function findSigningSecrets(
  db: Queryable,
  webhookIds: readonly string[],
): Promise<Map<string, WebhookSecretRow[]>> {
  const ids = JSON.stringify([...new Set(webhookIds)]);
  const rows = await db
    .select()
    .from(webhookSecrets)
    .where(
      sql`${webhookSecrets.webhookId} in (select value::uuid from json_array_elements_text(${ids}::text::json))
        and (${webhookSecrets.expiresAt} is null or ${webhookSecrets.expiresAt} > now())`,
    )
    .orderBy(asc(webhookSecrets.webhookId), sql`${webhookSecrets.id} desc`);
  return Map.groupBy(rows, ({ webhookId }) => webhookId);
}
