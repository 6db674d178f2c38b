import { createSecretKey, type KeyObject } from "node:crypto";
import { Resolver } from "node:dns";
import { z } from "zod";
import { jsonText } from "../../shared/program/config.ts";
import { addressRangesSchema, splitList } from "../http/config.ts";

/** A key for AES-256-GCM and its name, which is stored with every text that it has encrypted. */
export interface WebhookKey {
  id: string;
  key: KeyObject;
}

const KEY_BYTES = 32;
/** Keys of AES-256, each with a unique id; the first one encrypts. */
const encryptionKeysSchema = z
  .array(
    z.strictObject({
      id: z.string().min(1).max(64),
      key: z
        .base64()
        .transform((text) => Buffer.from(text, "base64"))
        .refine((key) => key.length === KEY_BYTES, `must be ${KEY_BYTES} bytes in base64`)
        .transform((key) => createSecretKey(key)),
    }),
  )
  .refine(
    (keys) => new Set(keys.map(({ id }) => id)).size === keys.length,
    "must have an id of its own each",
  );

/** Addresses of DNS servers, also with a port, with commas between. */
const dnsServersSchema = z
  .string()
  .default("")
  .transform(splitList)
  .pipe(
    z.array(z.string().refine(isDnsServer, "must be IP addresses, also with a port, with commas between")),
  );

/** Names of hosts, with commas between; in lower case, without a dot at either end. */
const hostNamesSchema = z
  .string()
  .default("")
  .transform(splitList)
  .transform((names) => names.map((name) => name.toLowerCase().replace(/^\.|\.$/g, "")))
  .pipe(z.array(z.hostname("must be names of hosts, with commas between")));

export const webhookVariables = z
  .object({
    MARINA_WEBHOOK_KEYS: jsonText(encryptionKeysSchema).default([]),
    MARINA_WEBHOOKS_PER_ORGANIZATION: z.coerce.number().int().min(1).max(1000).default(20),
    MARINA_WEBHOOK_ALLOWED_ADDRESSES: addressRangesSchema,
    MARINA_WEBHOOK_BLOCKED_ADDRESSES: addressRangesSchema,
    MARINA_WEBHOOK_BLOCKED_NAMES: hostNamesSchema,
    MARINA_WEBHOOK_CA_FILE: z.string().min(1).optional(),
    MARINA_WEBHOOK_DNS_SERVERS: dnsServersSchema,
    MARINA_WEBHOOK_CONCURRENCY: z.coerce.number().int().min(1).max(10_000).default(512),
    MARINA_WEBHOOK_CONCURRENCY_PER_ENDPOINT: z.coerce.number().int().min(1).max(1000).default(8),
  })
  .transform((env) => ({
    webhooks: {
      /** The first one encrypts the secrets of webhooks, all decrypt. Without any, no webhook is created or changed. */
      keys: env.MARINA_WEBHOOK_KEYS,
      maxPerOrganization: env.MARINA_WEBHOOKS_PER_ORGANIZATION,
      /** Addresses and CIDR ranges that webhooks may be sent to although they are private. */
      allowedAddresses: env.MARINA_WEBHOOK_ALLOWED_ADDRESSES,
      /** Further ones that no webhook is sent to. */
      blockedAddresses: env.MARINA_WEBHOOK_BLOCKED_ADDRESSES,
      /** Names that no webhook is saved with, nor with one below them. */
      blockedNames: env.MARINA_WEBHOOK_BLOCKED_NAMES,
      /** CA certificates in PEM that endpoints are verified with, in addition to those of Node. */
      caFile: env.MARINA_WEBHOOK_CA_FILE,
      /** `<IP address>[:<port>]`; the servers of the host when there are none. */
      dnsServers: env.MARINA_WEBHOOK_DNS_SERVERS,
      /** Attempts at once of one process. */
      concurrency: env.MARINA_WEBHOOK_CONCURRENCY,
      /** Attempts at once of one endpoint, over all replicas. */
      concurrencyPerEndpoint: env.MARINA_WEBHOOK_CONCURRENCY_PER_ENDPOINT,
    },
  }));

function isDnsServer(text: string): boolean {
  try {
    new Resolver().setServers([text]);
    return true;
  } catch {
    return false;
  }
}
