import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { WebhookKey } from "../config.ts";

const ALGORITHM = "aes-256-gcm";
/** The length that NIST SP 800-38D recommends for a random nonce. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** The stored form of a signing secret. */
export interface EncryptedSecret {
  /** The name of the key. */
  keyId: string;
  /** Nonce, ciphertext and tag. */
  ciphertext: Buffer;
}

/** The secret cannot be read: its key is not configured, is another one of the same name, or the text was changed. */
export class UndecryptableSecretError extends Error {
  constructor(keyId: string, options?: ErrorOptions) {
    super(`a signing secret could not be decrypted with the key ${keyId}`, options);
    this.name = "UndecryptableSecretError";
  }
}

/** Encrypts the signing secret of a webhook with AES-256-GCM; it can be read for this webhook only. */
export function encryptSecret(key: WebhookKey, webhookId: string, secret: string): EncryptedSecret {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, key.key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(webhookId));
  const ciphertext = Buffer.concat([
    nonce,
    cipher.update(secret, "utf8"),
    cipher.final(),
    cipher.getAuthTag(),
  ]);
  return { keyId: key.id, ciphertext };
}

/** The signing secret in clear. Throws UndecryptableSecretError. */
export function decryptSecret(
  keys: readonly WebhookKey[],
  webhookId: string,
  { keyId, ciphertext }: EncryptedSecret,
): string {
  const key = keys.find(({ id }) => id === keyId);
  if (key === undefined) throw new UndecryptableSecretError(keyId);
  try {
    const decipher = createDecipheriv(ALGORITHM, key.key, ciphertext.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(Buffer.from(webhookId));
    decipher.setAuthTag(ciphertext.subarray(-TAG_BYTES));
    const text = decipher.update(ciphertext.subarray(NONCE_BYTES, -TAG_BYTES));
    return Buffer.concat([text, decipher.final()]).toString("utf8");
  } catch (error) {
    throw new UndecryptableSecretError(keyId, { cause: error });
  }
}
