import { createSecretKey } from "node:crypto";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { requireConformance } from "../../e2e/contract/openapi/conformance.ts";
import { findSeenFolder } from "../../e2e/contract/seen/seen.ts";
import { readStack } from "../../e2e/platform/stack/testing.ts";
import { rememberCreated } from "../../e2e/testing/left-clusters.ts";
import { createClient } from "../../shared/kube/client.ts";
import { loadConnection } from "../../shared/kube/connection.ts";
import { createKubeMetrics } from "../../shared/kube/metrics.ts";
import { createTransport } from "../../shared/kube/transport.ts";
import { createId } from "../../shared/program/id.ts";
import { createKeyedSlots } from "../../shared/program/limits.ts";
import { createLogger, type Logger } from "../../shared/program/log.ts";
import { createRegistry } from "../../shared/program/metrics.ts";
import { createApiTokenVerifier } from "../api-tokens/index.ts";
import { type AppParts, createApp, memberHooks } from "../app.ts";
import type { Config } from "../config.ts";
import { connectDatabase } from "../db/client.ts";
import { createTestDatabase } from "../db/testing.ts";
import type { Deps } from "../deps.ts";
import { createAuthenticator } from "../http/authentication/authenticator.ts";
import type { ConfiguredIssuer } from "../http/authentication/issuer-config.ts";
import type { Role } from "../http/authorization/permissions.ts";
import type { Operation } from "../http/contract/operation.ts";
import { hashBody } from "../http/idempotency/run-once.ts";
import { createIdempotencyStores } from "../http/idempotency/store.ts";
import { DEFAULT_REQUEST_LIMITS, RATE_CLASSES, type RateLimits } from "../http/limits.ts";
import { bindUser, recordConfiguredMappings, recordIssuers } from "../members/index.ts";
import { members, users } from "../members/table.ts";
import { DEFAULT_QUOTAS } from "../quotas/config.ts";
import {
  type DistributionConfig,
  type HarborConfig,
  type RegistryConfig,
  registrySchema,
} from "../registry/config.ts";
import type { AttachmentStorage } from "../tickets/attachments/config.ts";
import { DEFAULT_RESPONSE_TARGETS, DEFAULT_TICKET_LIMITS } from "../tickets/config.ts";
import { makeIssuerConfig } from "./issuer-config.ts";
import { withoutCallDeadlines } from "./transport.ts";

/** All tests share one user, which sends more than a person ever does. */
const UNLIMITED = Object.fromEntries(
  RATE_CLASSES.map((name) => [name, { burst: 1_000_000, perMinute: 1_000_000 }]),
) as RateLimits;

type UserName = "alice" | "bob" | "staff";

export interface TestRequest {
  /** A user of the stack; null sends no credential. Default alice. */
  as?: UserName | null;
  /** A bearer credential of any other kind, in place of the user's. */
  token?: string;
  /** Sent as JSON. */
  body?: unknown;
  /** Sent unchanged, with no Content-Type unless `headers` has one. */
  rawBody?: string;
  headers?: Record<string, string>;
  /** Aborts when the client disconnects. */
  signal?: AbortSignal;
}

export interface TestResponse {
  status: number;
  headers: Headers;
  // The tests read bodies of every shape.
  // biome-ignore lint/suspicious/noExplicitAny: the body is whatever the operation declares.
  body: any;
}

export interface TestApp {
  deps: Deps;
  app: ReturnType<typeof createApp>;
  /** Every operation that the application serves. */
  operations: readonly Operation[];
  request(method: string, path: string, request?: TestRequest): Promise<TestResponse>;
  /** A new organization that `as` (default alice) owns; returns its id. */
  createOrganization(as?: UserName): Promise<string>;
  /** Gives a user of the stack a role in an organization. */
  addMember(orgId: string, user: UserName, role: Role): Promise<void>;
  close(): Promise<void>;
}

export interface TestAppChanges {
  audience?: string;
  issuers?: readonly ConfiguredIssuer[];
  /** Share this one's database, as another replica does; close it before that one. */
  replicaOf?: TestApp;
  log?: Logger;
  /** Connections of its pool (default 4, of which a tenant has one). */
  poolSize?: number;
  attachmentStorage?: AttachmentStorage;
  /** Entries of deletions wait for the names of the deleters. */
  auditWebhookToken?: string;
  /** The stack's registry, with these changes; without it there is none. */
  registry?: Partial<DistributionConfig> | HarborConfig;
}

/**
 * The API as one application in this process, on a separate database, with the stack's Kubernetes API and tokens of
 * the stack's identity provider. Its background loops do not run.
 */
export async function startTestApp(changes: TestAppChanges = {}): Promise<TestApp> {
  const stack = readStack();
  const database =
    changes.replicaOf === undefined
      ? await createTestDatabase(stack.databaseUrl)
      : { url: changes.replicaOf.deps.config.databaseUrl, drop: async () => undefined };
  const clients = connectDatabase(database.url, { poolSize: changes.poolSize ?? 4 });
  const transport = createTransport({ connection: loadConnection(stack.programKubeconfigs.tests) });
  const draining = new AbortController();
  const metrics = createRegistry();
  const deps: Deps = {
    config: testConfig(database.url, stack, changes),
    log: changes.log ?? createTestLogger(),
    now: () => new Date(),
    db: clients.db,
    rightsDb: clients.rightsDb,
    sql: clients.sql,
    kube: createClient(withoutCallDeadlines(transport)),
    metrics,
    kubeMetrics: createKubeMetrics(metrics, "marina_apiserver"),
    writeLocks: createKeyedSlots(1),
    draining: draining.signal,
  };
  const issuers = await recordIssuers(deps.db, deps.config.issuers);
  await recordConfiguredMappings(deps, memberHooks, issuers);
  const authenticator = createAuthenticator({
    issuers,
    bindUser: (user, groups) => bindUser({ db: deps.db, hooks: memberHooks }, user, groups),
    apiTokens: createApiTokenVerifier(deps),
    log: deps.log,
  });
  const operations: Operation[] = [];
  const app = createTestedApp(deps, { authenticator, operations });
  const request = (method: string, path: string, options: TestRequest = {}) =>
    send(app, stack.tokens, method, path, options);
  return {
    deps,
    app,
    operations,
    request,
    async createOrganization(as = "alice") {
      const response = await request("POST", "/api/v1/organizations", {
        as,
        body: { name: "Test organization" },
      });
      if (response.status !== 201) throw new Error(`no organization: ${JSON.stringify(response.body)}`);
      return response.body.id;
    },
    addMember: (orgId, user, role) => addMember(deps, subjectOf(stack.tokens[user]), user, orgId, role),
    async close() {
      draining.abort();
      await Promise.all([transport.close(), clients.close()]);
      await database.drop();
    },
  };
}

/** Takes an Idempotency-Key as a first POST to `path` does, and leaves it without a response. */
export async function holdKey(
  api: TestApp,
  path: string,
  key: string,
  { as = "alice", body }: Pick<TestRequest, "as" | "body"> = {},
): Promise<void> {
  const { id: userId } = (await api.request("GET", "/api/v1/me", { as })).body.principal;
  const bodyHash = hashBody(body);
  const claim = { scope: `user:${userId} POST ${path}`, key, bodyHash, id: createId(), objectName: null };
  await createIdempotencyStores()(api.deps.db).claim(claim);
}

/** Into the folder of the run of tests, where the last test of it looks for secrets. */
function createTestLogger() {
  const folder = findSeenFolder();
  if (folder === undefined) return createLogger({ name: "apiserver", level: "silent" });
  const destination = { write: (line: string) => appendFileSync(join(folder, `${process.pid}.log`), line) };
  return createLogger({ name: "apiserver", level: "debug", destination });
}

/**
 * The API as one application whose every response is checked against the OpenAPI document: a request rejects where the
 * response is not as declared.
 */
export function createTestedApp(deps: Deps, parts: AppParts): ReturnType<typeof createApp> {
  const app = createApp(deps, parts);
  const { request } = app;
  app.request = async (input, init, env, context) => {
    const response = await request(input, init, env, context);
    await requireConformance(input instanceof Request ? input.url : String(input), init ?? {}, response);
    return response;
  };
  return app;
}

type Stack = ReturnType<typeof readStack>;

function toRegistryConfig(stack: Stack, changes: Partial<DistributionConfig> | HarborConfig): RegistryConfig {
  if (changes.kind === "harbor") return changes;
  const config = registrySchema.parse(stack.registry);
  if (config.kind === "harbor") throw new Error("the registry of the stack is a distribution");
  return { ...config, ...changes };
}

function testConfig(
  databaseUrl: string,
  stack: Stack,
  { audience = "marina", issuers = [], attachmentStorage, registry, auditWebhookToken }: TestAppChanges,
): Config {
  return {
    listenAddress: "127.0.0.1",
    port: 0,
    metricsPort: 0,
    publicUrl: "http://127.0.0.1",
    databaseUrl,
    kubeconfigPath: stack.kubeconfig,
    issuers: [
      makeIssuerConfig({ issuer: stack.issuer, audience, admin: true, trustEmail: true }),
      ...issuers,
    ],
    platformNamespace: "marina-system",
    roles: ["api"],
    logLevel: "silent",
    limits: { ...DEFAULT_REQUEST_LIMITS, rates: UNLIMITED },
    systemEvents: {
      isEnabled: true,
      maxStreams: 1000,
      maxStreamsPerPrincipal: 1000,
      maxStreamsPerUser: 1000,
      maxStreamsPerOrganization: 1000,
    },
    quotas: DEFAULT_QUOTAS,
    defaultStorageQuotaGB: 100,
    userQuotas: { organizations: 1000 },
    maxInvitationsPerUser: 10_000,
    maxApiTokensPerOrganization: 100,
    maxClusterAccessesPerOrganization: 2000,
    auditRetentionDays: 400,
    auditWebhookToken,
    shutdownDelaySeconds: 0,
    webhooks: {
      keys: [{ id: "test", key: createSecretKey(Buffer.alloc(32, "test")) }],
      maxPerOrganization: 20,
      allowedAddresses: [],
      blockedAddresses: [],
      blockedNames: [],
      caFile: undefined,
      // Nothing listens there: names do not resolve.
      dnsServers: ["127.0.0.1:9"],
      concurrency: 16,
      concurrencyPerEndpoint: 8,
    },
    responseTargets: DEFAULT_RESPONSE_TARGETS,
    ticketLimits: DEFAULT_TICKET_LIMITS,
    attachmentStorage,
    invoicing: undefined,
    registry: registry && toRegistryConfig(stack, registry),
  };
}

async function send(
  app: TestApp["app"],
  tokens: Stack["tokens"],
  method: string,
  path: string,
  options: TestRequest,
): Promise<TestResponse> {
  const { as = "alice", token, body, rawBody, signal = null } = options;
  const text = rawBody ?? (body === undefined ? undefined : JSON.stringify(body));
  const headers = new Headers(options.headers);
  const bearer = token ?? (as === null ? undefined : tokens[as]);
  if (bearer !== undefined && !headers.has("authorization")) headers.set("authorization", `Bearer ${bearer}`);
  if (body !== undefined) headers.set("content-type", "application/json");
  if (text !== undefined) headers.set("content-length", String(Buffer.byteLength(text)));
  // Bytes, because a string body would set its own Content-Type.
  const bytes = text === undefined ? null : new TextEncoder().encode(text);
  const response = await app.request(path, { method, headers, body: bytes, signal });
  const content = await response.text();
  const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
  const { status } = response;
  const answer = { status, headers: response.headers, body: isJson ? JSON.parse(content) : content };
  rememberCreated(method, path, answer);
  return answer;
}

async function addMember(deps: Deps, userId: string, name: string, orgId: string, role: Role): Promise<void> {
  const email = `${name}@example.com`;
  const [issuer] = deps.config.issuers;
  if (issuer === undefined) throw new Error("no issuer");
  await deps.db.insert(users).values({ id: userId, issuer: issuer.issuer, email }).onConflictDoNothing();
  await deps.db
    .insert(members)
    .values({ id: createId(), orgId, userId, email, role, acceptedAt: new Date() });
}

function subjectOf(token: string): string {
  const payload = token.split(".")[1] ?? "";
  return JSON.parse(Buffer.from(payload, "base64url").toString()).sub;
}
