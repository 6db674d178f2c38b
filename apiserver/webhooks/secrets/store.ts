import { and, asc, eq, gt, inArray, isNull, lte, ne, or, sql } from "drizzle-orm";
import type { Queryable } from "../../db/client.ts";
import { type WebhookSecretRow, webhookSecrets } from "../table.ts";
import type { EncryptedSecret } from "./cipher.ts";

/** Adds a secret. */
export async function insertSecret(
  tx: Queryable,
  secret: EncryptedSecret & { id: string; webhookId: string; orgId: string },
): Promise<void> {
  await tx.insert(webhookSecrets).values(secret);
}

/** The secrets of a webhook that still sign, the oldest first. */
export async function listValidSecrets(
  db: Queryable,
  orgId: string,
  webhookId: string,
): Promise<WebhookSecretRow[]> {
  return db
    .select()
    .from(webhookSecrets)
    .where(
      and(
        eq(webhookSecrets.orgId, orgId),
        eq(webhookSecrets.webhookId, webhookId),
        or(isNull(webhookSecrets.expiresAt), gt(webhookSecrets.expiresAt, sql`now()`)),
      ),
    )
    .orderBy(asc(webhookSecrets.id));
}

/** Lets the secret in use sign until then. */
export async function expireCurrentSecret(
  tx: Queryable,
  orgId: string,
  webhookId: string,
  expiresAt: Date,
): Promise<void> {
  await tx
    .update(webhookSecrets)
    .set({ expiresAt })
    .where(
      and(
        eq(webhookSecrets.orgId, orgId),
        eq(webhookSecrets.webhookId, webhookId),
        isNull(webhookSecrets.expiresAt),
      ),
    );
}

/** Lets no secret of an organization, or of one of its webhooks, sign after then. */
export async function endSecrets(
  tx: Queryable,
  { orgId, webhookId }: { orgId: string; webhookId?: string },
  expiresAt: Date,
): Promise<void> {
  await tx
    .update(webhookSecrets)
    .set({ expiresAt: sql`least(${webhookSecrets.expiresAt}, ${expiresAt.toISOString()}::timestamptz)` })
    .where(
      and(
        eq(webhookSecrets.orgId, orgId),
        webhookId === undefined ? undefined : eq(webhookSecrets.webhookId, webhookId),
      ),
    );
}

/** Removes secrets of an organization. */
export async function deleteSecrets(tx: Queryable, orgId: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await tx
    .delete(webhookSecrets)
    .where(and(eq(webhookSecrets.orgId, orgId), inArray(webhookSecrets.id, [...ids])));
}

/** Secrets of all organizations that another key encrypts, after `cursor` in the order of their ids. */
export async function listSecretsOfOtherKeys(
  db: Queryable,
  keyId: string,
  { cursor, limit }: { cursor: string; limit: number },
): Promise<WebhookSecretRow[]> {
  return db
    .select()
    .from(webhookSecrets)
    .where(and(ne(webhookSecrets.keyId, keyId), gt(webhookSecrets.id, cursor)))
    .orderBy(asc(webhookSecrets.id))
    .limit(limit);
}

/** Stores the text of another key for a secret that still has the text in `row`. */
export async function replaceCiphertext(
  db: Queryable,
  row: WebhookSecretRow,
  { keyId, ciphertext }: EncryptedSecret,
): Promise<void> {
  await db
    .update(webhookSecrets)
    .set({ keyId, ciphertext })
    .where(
      and(
        eq(webhookSecrets.orgId, row.orgId),
        eq(webhookSecrets.id, row.id),
        eq(webhookSecrets.keyId, row.keyId),
      ),
    );
}

/** Removes the secrets of all organizations that sign no longer. */
export async function deleteExpiredSecrets(db: Queryable): Promise<void> {
  await db.delete(webhookSecrets).where(lte(webhookSecrets.expiresAt, sql`now()`));
}
