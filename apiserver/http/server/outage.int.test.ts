import type { Hono } from "hono";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findFreePort } from "../../../e2e/platform/programs/free-port.ts";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { createRegistry } from "../../../shared/program/metrics.ts";
import { createApiTokenVerifier } from "../../api-tokens/index.ts";
import { mintToken } from "../../api-tokens/secret.ts";
import type { AppParts } from "../../app.ts";
import { connectDatabase, type DatabaseClients, probeDatabase } from "../../db/client.ts";
import type { Deps } from "../../deps.ts";
import { renderOpenApi } from "../../openapi/render.ts";
import { createTestedApp, startTestApp } from "../../testing/app.ts";
import { makePrincipal } from "../../testing/membership.ts";
import { type DocumentedOperation, listOperations } from "../../testing/operation-cases.ts";
import { withUnreachableKube } from "../../testing/unreachable-kube.ts";
import { createAuthenticator } from "../authentication/authenticator.ts";
import type { HttpEnv } from "../env.ts";

const api = setUp(startTestApp);
let unreachable: DatabaseClients;

beforeAll(async () => {
  unreachable = connectDatabase(`postgres://marina@127.0.0.1:${await findFreePort()}/marina`);
});
afterAll(async () => {
  await unreachable.close();
});

const principal = makePrincipal("0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11", {
  email: "alice@example.com",
  emailVerified: true,
  emailTrusted: true,
});

const operations = listOperations(renderOpenApi());
const secured = operations.filter((operation) => operation.secured);

/** Asks an operation, about nothing that exists. */
function call(app: Hono<HttpEnv>, { method, path }: DocumentedOperation, authorization = "Bearer x") {
  const url = path.replaceAll(/\{.+?\}/g, principal.userId);
  return app.request(url, { method, headers: { authorization } });
}

/** The application with other parts than the tests' own. */
function breakApp(deps: Partial<Deps>, authenticator: AppParts["authenticator"]) {
  return createTestedApp({ ...api.deps, metrics: createRegistry(), ...deps }, { authenticator });
}

async function codeOf(response: Response): Promise<[number, string]> {
  const { error } = (await response.json()) as { error: { code: string } };
  return [response.status, error.code];
}

const named = (list: DocumentedOperation[]) => list.map((one) => [one.operationId, one] as const);

describe("every operation", () => {
  // One application for all operations: making one takes some 10 ms.
  let withoutDatabase: Hono<HttpEnv>;
  let limited: Hono<HttpEnv>;
  let broken: Hono<HttpEnv>;

  beforeAll(async () => {
    const deps = { ...api.deps, db: unreachable.db, rightsDb: unreachable.rightsDb, sql: unreachable.sql };
    const authenticator = createAuthenticator({
      issuers: [],
      bindUser: async () => principal.userId,
      apiTokens: createApiTokenVerifier(deps),
      log: deps.log,
    });
    withoutDatabase = breakApp(unreachable, authenticator);

    const { limits } = api.deps.config;
    // The one request that is allowed is not allowed again while the test runs.
    const rates = { ...limits.rates, default: { burst: 1, perMinute: 0.001 } };
    const config = { ...api.deps.config, limits: { ...limits, rates } };
    limited = breakApp({ config }, { authenticate: async () => principal });
    await limited.request("/api/v1/me");

    broken = breakApp({}, { authenticate: () => Promise.reject(new TypeError("unforeseen")) });
  });

  test.each(named(secured))("%s is 503 while credentials cannot be looked up", async (_id, operation) => {
    const response = await call(withoutDatabase, operation, `Bearer ${mintToken(principal.userId).text}`);
    expect(await codeOf(response)).toEqual([503, "dependency_unavailable"]);
  });

  test.each(named(secured))("%s is 429 for whoever has sent too much", async (_id, operation) => {
    expect(await codeOf(await call(limited, operation))).toEqual([429, "rate_limited"]);
  });

  test.each(named(secured))("%s is 500 after an unexpected error", async (_id, operation) => {
    expect(await codeOf(await call(broken, operation))).toEqual([500, "internal"]);
  });
});

describe("with Postgres away", () => {
  test.each([["/api/v1/organizations"], ["/api/v1/me"], [`/api/v1/organizations/${principal.userId}`]])(
    "%s is 503 with Retry-After, and reveals nothing about the database",
    async (path) => {
      const deps = { ...api.deps, db: unreachable.db, rightsDb: unreachable.rightsDb, sql: unreachable.sql };
      const app = createTestedApp(
        { ...deps, metrics: createRegistry() },
        { authenticator: { authenticate: async () => principal } },
      );
      const response = await app.request(path);
      expect(response.status).toBe(503);
      expect(response.headers.get("retry-after")).toBe("5");
      const { error } = (await response.json()) as { error: { code: string; message: string } };
      expect(error.code).toBe("dependency_unavailable");
      expect(error.message).toBe("The database is not available right now; try again.");
    },
  );

  test("the probe of the database fails", async () => {
    await expect(probeDatabase(unreachable.sql)).rejects.toThrow(/ECONNREFUSED/);
  });
});

test("without the Kubernetes API an organization is created nevertheless", async () => {
  await withUnreachableKube(async (kube) => {
    const app = createTestedApp(
      { ...api.deps, kube, metrics: createRegistry() },
      {
        authenticator: { authenticate: async () => ({ ...principal, ...(await readAlice()) }) },
      },
    );
    const response = await app.request("/api/v1/organizations", {
      method: "POST",
      headers: { "content-type": "application/json", "content-length": "16" },
      body: '{"name":"Alone"}',
    });
    expect(response.status).toBe(201);
  });
});

async function readAlice() {
  const { body } = await api.request("GET", "/api/v1/me");
  const [{ issuer } = { issuer: "" }] = api.deps.config.issuers;
  return { userId: body.principal.id as string, issuer, expiresAtMs: Number.POSITIVE_INFINITY };
}

test("an unexpected failure is one fixed sentence with the request id", async () => {
  const app = createTestedApp(
    { ...api.deps, metrics: createRegistry() },
    {
      authenticator: { authenticate: () => Promise.reject(new TypeError("secret detail")) },
    },
  );
  const response = await app.request("/api/v1/me", { headers: { "x-request-id": "r-1" } });
  expect(response.status).toBe(500);
  expect(await response.json()).toEqual({
    error: {
      code: "internal",
      message: "Something went wrong on our side; report the request id.",
      request_id: response.headers.get("x-request-id"),
    },
  });
});
