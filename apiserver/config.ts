import type { KeyObject } from "node:crypto";
import { z } from "zod";
import { QUOTA_NAMES, type QuotaAmounts, quotaLimitSchema } from "../shared/crd/quota.ts";
import {
  DEFAULT_STORAGE_QUOTA_GB,
  MAX_STORAGE_QUOTA_GB,
  MIN_STORAGE_QUOTA_GB,
} from "../shared/crd/storage-inventory.ts";
import { jsonText, parseEnvironment } from "../shared/program/config.ts";
import { type AttachmentStorage, attachmentStorageSchema } from "./attachment-storage.ts";
import { addressRangesSchema, dnsServersSchema, encryptionKeysSchema } from "./config-values.ts";
import { type IssuerConfig, issuerSchema } from "./http/authentication/issuer-config.ts";
import { DEFAULT_REQUEST_LIMITS, RATE_CLASSES, type RateLimits, type RequestLimits } from "./http/limits.ts";
import { type Invoicing, invoicingSchema } from "./invoicing.ts";
import { type RegistryConfig, registrySchema } from "./registry-config.ts";
import { DEFAULT_RESPONSE_TARGETS, type ResponseTargets, responseTargetsSchema } from "./response-targets.ts";

const PROCESS_ROLES = ["api", "projector", "harvester", "webhooks", "scanner"] as const;
export type ProcessRole = (typeof PROCESS_ROLES)[number];

const rateSchema = z.strictObject({
  burst: z.int().min(1).max(1_000_000),
  perMinute: z.number().positive().max(10_000_000),
});
/** Classes that are not named keep their default. */
const ratesSchema = z
  .partialRecord(z.enum(RATE_CLASSES), rateSchema)
  .transform((given): RateLimits => ({ ...DEFAULT_REQUEST_LIMITS.rates, ...given }));

/** For load balancers to stop sending, and for most clients to send once more and be told to close. */
const DEFAULT_SHUTDOWN_DELAY_SECONDS = 5;

/** The quotas of an organization unless the platform's staff set others. */
export const DEFAULT_QUOTAS: QuotaAmounts = {
  clusters: 100,
  nodePools: 500,
  nodes: 1000,
  vcpus: 4000,
  memoryGB: 16_000,
};
/** What one user may have unless the platform's staff set others. */
export interface UserQuotaAmounts {
  /** Organizations that the user has created and that are not deleted. */
  organizations: number;
}

/** Quotas that are not named keep their default. */
const quotasSchema = z
  .partialRecord(z.enum(QUOTA_NAMES), quotaLimitSchema)
  .transform((given): QuotaAmounts => ({ ...DEFAULT_QUOTAS, ...given }));

const environmentSchema = z.object({
  KUBECONFIG: z.string().optional(),
  MARINA_LISTEN_ADDRESS: z.string().min(1).default("0.0.0.0"),
  MARINA_PORT: z.coerce.number().int().min(0).max(65_535).default(8080),
  MARINA_METRICS_PORT: z.coerce.number().int().min(0).max(65_535).default(8081),
  MARINA_PUBLIC_URL: z.url(),
  MARINA_DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }),
  MARINA_OIDC_ISSUERS: jsonText(z.array(issuerSchema).min(1)),
  MARINA_PLATFORM_NAMESPACE: z.string().min(1).default("marina-system"),
  MARINA_ROLES: z
    .string()
    .default(PROCESS_ROLES.join(","))
    .transform((text) => text.split(",").map((role) => role.trim()))
    .pipe(z.array(z.enum(PROCESS_ROLES)).min(1)),
  MARINA_EVENT_HARVESTER: z.enum(["enabled", "disabled"]).default("enabled"),
  MARINA_MAX_STREAMS: z.coerce.number().int().min(1).default(5000),
  MARINA_MAX_STREAMS_PER_PRINCIPAL: z.coerce.number().int().min(1).default(100),
  MARINA_MAX_STREAMS_PER_USER: z.coerce.number().int().min(1).default(200),
  MARINA_MAX_STREAMS_PER_ORGANIZATION: z.coerce.number().int().min(1).default(500),
  MARINA_RATE_LIMITS: jsonText(ratesSchema).default(DEFAULT_REQUEST_LIMITS.rates),
  MARINA_QUOTAS: jsonText(quotasSchema).default(DEFAULT_QUOTAS),
  MARINA_DEFAULT_STORAGE_QUOTA_GB: z.coerce
    .number()
    .int()
    .min(MIN_STORAGE_QUOTA_GB)
    .max(MAX_STORAGE_QUOTA_GB)
    .default(DEFAULT_STORAGE_QUOTA_GB),
  MARINA_ORGANIZATIONS_PER_USER: z.coerce.number().int().min(0).max(1_000_000).default(5),
  MARINA_INVITATIONS_PER_ADDRESS: z.coerce.number().int().min(1).max(1000).default(20),
  MARINA_API_TOKENS_PER_ORGANIZATION: z.coerce.number().int().min(1).max(100_000).default(100),
  MARINA_CLUSTER_ACCESSES_PER_ORGANIZATION: z.coerce.number().int().min(1).max(1_000_000).default(2000),
  MARINA_AUDIT_RETENTION_DAYS: z.coerce.number().int().min(30).max(36_500).default(400),
  MARINA_WEBHOOK_KEYS: jsonText(encryptionKeysSchema).default([]),
  MARINA_WEBHOOKS_PER_ORGANIZATION: z.coerce.number().int().min(1).max(1000).default(20),
  MARINA_WEBHOOK_ALLOWED_ADDRESSES: addressRangesSchema,
  MARINA_WEBHOOK_BLOCKED_ADDRESSES: addressRangesSchema,
  MARINA_WEBHOOK_CA_FILE: z.string().min(1).optional(),
  MARINA_WEBHOOK_DNS_SERVERS: dnsServersSchema,
  MARINA_WEBHOOK_CONCURRENCY: z.coerce.number().int().min(1).max(10_000).default(512),
  MARINA_WEBHOOK_CONCURRENCY_PER_ENDPOINT: z.coerce.number().int().min(1).max(1000).default(8),
  MARINA_RESPONSE_TARGETS: jsonText(responseTargetsSchema).default(DEFAULT_RESPONSE_TARGETS),
  MARINA_ATTACHMENT_STORE: jsonText(attachmentStorageSchema).optional(),
  MARINA_INVOICING: jsonText(invoicingSchema).optional(),
  MARINA_REGISTRY: jsonText(registrySchema).optional(),
  MARINA_TRUSTED_PROXIES: addressRangesSchema,
  MARINA_MAX_BODY_BYTES: z.coerce.number().int().min(1024).default(DEFAULT_REQUEST_LIMITS.maxBodyBytes),
  MARINA_MAX_PENDING_BODY_BYTES: z.coerce
    .number()
    .int()
    .min(1_048_576)
    .default(DEFAULT_REQUEST_LIMITS.maxPendingBodyBytes),
  MARINA_MAX_HEADER_BYTES: z.coerce.number().int().min(4096).default(DEFAULT_REQUEST_LIMITS.maxHeaderBytes),
  MARINA_MAX_URL_BYTES: z.coerce.number().int().min(512).default(DEFAULT_REQUEST_LIMITS.maxUrlBytes),
  MARINA_HEADERS_TIMEOUT_SECONDS: z.coerce.number().min(1).default(DEFAULT_REQUEST_LIMITS.headersSeconds),
  MARINA_REQUEST_TIMEOUT_SECONDS: z.coerce.number().min(1).default(DEFAULT_REQUEST_LIMITS.requestSeconds),
  MARINA_STALLED_TIMEOUT_SECONDS: z.coerce.number().min(16).default(DEFAULT_REQUEST_LIMITS.stalledSeconds),
  MARINA_MAX_CONNECTIONS: z.coerce.number().int().min(1).default(DEFAULT_REQUEST_LIMITS.maxConnections),
  MARINA_MAX_CONNECTIONS_PER_ADDRESS: z.coerce
    .number()
    .int()
    .min(1)
    .default(DEFAULT_REQUEST_LIMITS.maxConnectionsPerAddress),
  MARINA_SHUTDOWN_DELAY_SECONDS: z.coerce.number().min(0).max(60).default(DEFAULT_SHUTDOWN_DELAY_SECONDS),
  MARINA_MAX_CONCURRENT_WRITES: z.coerce
    .number()
    .int()
    .min(1)
    .default(DEFAULT_REQUEST_LIMITS.maxConcurrentWrites),
  MARINA_MAX_CONCURRENT_DRY_RUNS: z.coerce
    .number()
    .int()
    .min(1)
    .default(DEFAULT_REQUEST_LIMITS.maxConcurrentDryRuns),
  MARINA_LOG_LEVEL: z.enum(["trace", "debug", "info", "warn", "error", "fatal"]).default("info"),
});

export interface Config {
  listenAddress: string;
  port: number;
  /** Of /metrics, /healthz and /readyz, which are for the platform alone. */
  metricsPort: number;
  /** Where clients reach the API, without a slash at its end; the examples of /docs name it. */
  publicUrl: string;
  databaseUrl: string;
  /** Absent in a Pod: then its ServiceAccount is used. */
  kubeconfigPath: string | undefined;
  issuers: readonly IssuerConfig[];
  platformNamespace: string;
  roles: readonly ProcessRole[];
  logLevel: string;
  limits: RequestLimits;
  /** From SIGTERM: how long requests are still accepted, and connections asked to close. */
  shutdownDelaySeconds: number;
  /** The quotas of an organization that has none of its own. */
  quotas: QuotaAmounts;
  /** The limit of the shared storage of an organization that has none of its own; the operator's must be the same. */
  defaultStorageQuotaGB: number;
  /** The quotas of a user that staff has set none for. */
  userQuotas: UserQuotaAmounts;
  /** Pending invitations of all organizations to one e-mail address. */
  maxInvitationsPerAddress: number;
  /** Tokens of one organization that are neither revoked nor expired. */
  maxApiTokensPerOrganization: number;
  /** ClusterAccess objects in one organization's Namespace, by REST and by kubectl. */
  maxClusterAccessesPerOrganization: number;
  /** How long an entry of the audit log is kept at least; it goes with its month. */
  auditRetentionDays: number;
  /** The live feed of clusters. */
  systemEvents: SystemEventsConfig;
  webhooks: WebhooksConfig;
  /** When the platform's staff is to answer tickets. */
  responseTargets: ResponseTargets;
  /** Where the attachments of tickets are; absent: there are none. */
  attachmentStorage: AttachmentStorage | undefined;
  /** Who issues invoices, and with which VAT; absent: what is due waits. */
  invoicing: Invoicing | undefined;
  /** The container registry; absent: its operations respond with 503. */
  registry: RegistryConfig | undefined;
}

/** A key for AES-256-GCM and its name, which is stored beside every text that it has encrypted. */
export interface WebhookKey {
  id: string;
  key: KeyObject;
}

export interface WebhooksConfig {
  /** The first one encrypts the secrets of webhooks, all decrypt. Without any, no webhook is created or changed. */
  keys: readonly WebhookKey[];
  maxPerOrganization: number;
  /** Addresses and CIDR ranges that webhooks may be sent to although they are private. */
  allowedAddresses: readonly string[];
  /** Further ones that no webhook is sent to. */
  blockedAddresses: readonly string[];
  /** Certificates in PEM that endpoints are verified with, beside those of Node. */
  caFile: string | undefined;
  /** `<IP address>[:<port>]`; the servers of the host when there are none. */
  dnsServers: readonly string[];
  /** Attempts at once of one process. */
  concurrency: number;
  /** Attempts at once of one endpoint, over all replicas. */
  concurrencyPerEndpoint: number;
}

export interface SystemEventsConfig {
  /** Off: nothing is harvested, and the feed responds with 503. Must be the same on every replica. */
  isEnabled: boolean;
  /** Open streams of one process. */
  maxStreams: number;
  /** Of one credential: a person's own, or one API token. */
  maxStreamsPerPrincipal: number;
  /** Of a person and of all API tokens that the person created. */
  maxStreamsPerUser: number;
  maxStreamsPerOrganization: number;
}

/** Reads the configuration from environment variables. Throws ConfigError listing every fault. */
export function readConfig(environment: Readonly<Record<string, string | undefined>> = process.env): Config {
  const env = parseEnvironment(environmentSchema, environment);
  return {
    listenAddress: env.MARINA_LISTEN_ADDRESS,
    port: env.MARINA_PORT,
    metricsPort: env.MARINA_METRICS_PORT,
    publicUrl: env.MARINA_PUBLIC_URL.replace(/\/$/, ""),
    databaseUrl: env.MARINA_DATABASE_URL,
    kubeconfigPath: env.KUBECONFIG,
    issuers: env.MARINA_OIDC_ISSUERS,
    platformNamespace: env.MARINA_PLATFORM_NAMESPACE,
    roles: env.MARINA_ROLES,
    logLevel: env.MARINA_LOG_LEVEL,
    quotas: env.MARINA_QUOTAS,
    defaultStorageQuotaGB: env.MARINA_DEFAULT_STORAGE_QUOTA_GB,
    userQuotas: { organizations: env.MARINA_ORGANIZATIONS_PER_USER },
    maxInvitationsPerAddress: env.MARINA_INVITATIONS_PER_ADDRESS,
    maxApiTokensPerOrganization: env.MARINA_API_TOKENS_PER_ORGANIZATION,
    maxClusterAccessesPerOrganization: env.MARINA_CLUSTER_ACCESSES_PER_ORGANIZATION,
    auditRetentionDays: env.MARINA_AUDIT_RETENTION_DAYS,
    responseTargets: env.MARINA_RESPONSE_TARGETS,
    attachmentStorage: env.MARINA_ATTACHMENT_STORE,
    invoicing: env.MARINA_INVOICING,
    registry: env.MARINA_REGISTRY,
    shutdownDelaySeconds: env.MARINA_SHUTDOWN_DELAY_SECONDS,
    limits: {
      rates: env.MARINA_RATE_LIMITS,
      trustedProxies: env.MARINA_TRUSTED_PROXIES,
      maxBodyBytes: env.MARINA_MAX_BODY_BYTES,
      maxPendingBodyBytes: env.MARINA_MAX_PENDING_BODY_BYTES,
      maxHeaderBytes: env.MARINA_MAX_HEADER_BYTES,
      maxUrlBytes: env.MARINA_MAX_URL_BYTES,
      headersSeconds: env.MARINA_HEADERS_TIMEOUT_SECONDS,
      requestSeconds: env.MARINA_REQUEST_TIMEOUT_SECONDS,
      stalledSeconds: env.MARINA_STALLED_TIMEOUT_SECONDS,
      maxConnections: env.MARINA_MAX_CONNECTIONS,
      maxConnectionsPerAddress: env.MARINA_MAX_CONNECTIONS_PER_ADDRESS,
      maxConcurrentWrites: env.MARINA_MAX_CONCURRENT_WRITES,
      maxConcurrentDryRuns: env.MARINA_MAX_CONCURRENT_DRY_RUNS,
    },
    systemEvents: {
      isEnabled: env.MARINA_EVENT_HARVESTER === "enabled",
      maxStreams: env.MARINA_MAX_STREAMS,
      maxStreamsPerPrincipal: env.MARINA_MAX_STREAMS_PER_PRINCIPAL,
      maxStreamsPerUser: env.MARINA_MAX_STREAMS_PER_USER,
      maxStreamsPerOrganization: env.MARINA_MAX_STREAMS_PER_ORGANIZATION,
    },
    webhooks: {
      keys: env.MARINA_WEBHOOK_KEYS,
      maxPerOrganization: env.MARINA_WEBHOOKS_PER_ORGANIZATION,
      allowedAddresses: env.MARINA_WEBHOOK_ALLOWED_ADDRESSES,
      blockedAddresses: env.MARINA_WEBHOOK_BLOCKED_ADDRESSES,
      caFile: env.MARINA_WEBHOOK_CA_FILE,
      dnsServers: env.MARINA_WEBHOOK_DNS_SERVERS,
      concurrency: env.MARINA_WEBHOOK_CONCURRENCY,
      concurrencyPerEndpoint: env.MARINA_WEBHOOK_CONCURRENCY_PER_ENDPOINT,
    },
  };
}
