import { type AddressInfo, createServer } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createClient } from "../../shared/kube/client.ts";
import { createTransport } from "../../shared/kube/transport.ts";
import { createRegistry } from "../../shared/metrics.ts";
import { createApp } from "../app.ts";
import { connectDatabase, type DatabaseClients } from "../db/client.ts";
import { probeDatabase } from "../db/probe.ts";
import { createReadiness } from "./readiness.ts";
import { startTestApp, type TestApp } from "./testing.ts";

let api: TestApp;
let gone: DatabaseClients;

beforeAll(async () => {
  api = await startTestApp();
  gone = connectDatabase(`postgres://marina@127.0.0.1:${await findClosedPort()}/marina`);
});
afterAll(async () => {
  await gone.close();
  await api.close();
});

/** A port that nobody listens on. */
async function findClosedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const principal = {
  kind: "user" as const,
  userId: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11",
  issuer: "https://issuer.example",
  email: "alice@example.com",
  emailVerified: true,
  emailTrusted: true,
  roles: [],
  expiresAtMs: 0,
};

describe("with Postgres away", () => {
  test.each([["/api/v1/organizations"], ["/api/v1/me"], [`/api/v1/organizations/${principal.userId}`]])(
    "%s is 503 with Retry-After, and tells nothing of the database",
    async (path) => {
      const readiness = createReadiness();
      const deps = { ...api.deps, db: gone.db, sql: gone.sql };
      const app = createApp(
        { ...deps, metrics: createRegistry() },
        { authenticator: { authenticate: async () => principal }, readiness },
      );
      const answer = await app.request(path);
      expect(answer.status).toBe(503);
      expect(answer.headers.get("retry-after")).toBe("5");
      const { error } = (await answer.json()) as { error: { code: string; message: string } };
      expect(error.code).toBe("dependency_unavailable");
      expect(error.message).toBe("The database is not available right now; try again.");
    },
  );

  test("readiness says which part is missing", async () => {
    const readiness = createReadiness();
    readiness.add({ name: "database", check: () => probeDatabase(gone.sql) });
    readiness.add({ name: "nothing", check: () => true });
    expect(await readiness.findFaults()).toEqual(["database"]);
  });
});

test("with the Kubernetes API away an organization is made all the same", async () => {
  const connection = { server: `https://127.0.0.1:${await findClosedPort()}` };
  const transport = createTransport({ connection, timeoutMs: 500 });
  const app = createApp(
    { ...api.deps, kube: createClient(transport), metrics: createRegistry() },
    {
      authenticator: { authenticate: async () => ({ ...principal, userId: (await me()).id }) },
      readiness: createReadiness(),
    },
  );
  const answer = await app.request("/api/v1/organizations", {
    method: "POST",
    headers: { "content-type": "application/json", "content-length": "16" },
    body: '{"name":"Alone"}',
  });
  expect(answer.status).toBe(201);
  await transport.close();
});

async function me(): Promise<{ id: string }> {
  return (await api.request("GET", "/api/v1/me")).body.principal;
}

test("an unexpected failure is one fixed sentence with the request id", async () => {
  const app = createApp(
    { ...api.deps, metrics: createRegistry() },
    {
      authenticator: { authenticate: () => Promise.reject(new TypeError("secret detail")) },
      readiness: createReadiness(),
    },
  );
  const answer = await app.request("/api/v1/me", { headers: { "x-request-id": "r-1" } });
  expect(answer.status).toBe(500);
  expect(await answer.json()).toEqual({
    error: {
      code: "internal",
      message: "Something went wrong on our side; the request id tells us what.",
      request_id: "r-1",
    },
  });
});
