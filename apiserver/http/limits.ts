/** The quota of one principal (or address): `burst` at once, and `perMinute` in the long run. */
export interface RateLimit {
  burst: number;
  perMinute: number;
}

/**
 * The classes of requests with their own quota. `default` counts every request of a principal, `user` those of a
 * person and of all API tokens that the person created, `organization` those of all members of one, and
 * `change` those of one person in it that create or change, deletions aside; the next five also count a person's requests
 * that create or send something; `failed_login` counts invalid credentials by address, and `anonymous` the requests without any.
 */
export const RATE_CLASSES = [
  "default",
  "user",
  "organization",
  "change",
  "organization_creation",
  "token_creation",
  "invitation",
  "kubeconfig",
  "webhook_delivery",
  "failed_login",
  "anonymous",
] as const;
export type RateClass = (typeof RATE_CLASSES)[number];
export type RateLimits = Readonly<Record<RateClass, RateLimit>>;

/** The limits of requests and connections. */
export interface RequestLimits {
  /** Per replica. */
  rates: RateLimits;
  /** Peers (addresses or CIDR) whose X-Forwarded-For is trusted. */
  trustedProxies: readonly string[];
  maxBodyBytes: number;
  /**
   * The limit for all bodies of one process that have begun to arrive, until they are parsed and it is their turn; beyond
   * it each caller still has a 1,024th.
   */
  maxPendingBodyBytes: number;
  /**
   * The limit for all responses of one process that clients have not read yet; beyond it each caller still has a 1,024th.
   * Those of streams have limits of their own.
   */
  maxUnreadBytes: number;
  /** Request line and all headers together. */
  maxHeaderBytes: number;
  maxUrlBytes: number;
  /** The request line and headers must arrive within this time, the whole request within `requestSeconds`. */
  headersSeconds: number;
  requestSeconds: number;
  /** A response must be read within this time, unless it is a stream. */
  responseSeconds: number;
  /** A connection without traffic in either direction is closed; above the 15 s of a stream's heartbeat. */
  stalledSeconds: number;
  maxConnections: number;
  /** Per address (an IPv6 /64); connections of trusted proxies do not count. */
  maxConnectionsPerAddress: number;
  /** Per organization and replica; further ones wait for at most 20 s. */
  maxConcurrentWrites: number;
  maxConcurrentDryRuns: number;
  /** Keys of one user and its API tokens together; each key is kept for 24 h. */
  maxIdempotencyKeysPerUser: number;
}

/**
 * Generous for a busy pipeline (50 requests a second), tight for requests that grant rights. A change leaves up to 24 KB in the audit
 * log, for 400 days: what a person may do in the long run is 2.4 GB a day.
 */
export const DEFAULT_RATE_LIMITS: RateLimits = {
  default: { burst: 600, perMinute: 3000 },
  user: { burst: 1200, perMinute: 6000 },
  organization: { burst: 3000, perMinute: 15_000 },
  change: { burst: 10_000, perMinute: 70 },
  organization_creation: { burst: 10, perMinute: 2 },
  token_creation: { burst: 10, perMinute: 10 },
  invitation: { burst: 20, perMinute: 10 },
  kubeconfig: { burst: 30, perMinute: 30 },
  webhook_delivery: { burst: 30, perMinute: 30 },
  failed_login: { burst: 60, perMinute: 60 },
  anonymous: { burst: 300, perMinute: 600 },
};

export const DEFAULT_REQUEST_LIMITS: RequestLimits = {
  rates: DEFAULT_RATE_LIMITS,
  trustedProxies: [],
  maxBodyBytes: 262_144,
  maxPendingBodyBytes: 67_108_864,
  maxUnreadBytes: 134_217_728,
  maxHeaderBytes: 16_384,
  maxUrlBytes: 8192,
  headersSeconds: 10,
  requestSeconds: 30,
  responseSeconds: 60,
  stalledSeconds: 120,
  maxConnections: 10_000,
  maxConnectionsPerAddress: 1000,
  maxConcurrentWrites: 16,
  maxConcurrentDryRuns: 2,
  maxIdempotencyKeysPerUser: 50_000,
};
