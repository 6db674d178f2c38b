import { createSecretKey } from "node:crypto";
import { Resolver } from "node:dns";
import ipaddr from "ipaddr.js";
import { z } from "zod";

/** Addresses and CIDR ranges, with commas between. */
export const addressRangesSchema = z
  .string()
  .default("")
  .transform(splitList)
  .pipe(z.array(z.string().refine(isAddressRange, "must be addresses or CIDR ranges, with commas between")));

/** Addresses of DNS servers, also with a port, with commas between. */
export const dnsServersSchema = z
  .string()
  .default("")
  .transform(splitList)
  .pipe(
    z.array(z.string().refine(isDnsServer, "must be IP addresses, also with a port, with commas between")),
  );

const KEY_BYTES = 32;
/** Keys of AES-256, each with an id of its own; the first one encrypts. */
export const encryptionKeysSchema = z
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

function splitList(text: string): string[] {
  return text.split(",").flatMap((entry) => (entry.trim() === "" ? [] : [entry.trim()]));
}

function isDnsServer(text: string): boolean {
  try {
    new Resolver().setServers([text]);
    return true;
  } catch {
    return false;
  }
}

function isAddressRange(text: string): boolean {
  const [address = ""] = text.split("/", 1);
  const isAddress = ipaddr.IPv4.isValidFourPartDecimal(address) || ipaddr.IPv6.isValid(address);
  return isAddress && (text === address || ipaddr.isValidCIDR(text));
}
