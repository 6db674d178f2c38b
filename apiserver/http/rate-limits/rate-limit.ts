import type { Context } from "hono";
import { type Principal, principalKey } from "../authentication/principal.ts";
import type { Access } from "../authorization/guard.ts";
import type { Permission } from "../authorization/permissions.ts";
import type { Operation } from "../contract/operation.ts";
import type { AccessControl, HttpEnv } from "../env.ts";
import { ApiError } from "../errors.ts";
import type { RateClass, RateLimit, RateLimits } from "../server/limits.ts";
import { toAddressKey } from "../server/source-address.ts";
import { type BucketState, createTokenBuckets, type TokenBuckets } from "./token-buckets.ts";

/** Requests that hand out rights or send mail, by the permission that they need. Taking rights away is not slowed. */
const CLASS_BY_PERMISSION: Partial<Record<Permission, RateClass>> = {
  "api_tokens:create": "token_creation",
  "members:invite": "invitation",
  "clusters:access": "kubeconfig",
};

/** The stricter class that an operation is counted in besides `default`; undefined for most. */
export function rateClassOf({ method, access }: Pick<Operation, "method" | "access">): RateClass | undefined {
  if (method === "delete") return undefined;
  return permissionsIn(access)
    .map((permission) => CLASS_BY_PERMISSION[permission])
    .find((name) => name !== undefined);
}

function permissionsIn(access: Access): readonly Permission[] {
  const names: readonly string[] = typeof access === "string" ? [access] : access;
  return names as readonly Permission[];
}

interface Counter {
  buckets: TokenBuckets;
  /** `"default";q=600;w=12`: the quota, and the seconds in which an empty bucket fills up. */
  policy: string;
  name: RateClass;
}

export interface RateLimiter {
  /**
   * The same access control, held to the limits for one request: 429 for an address that has presented too many
   * refused credentials (known ones pass), and for a principal that has used up what it may do. Sets the RateLimit
   * headers on whatever the answer will be.
   */
  limit(
    control: AccessControl,
    operation: Pick<Operation, "method" | "access">,
    c: Context<HttpEnv>,
  ): AccessControl;
}

/** Counts in memory: every replica counts for itself. */
export function createRateLimiter(limits: RateLimits, nowMs?: () => number): RateLimiter {
  const counters = Object.fromEntries(
    Object.entries(limits).map(([name, limit]) => [name, createCounter(name as RateClass, limit, nowMs)]),
  ) as Record<RateClass, Counter>;
  const logins = counters.failed_login;

  /** Throws 429 for an address from which too many refused credentials came, unless it presents a known one. */
  function requireCredit(control: AccessControl, authorization: string, addressKey: string): void {
    const debt = logins.buckets.look(addressKey);
    if (debt.allowed || control.isKnown(authorization)) return;
    throw tooMany("Too many refused credentials came from this address", debt);
  }

  function countRefusal(error: unknown, addressKey: string): void {
    if (error instanceof ApiError && error.code === "unauthorized") logins.buckets.take(addressKey);
  }

  return {
    limit(control, operation, c) {
      const stricter = rateClassOf(operation);
      return {
        ...control,
        async authenticate(authorization) {
          const address = c.get("sourceAddress");
          // A request without a credential presents none that could be refused.
          const addressKey =
            authorization === undefined || address === undefined ? undefined : toAddressKey(address);
          if (addressKey !== undefined) requireCredit(control, authorization ?? "", addressKey);
          let principal: Principal;
          try {
            principal = await control.authenticate(authorization);
          } catch (error) {
            if (addressKey !== undefined) countRefusal(error, addressKey);
            throw error;
          }
          const key = principalKey(principal);
          const all = counters.default.buckets.take(key);
          setHeaders(c, counters.default, all, false);
          if (!all.allowed) throw tooMany("Too many requests", all);
          if (stricter === undefined) return principal;
          const few = counters[stricter].buckets.take(key);
          setHeaders(c, counters[stricter], few, true);
          if (!few.allowed) throw tooMany("Too many requests of this kind", few);
          return principal;
        },
      };
    },
  };
}

function createCounter(name: RateClass, limit: RateLimit, nowMs: (() => number) | undefined): Counter {
  const windowSeconds = Math.ceil((limit.burst / limit.perMinute) * 60);
  return {
    name,
    buckets: createTokenBuckets(limit, nowMs),
    policy: `"${name}";q=${limit.burst};w=${windowSeconds}`,
  };
}

/** The two fields of draft-ietf-httpapi-ratelimit-headers-11: what the quotas are, and what is left of them. */
function setHeaders(
  c: Context<HttpEnv>,
  { name, policy }: Counter,
  state: BucketState,
  append: boolean,
): void {
  const headers = c.get("responseHeaders");
  const left = `"${name}";r=${state.remaining};t=${state.fullAfterSeconds}`;
  headers["RateLimit-Policy"] = append ? `${headers["RateLimit-Policy"]}, ${policy}` : policy;
  headers.RateLimit = append ? `${headers.RateLimit}, ${left}` : left;
}

function tooMany(what: string, { retryAfterSeconds }: BucketState): ApiError {
  return new ApiError("rate_limited", `${what}; try again in ${retryAfterSeconds} s.`, { retryAfterSeconds });
}
