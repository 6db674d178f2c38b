import { EventEmitter } from "node:events";
import { beforeEach, expect, test } from "vitest";
import { readStack } from "../../e2e/platform/stack/testing.ts";
import { setUp } from "../../e2e/testing/set-up.ts";
import { createRegistry } from "../../shared/program/metrics.ts";
import { createApiTokenVerifier } from "../api-tokens/index.ts";
import { type createApp, memberHooks } from "../app.ts";
import { type AuthenticatorOptions, createAuthenticator } from "../http/authentication/authenticator.ts";
import type { RateClass, RateLimit, RequestLimits } from "../http/limits.ts";
import { bindUser } from "../members/index.ts";
import { projectObservations } from "../resources/project/index.ts";
import { projected } from "../resources/project/testing.ts";
import { createTestedApp, startTestApp } from "../testing/app.ts";

/** Another request is allowed in an hour, which no test lasts. */
const SLOWLY = { perMinute: 1 / 60 };

const api = setUp(() => startTestApp({ registry: {} }));
let orgId: string;

beforeEach(async () => {
  orgId = await api.createOrganization();
});

/** A replica with a separate quota. */
function createReplica(name: RateClass, limit: RateLimit, others: Partial<RequestLimits> = {}) {
  const { config, ...deps } = { ...api.deps, metrics: createRegistry() };
  const rates = { ...config.limits.rates, [name]: limit };
  const limited = { ...deps, config: { ...config, limits: { ...config.limits, ...others, rates } } };
  const issuers = config.issuers.map((issuer) => ({ ...issuer, uuidSubjects: true }));
  const apiTokens = createApiTokenVerifier(limited);
  const bind = (...[user, groups]: Parameters<AuthenticatorOptions["bindUser"]>) =>
    bindUser({ db: deps.db, hooks: memberHooks }, user, groups);
  return createTestedApp(limited, {
    authenticator: createAuthenticator({ issuers, bindUser: bind, apiTokens, log: deps.log }),
  });
}

/** Requests a token to pull, from one address. */
function requestToken(app: ReturnType<typeof createApp>, password: string, outgoing?: EventEmitter) {
  const authorization = `Basic ${Buffer.from(`ci:${password}`).toString("base64")}`;
  const incoming = { socket: { remoteAddress: "192.0.2.1", destroy: () => undefined } };
  const path = `/registry/token?service=x&scope=repository:org-${orgId}/web:pull`;
  return app.request(path, { headers: { authorization } }, { incoming, outgoing });
}

async function createToken(): Promise<string> {
  const body = { name: "ci", role: "member", scopes: ["registry:read"] };
  return (await api.request("POST", `/api/v1/organizations/${orgId}/api-tokens`, { body })).body.token;
}

async function createCredential(): Promise<string> {
  const object = projected(orgId, 1);
  await api.deps.db.transaction((tx) => projectObservations(tx, [{ object }]));
  const body = { cluster_id: object.id };
  const path = `/api/v1/organizations/${orgId}/registry/credentials`;
  return (await api.request("POST", path, { body })).body.password;
}

async function statusesOf(responses: readonly (() => Promise<Response> | Response)[]): Promise<number[]> {
  const statuses: number[] = [];
  for (const send of responses) statuses.push((await send()).status);
  return statuses;
}

test.each(["guess", "mar_guess", "mrc_guess"])(
  "an address that has guessed too many passwords (%s) gets 429, and another password of it is not looked up",
  async (guess) => {
    const app = createReplica("failed_login", { burst: 2, ...SLOWLY });
    const guesses = [1, 2, 3].map((n) => () => requestToken(app, `${guess}${n}`));
    expect(await statusesOf(guesses)).toEqual([401, 401, 429]);
  },
);

test("beyond its quota an API token gets 429 with Retry-After in seconds and the error that clients of registries read", async () => {
  const app = createReplica("default", { burst: 1, ...SLOWLY });
  const [token, other] = [await createToken(), await createToken()];
  expect((await requestToken(app, token)).status).toBe(200);
  const refused = await requestToken(app, token);
  expect(refused.status).toBe(429);
  const seconds = Number(refused.headers.get("retry-after"));
  expect(seconds).toBeGreaterThan(0);
  expect(seconds).toBeLessThanOrEqual(3600);
  const message = `Too many requests; try again in ${seconds} s.`;
  expect(await refused.json()).toMatchObject({
    error: { code: "rate_limited", message },
    errors: [{ code: "TOOMANYREQUESTS", message }],
  });
  expect((await requestToken(app, other)).status).toBe(200);
});

test("all API tokens and credentials of an organization together have its quota, and others are served", async () => {
  const app = createReplica("organization", { burst: 4, ...SLOWLY });
  const passwords = [
    ...(await Promise.all([createToken(), createToken()])),
    await createCredential(),
    await createCredential(),
    await createCredential(),
  ];
  const requests = passwords.map((password) => () => requestToken(app, password));
  expect(await statusesOf(requests)).toEqual([200, 200, 200, 200, 429]);
  orgId = await api.createOrganization();
  const token = await createToken();
  expect((await requestToken(app, token)).status).toBe(200);
});

test("a request of someone else for an organization's images takes nothing of its quota", async () => {
  const app = createReplica("organization", { burst: 1, ...SLOWLY });
  const { bob } = readStack().tokens;
  const [password, own] = [await createCredential(), await createToken()];
  for (const foreign of [bob, bob]) expect((await requestToken(app, foreign)).status).toBe(200);
  expect((await requestToken(app, password)).status).toBe(200);
  expect((await requestToken(app, own)).status).toBe(429);
});

test("what callers without a credential leave unread keeps no API token and no credential from its token", async () => {
  const app = createReplica("default", { burst: 100, ...SLOWLY }, { maxUnreadBytes: 100_000 });
  /** Nothing of the response is ever read: nothing says that it is closed. */
  const leaveUnread = async (remoteAddress: string) => {
    const incoming = { socket: { remoteAddress, destroy: () => undefined } };
    const unread = await app.request("/registry/jwks.json", {}, { incoming, outgoing: new EventEmitter() });
    return unread.status;
  };
  const passwords = [await createToken(), await createCredential()];
  for (const address of ["192.0.2.1", "192.0.2.2"]) while ((await leaveUnread(address)) === 200);
  expect(await leaveUnread("192.0.2.3")).toBe(429);
  const requests = passwords.map((password) => () => requestToken(app, password, new EventEmitter()));
  expect(await statusesOf(requests)).toEqual([200, 200]);
});
