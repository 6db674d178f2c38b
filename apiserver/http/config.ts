import ipaddr from "ipaddr.js";
import { z } from "zod";
import { jsonText } from "../../shared/program/config.ts";
import { issuersSchema } from "./authentication/issuer-config.ts";
import { DEFAULT_REQUEST_LIMITS, RATE_CLASSES, type RateLimits, type RequestLimits } from "./limits.ts";

const rateSchema = z.strictObject({
  burst: z.int().min(1).max(1_000_000),
  perMinute: z.number().positive().max(10_000_000),
});
/** Classes that are not named keep their default. */
const ratesSchema = z
  .partialRecord(z.enum(RATE_CLASSES), rateSchema)
  .transform((given): RateLimits => ({ ...DEFAULT_REQUEST_LIMITS.rates, ...given }));

/** Addresses and CIDR ranges, with commas between. */
export const addressRangesSchema = z
  .string()
  .default("")
  .transform(splitList)
  .pipe(z.array(z.string().refine(isAddressRange, "must be addresses or CIDR ranges, with commas between")));

const atLeast = (least: number, usual: number) => z.coerce.number().min(least).default(usual);
const countFrom = (least: number, usual: number) => z.coerce.number().int().min(least).default(usual);
const usual = DEFAULT_REQUEST_LIMITS;

/** Whose tokens are accepted. */
export const issuerVariables = z.object({ MARINA_OIDC_ISSUERS: jsonText(issuersSchema) });

/** Who may call the API, and what one request may cost. */
export const httpVariables = issuerVariables
  .extend({
    MARINA_RATE_LIMITS: jsonText(ratesSchema).default(usual.rates),
    MARINA_TRUSTED_PROXIES: addressRangesSchema,
    MARINA_MAX_BODY_BYTES: countFrom(1024, usual.maxBodyBytes),
    MARINA_MAX_PENDING_BODY_BYTES: countFrom(1_048_576, usual.maxPendingBodyBytes),
    MARINA_MAX_UNREAD_BYTES: countFrom(16_777_216, usual.maxUnreadBytes),
    MARINA_MAX_HEADER_BYTES: countFrom(4096, usual.maxHeaderBytes),
    MARINA_MAX_URL_BYTES: countFrom(512, usual.maxUrlBytes),
    MARINA_HEADERS_TIMEOUT_SECONDS: atLeast(1, usual.headersSeconds),
    MARINA_REQUEST_TIMEOUT_SECONDS: atLeast(1, usual.requestSeconds),
    MARINA_RESPONSE_TIMEOUT_SECONDS: atLeast(1, usual.responseSeconds),
    MARINA_STALLED_TIMEOUT_SECONDS: atLeast(16, usual.stalledSeconds),
    MARINA_MAX_CONNECTIONS: countFrom(1, usual.maxConnections),
    MARINA_MAX_CONNECTIONS_PER_ADDRESS: countFrom(1, usual.maxConnectionsPerAddress),
    MARINA_MAX_CONCURRENT_WRITES: countFrom(1, usual.maxConcurrentWrites),
    MARINA_MAX_CONCURRENT_DRY_RUNS: countFrom(1, usual.maxConcurrentDryRuns),
    MARINA_IDEMPOTENCY_KEYS_PER_USER: countFrom(1, usual.maxIdempotencyKeysPerUser),
  })
  .transform((env) => {
    const limits: RequestLimits = {
      rates: env.MARINA_RATE_LIMITS,
      trustedProxies: env.MARINA_TRUSTED_PROXIES,
      maxBodyBytes: env.MARINA_MAX_BODY_BYTES,
      maxPendingBodyBytes: env.MARINA_MAX_PENDING_BODY_BYTES,
      maxUnreadBytes: env.MARINA_MAX_UNREAD_BYTES,
      maxHeaderBytes: env.MARINA_MAX_HEADER_BYTES,
      maxUrlBytes: env.MARINA_MAX_URL_BYTES,
      headersSeconds: env.MARINA_HEADERS_TIMEOUT_SECONDS,
      requestSeconds: env.MARINA_REQUEST_TIMEOUT_SECONDS,
      responseSeconds: env.MARINA_RESPONSE_TIMEOUT_SECONDS,
      stalledSeconds: env.MARINA_STALLED_TIMEOUT_SECONDS,
      maxConnections: env.MARINA_MAX_CONNECTIONS,
      maxConnectionsPerAddress: env.MARINA_MAX_CONNECTIONS_PER_ADDRESS,
      maxConcurrentWrites: env.MARINA_MAX_CONCURRENT_WRITES,
      maxConcurrentDryRuns: env.MARINA_MAX_CONCURRENT_DRY_RUNS,
      maxIdempotencyKeysPerUser: env.MARINA_IDEMPOTENCY_KEYS_PER_USER,
    };
    return { issuers: env.MARINA_OIDC_ISSUERS, limits };
  });

/** The entries of a text with commas between. */
export function splitList(text: string): string[] {
  return text.split(",").flatMap((entry) => (entry.trim() === "" ? [] : [entry.trim()]));
}

function isAddressRange(text: string): boolean {
  const [address = ""] = text.split("/", 1);
  const isAddress = ipaddr.IPv4.isValidFourPartDecimal(address) || ipaddr.IPv6.isValid(address);
  return isAddress && (text === address || ipaddr.isValidCIDR(text));
}
