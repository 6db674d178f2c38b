import { createId, NIL_ID } from "../../../shared/program/id.ts";
import type { Queryable } from "../../db/client.ts";
import type { Deps } from "../../deps.ts";
import type { WebhookKey } from "../config.ts";
import { createSecret } from "../sending/sign.ts";
import type { WebhookSecretRow } from "../table.ts";
import { decryptSecret, encryptSecret, UndecryptableSecretError } from "./cipher.ts";
import {
  deleteSecrets,
  expireCurrentSecret,
  insertSecret,
  listSecretsOfOtherKeys,
  listValidSecrets,
  replaceCiphertext,
} from "./store.ts";

const BATCH_SIZE = 100;

const OVERLAP_MS = 24 * 60 * 60_000;
const MAX_REPLACED = 5;

/** The keys, of which the first encrypts. */
export type SecretKeys = readonly [WebhookKey, ...WebhookKey[]];

export interface RotatedSecret {
  /** In clear. */
  secret: string;
  /** How many secrets could not be decrypted and were removed. */
  unreadable: number;
}

/** Gives a new webhook its first secret; returns it in clear. */
export async function addSecret(
  tx: Queryable,
  keys: SecretKeys,
  { orgId, webhookId }: { orgId: string; webhookId: string },
): Promise<string> {
  const secret = createSecret();
  await insertSecret(tx, { id: createId(), orgId, webhookId, ...encryptSecret(keys[0], webhookId, secret) });
  return secret;
}

/**
 * Gives a locked webhook another secret. The replaced one signs for 24 h more, in addition to at most four that were
 * replaced before. A secret that cannot be decrypted is removed, so that deliveries no longer wait for it.
 */
export async function rotateSecret(
  tx: Queryable,
  keys: SecretKeys,
  { orgId, webhookId, at }: { orgId: string; webhookId: string; at: Date },
): Promise<RotatedSecret> {
  const known = await listValidSecrets(tx, orgId, webhookId);
  const readable = known.filter((row) => isReadable(keys, row));
  const kept = readable.slice(-MAX_REPLACED);
  await deleteSecrets(
    tx,
    orgId,
    known.filter((row) => !kept.includes(row)).map(({ id }) => id),
  );
  await expireCurrentSecret(tx, orgId, webhookId, new Date(at.getTime() + OVERLAP_MS));
  const secret = await addSecret(tx, keys, { orgId, webhookId });
  return { secret, unreadable: known.length - readable.length };
}

/**
 * Encrypts with the first key what another one has encrypted, so that the other one can be taken out of the
 * configuration. What no configured key decrypts is not changed, and is logged with the names of its keys.
 */
export async function reencryptSecrets(
  { db, config, log }: Pick<Deps, "db" | "config" | "log">,
  signal?: AbortSignal,
): Promise<void> {
  const { keys } = config.webhooks;
  const [first] = keys;
  if (first === undefined) return;
  const unreadable = new Map<string, number>();
  let encrypted = 0;
  let cursor = NIL_ID;
  while (signal?.aborted !== true) {
    const rows = await listSecretsOfOtherKeys(db, first.id, { cursor, limit: BATCH_SIZE });
    for (const row of rows) {
      try {
        const secret = decryptSecret(keys, row.webhookId, row);
        await replaceCiphertext(db, row, encryptSecret(first, row.webhookId, secret));
        encrypted += 1;
      } catch (error) {
        if (!(error instanceof UndecryptableSecretError)) throw error;
        unreadable.set(row.keyId, (unreadable.get(row.keyId) ?? 0) + 1);
      }
    }
    const last = rows.at(-1);
    if (last === undefined) break;
    cursor = last.id;
  }
  if (encrypted > 0)
    log.info({ count: encrypted, keyId: first.id }, "signing secrets were encrypted with another key");
  if (unreadable.size > 0)
    log.error(
      { byKey: Object.fromEntries(unreadable) },
      "webhooks have signing secrets that no key decrypts",
    );
}

function isReadable(keys: SecretKeys, row: WebhookSecretRow): boolean {
  try {
    decryptSecret(keys, row.webhookId, row);
    return true;
  } catch (error) {
    if (error instanceof UndecryptableSecretError) return false;
    throw error;
  }
}
