import { NIL_ID } from "../../../shared/program/id.ts";
import type { Deps } from "../../deps.ts";
import { decryptSecret, encryptSecret, UndecryptableSecretError } from "./cipher.ts";
import { listSecretsOfOtherKeys, replaceCiphertext } from "./store.ts";

const BATCH_SIZE = 100;

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
