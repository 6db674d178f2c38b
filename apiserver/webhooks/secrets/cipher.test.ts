import { createSecretKey, randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { createId } from "../../../shared/program/id.ts";
import { decryptSecret, type EncryptedSecret, encryptSecret, UndecryptableSecretError } from "./cipher.ts";

const key = { id: "current", key: createSecretKey(randomBytes(32)) };
const webhookId = createId();
const secret = `whsec_${"ab".repeat(32)}`;

describe("a signing secret", () => {
  test("is read with the key that it names, whatever other keys there are", () => {
    const encrypted = encryptSecret(key, webhookId, secret);
    const keys = [{ id: "newer", key: createSecretKey(randomBytes(32)) }, key];
    expect(encrypted.keyId).toBe("current");
    expect(decryptSecret(keys, webhookId, encrypted)).toBe(secret);
  });

  test("is another text each time, and none holds it in clear", () => {
    const texts = [1, 2].map(() => encryptSecret(key, webhookId, secret).ciphertext);
    expect(texts[0]?.equals(texts[1] ?? Buffer.alloc(0))).toBe(false);
    expect(texts[0]?.toString("latin1")).not.toContain("whsec_");
  });

  const encrypted = encryptSecret(key, webhookId, secret);
  const withByte = (index: number): EncryptedSecret => {
    const ciphertext = Buffer.from(encrypted.ciphertext);
    ciphertext.writeUInt8((ciphertext.at(index) ?? 0) ^ 1, (index + ciphertext.length) % ciphertext.length);
    return { ...encrypted, ciphertext };
  };
  test.each<[string, string, EncryptedSecret]>([
    ["for another webhook", createId(), encrypted],
    ["with a key that is not configured", webhookId, { ...encrypted, keyId: "gone" }],
    ["with a changed nonce", webhookId, withByte(0)],
    ["with a changed text", webhookId, withByte(20)],
    ["with a changed tag", webhookId, withByte(-1)],
    ["with a short tag", webhookId, { ...encrypted, ciphertext: encrypted.ciphertext.subarray(0, 20) }],
    ["of no bytes", webhookId, { ...encrypted, ciphertext: Buffer.alloc(0) }],
  ])("is not read %s", (_what, id, stored) => {
    expect(() => decryptSecret([key], id, stored)).toThrow(UndecryptableSecretError);
  });

  test("is not read with another key of the same name", () => {
    const other = { id: key.id, key: createSecretKey(randomBytes(32)) };
    expect(() => decryptSecret([other], webhookId, encrypted)).toThrow(UndecryptableSecretError);
  });
});
