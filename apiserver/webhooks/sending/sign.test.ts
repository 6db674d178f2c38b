import { Webhook as StandardWebhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";
import { describe, expect, test } from "vitest";
import { createSecret, createSigningKey, signAttempt } from "./sign.ts";

const LIBRARIES = { standardwebhooks: StandardWebhook, svix: SvixWebhook };
const BODY = '{"type":"ticket.updated","data":{"text":"für 5 € \\u0000 🚀"}}';

const sign = (secrets: string[], body: Uint8Array | string = BODY) => ({
  ...signAttempt({ id: "evt-1", at: new Date(), body, keys: secrets.map(createSigningKey) }),
});

test("a secret is whsec_ and 64 hexadecimal digits, another one each time", () => {
  const secrets = Array.from({ length: 100 }, createSecret);
  expect(secrets.filter((secret) => !/^whsec_[0-9a-f]{64}$/.test(secret))).toEqual([]);
  expect(new Set(secrets).size).toBe(100);
});

test("the signature is the HMAC-SHA256 of id, seconds of the attempt and body, by the base64 reading of the secret", () => {
  const secret = `whsec_${"0123456789abcdef".repeat(4)}`;
  const at = new Date("2026-11-23T10:00:00.999Z");
  expect(signAttempt({ id: "evt-1", at, body: "{}", keys: [createSigningKey(secret)] })).toEqual({
    "webhook-id": "evt-1",
    "webhook-timestamp": "1795428000",
    "webhook-signature": "v1,VgbCt3Dy3DiZdNW1VuA7RSYr0Qs5cCOqh6WEIXpomqw=",
  });
});

describe.each(Object.entries(LIBRARIES))("the public library %s", (_name, Webhook) => {
  test("accepts the secret as it was shown, for a body of text and of bytes", () => {
    const secret = createSecret();
    for (const body of [BODY, new TextEncoder().encode(BODY)])
      expect(() => new Webhook(secret).verify(BODY, sign([secret], body))).not.toThrow();
  });

  test("accepts each of several valid secrets while one replaces another", () => {
    const secrets = [createSecret(), createSecret(), createSecret()];
    for (const secret of secrets) expect(() => new Webhook(secret).verify(BODY, sign(secrets))).not.toThrow();
  });

  test("refuses another secret, a changed body, another id and an old attempt", () => {
    const secret = createSecret();
    const webhook = new Webhook(secret);
    const headers = sign([secret]);
    expect(() => new Webhook(createSecret()).verify(BODY, headers)).toThrow("No matching signature");
    expect(() => webhook.verify(`${BODY} `, headers)).toThrow("No matching signature");
    expect(() => webhook.verify(BODY, { ...headers, "webhook-id": "evt-2" })).toThrow("No matching");
    const at = new Date(Date.now() - 400_000);
    const old = { ...signAttempt({ id: "evt-1", at, body: BODY, keys: [createSigningKey(secret)] }) };
    expect(() => webhook.verify(BODY, old)).toThrow("too old");
  });
});
