import type { Context } from "hono";
import ipaddr from "ipaddr.js";
import { TokenBucket } from "../../../shared/program/limits.ts";
import { principalKey } from "../authentication/principal.ts";
import type { Access, AccessControl } from "../authorization/guard.ts";
import type { Permission } from "../authorization/permissions.ts";
import type { HttpEnv } from "../env.ts";
import { ApiError } from "../errors.ts";
import type { RateClass, RateLimit, RateLimits } from "../limits.ts";

/** Requests that grant rights or send mail, by the permission that they need. Revoking rights is not limited. */
const CLASS_BY_PERMISSION: Partial<Record<Permission, RateClass>> = {
  "api_tokens:create": "token_creation",
  "members:invite": "invitation",
  "clusters:access": "kubeconfig",
};

interface LimitedOperation {
  method: string;
  access: Access;
  rateClass?: RateClass;
}

/** The stricter class that an operation is counted in besides `default`; undefined for most. */
export function rateClassOf({ method, access, rateClass }: LimitedOperation): RateClass | undefined {
  if (rateClass !== undefined) return rateClass;
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

/** Credentials of one kind; `authenticate` throws 401 for one that is not valid. */
export interface CredentialControl<Holder> {
  isKnown(credential: string): boolean;
  isWellFormed(credential: string): boolean;
  authenticate(credential: string): Promise<Holder>;
}

export interface RequestLimiter {
  /**
   * Wraps access control with the limits for one request: 429 for an address that has presented too many invalid
   * credentials (known valid ones pass), and for a principal, or a person with all API tokens, over its quota. Sets the
   * RateLimit headers.
   */
  limit(control: AccessControl, operation: LimitedOperation, c: Context<HttpEnv>): AccessControl;
  /** Authenticates the holder of a credential that is no principal, with the same limits by address and by holder. */
  authenticateHolder<Holder extends { id: string }>(
    control: CredentialControl<Holder>,
    credential: string,
    c: Context<HttpEnv>,
  ): Promise<Holder>;
  /** Counts a request that no principal or holder is counted for by its address: 429 beyond the quota. */
  countAnonymous(c: Context<HttpEnv>): void;
  /**
   * Counts a request that no operation serves: for its principal, which it sets, or by its address without a valid
   * credential. Throws 429 beyond the quota; 503 when credentials cannot be checked.
   */
  countUnmatched(control: AccessControl, c: Context<HttpEnv>): Promise<void>;
  /**
   * Counts a member's request inside an organization, and among the changes of the user `changedBy` in it. Throws 429 beyond
   * the quota of all members together, or of the changes.
   */
  countInOrganization(orgId: string, c: Context<HttpEnv>, changedBy?: string): void;
}

/** Counts in memory, per replica. */
export function createRequestLimiter(limits: RateLimits, nowMs?: () => number): RequestLimiter {
  const counters = Object.fromEntries(
    Object.entries(limits).map(([name, limit]) => [name, createCounter(name as RateClass, limit, nowMs)]),
  ) as Record<RateClass, Counter>;
  const refused = counters.failed_login.buckets;
  // Separate, so that guesses, which have no checksum, leave it full.
  const refusedTokens = createTokenBuckets(limits.failed_login, nowMs);

  /**
   * Counts invalid credentials by address, and API tokens with the right checksum apart from them; 429 for an address
   * with too many, unless this one is known to be valid.
   */
  async function authenticate<Holder>(
    control: CredentialControl<Holder>,
    credential: string,
    address: string | undefined,
  ): Promise<Holder> {
    if (address === undefined) return control.authenticate(credential);
    const addressKey = toAddressKey(address);
    const isWellFormed = control.isWellFormed(credential);
    const state = (isWellFormed ? refusedTokens : refused).look(addressKey);
    if (!state.allowed && !control.isKnown(credential))
      throw tooMany("Too many refused credentials came from this address", state);
    try {
      return await control.authenticate(credential);
    } catch (error) {
      if (error instanceof ApiError && error.code === "unauthorized") {
        (isWellFormed ? refusedTokens : refused).take(addressKey);
      }
      throw error;
    }
  }

  const limiter: RequestLimiter = {
    limit(control, operation, c) {
      const stricter = rateClassOf(operation);
      return {
        ...control,
        async authenticate(authorization) {
          // A request without a credential cannot guess one.
          const principal =
            authorization === undefined
              ? await control.authenticate(authorization)
              : await authenticate(control, authorization, c.get("sourceAddress"));
          countRequest(c, counters.default, principalKey(principal), "Too many requests");
          countShared(
            c,
            counters.user,
            principal.userId,
            "Too many requests of this user and its API tokens",
          );
          if (stricter !== undefined)
            countRequest(c, counters[stricter], principal.userId, "Too many requests of this kind");
          return principal;
        },
      };
    },
    async authenticateHolder(control, credential, c) {
      const holder = await authenticate(control, credential, c.get("sourceAddress"));
      countRequest(c, counters.default, `credential:${holder.id}`, "Too many requests");
      return holder;
    },
    countAnonymous(c) {
      const address = c.get("sourceAddress");
      if (address === undefined) return;
      const what = "Too many requests without a credential came from this address";
      countShared(c, counters.anonymous, toAddressKey(address), what);
    },
    async countUnmatched(control, c) {
      const authorization = c.req.header("authorization");
      if (authorization === undefined) {
        limiter.countAnonymous(c);
        return;
      }
      try {
        const limited = limiter.limit(control, { method: "get", access: "signed-in" }, c);
        c.set("principal", await limited.authenticate(authorization));
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== "unauthorized") throw error;
        limiter.countAnonymous(c);
      }
    },
    countInOrganization(orgId, c, changedBy) {
      countShared(c, counters.organization, orgId, "Too many requests in this organization");
      if (changedBy === undefined) return;
      const what = "Too many changes of this user in this organization";
      countShared(c, counters.change, `${orgId} ${changedBy}`, what);
    },
  };
  return limiter;
}

/** Takes a token from the caller's bucket and sets the headers; throws 429 with `message` when it is empty. */
function countRequest(c: Context<HttpEnv>, counter: Counter, key: string, message: string): void {
  const state = counter.buckets.take(key);
  addHeaders(c, counter, state);
  if (!state.allowed) throw tooMany(message, state);
}

/** Like countRequest, for a quota that callers share: its headers are set only when it refuses. */
function countShared(c: Context<HttpEnv>, counter: Counter, key: string, message: string): void {
  const state = counter.buckets.take(key);
  if (state.allowed) return;
  addHeaders(c, counter, state);
  throw tooMany(message, state);
}

function createCounter(name: RateClass, limit: RateLimit, nowMs: (() => number) | undefined): Counter {
  const windowSeconds = Math.ceil((limit.burst / limit.perMinute) * 60);
  return {
    name,
    buckets: createTokenBuckets(limit, nowMs),
    policy: `"${name}";q=${limit.burst};w=${windowSeconds}`,
  };
}

/** The two fields of draft-ietf-httpapi-ratelimit-headers-11: the quotas, and what remains of them. */
function addHeaders(c: Context<HttpEnv>, { name, policy }: Counter, state: BucketState): void {
  c.header("RateLimit-Policy", policy, { append: true });
  c.header("RateLimit", `"${name}";r=${state.remaining};t=${state.fullAfterSeconds}`, { append: true });
}

function tooMany(what: string, { retryAfterSeconds }: BucketState): ApiError {
  return new ApiError("rate_limited", `${what}; try again in ${retryAfterSeconds} s.`, { retryAfterSeconds });
}

/** The state of one bucket. */
interface BucketState {
  allowed: boolean;
  /** Requests that are allowed now. */
  remaining: number;
  /** Seconds until the next request is allowed; 0 while some remain. */
  retryAfterSeconds: number;
  /** Seconds until the bucket is full again. */
  fullAfterSeconds: number;
}

interface TokenBuckets {
  /** Takes a token from the bucket of `key`; `allowed` is false when it is empty. */
  take(key: string): BucketState;
  /** The state of the bucket, without taking a token. */
  look(key: string): BucketState;
  size(): number;
}

/** Limits memory: 100,000 buckets are about 15 MB. Beyond that the oldest tenth is dropped, for a sweep visits all. */
const MAX_BUCKETS = 100_000;
const FIRST_SWEEP = 1024;

/**
 * In-memory token buckets of one size, by key. Full buckets are dropped, as they equal new ones: a sweep runs whenever
 * the number of buckets has doubled, so that its amortized cost per request is constant.
 */
export function createTokenBuckets(
  { burst, perMinute }: RateLimit,
  nowMs: () => number = () => performance.now(),
  maxBuckets = MAX_BUCKETS,
): TokenBuckets {
  const perSecond = perMinute / 60;
  const buckets = new Map<string, TokenBucket>();
  let sweepAt = Math.min(FIRST_SWEEP, maxBuckets);

  function describe(level: number, allowed: boolean): BucketState {
    return {
      allowed,
      remaining: Math.floor(level),
      retryAfterSeconds: level >= 1 ? 0 : Math.max(1, Math.ceil((1 - level) / perSecond)),
      fullAfterSeconds: Math.ceil((burst - level) / perSecond),
    };
  }

  function addBucket(key: string, now: number): TokenBucket {
    if (buckets.size >= sweepAt) dropBuckets(now);
    const bucket = new TokenBucket({ burst, perSecond }, now);
    buckets.set(key, bucket);
    return bucket;
  }

  function dropBuckets(now: number): void {
    for (const [key, bucket] of buckets) if (bucket.level(now) >= burst) buckets.delete(key);
    for (const key of buckets.keys()) {
      if (buckets.size <= 0.9 * maxBuckets) break;
      buckets.delete(key);
    }
    sweepAt = Math.min(maxBuckets, Math.max(FIRST_SWEEP, buckets.size * 2));
  }

  return {
    take(key) {
      const now = nowMs();
      const bucket = buckets.get(key) ?? addBucket(key, now);
      const allowed = bucket.tryTake(now);
      return describe(bucket.level(now), allowed);
    },
    look(key) {
      const level = buckets.get(key)?.level(nowMs()) ?? burst;
      return describe(level, level >= 1);
    },
    size: () => buckets.size,
  };
}

/**
 * The key that failed sign-ins and connections are counted by: an IPv4 address, or the /64 that one IPv6 customer has
 * at least.
 */
export function toAddressKey(address: string): string {
  if (!ipaddr.IPv6.isValid(address)) return address;
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${address}/64`).toString()}/64`;
}
