import { expect, test } from "vitest";
import { z } from "zod";
import { NIL_ID } from "../shared/program/id.ts";
import { createLogger } from "../shared/program/log.ts";
import { createRegistry } from "../shared/program/metrics.ts";
import { createApp } from "./app.ts";
import type { Deps } from "./deps.ts";
import type { Principal } from "./http/authentication/principal.ts";
import type { Operation } from "./http/contract/operation.ts";
import { ApiError } from "./http/errors.ts";
import { DEFAULT_REQUEST_LIMITS, type RateLimits } from "./http/limits.ts";
import { SECURITY_ROWS } from "./testing/security-rows.ts";

const REGISTRY = { kind: "distribution", notificationToken: "a secret" };
const parts: Pick<Deps, "log" | "metrics" | "now"> & { config: object } = {
  config: { limits: DEFAULT_REQUEST_LIMITS, registry: REGISTRY },
  log: createLogger({ name: "test", level: "silent" }),
  metrics: createRegistry(),
  now: () => new Date(),
};
const operations: Operation[] = [];
const app = createApp(parts as unknown as Deps, {
  operations,
  authenticator: { authenticate: () => Promise.reject(new ApiError("unauthorized", "no")) },
});
const PRINCIPAL: Principal = {
  kind: "user",
  userId: NIL_ID,
  issuer: "https://issuer.test",
  emailVerified: false,
  emailTrusted: false,
  roles: [],
  expiresAtMs: 0,
};

/** Served in addition to the API: the document itself, its reference page, and the redirects to the page. */
const DOCUMENT_PATHS = ["/openapi.json", "/docs", "/docs/", "/"];
/** For the container registry and its clients, by the registry's own protocols; each has its tests in registry/. */
const REGISTRY_PATHS = ["/registry/token", "/registry/jwks.json", "/registry/notifications"];
/** For the Kubernetes API, which sends what its own protocol has; its tests are in audit/deleters/. */
const AUDIT_EVENTS_PATH = "/kubernetes/audit-events";
const OTHER_PATHS = [...DOCUMENT_PATHS, ...REGISTRY_PATHS, AUDIT_EVENTS_PATH];

test("every route is an operation with a declared access", () => {
  const declared = new Set(
    operations.map(({ method, path }) => `${method.toUpperCase()} ${toPattern(path)}`),
  );
  const routes = app.routes
    .filter(({ method, path }) => method !== "ALL" && !OTHER_PATHS.includes(path))
    .map(({ method, path }) => `${method} ${path}`);
  expect(routes.filter((route) => !declared.has(route))).toEqual([]);
});

test("every operation has a row in the security table", () => {
  const names = operations.map(({ operationId }) => operationId);
  expect(names.filter((name) => SECURITY_ROWS[name] === undefined)).toEqual([]);
  expect(Object.keys(SECURITY_ROWS).filter((name) => !names.includes(name))).toEqual([]);
});

test("every path under /admin is for the platform's staff, and nothing else is", () => {
  const staff = operations.filter(({ access }) => access === "platform-admin").map(({ path }) => path);
  const admin = operations.map(({ path }) => path).filter((path) => path.startsWith("/api/v1/admin/"));
  expect(staff).toEqual(admin);
});

test("every path of an organization requires a permission in it", () => {
  const open = operations.filter(
    ({ path, access }) =>
      path.startsWith("/api/v1/organizations/{orgID}") &&
      (access === "signed-in" || access === "user" || access === "platform-admin"),
  );
  expect(open.map(({ operationId }) => operationId)).toEqual([]);
});

test("every record that can be changed has an ETag and supports If-Match", () => {
  const faults = operations
    .filter(({ method }) => method === "put")
    .flatMap(({ path, errors = [], responses }) => {
      const read = operations.find((other) => other.method === "get" && other.path === path);
      const tagged = [responses[200], read?.responses[200]].every((response) =>
        response?.headers?.includes("ETag"),
      );
      const ok =
        errors.includes("precondition_failed") && tagged && read !== undefined && 304 in read.responses;
      return ok
        ? []
        : [`${path}: GET and PUT with the header ETag, GET with 304, PUT with precondition_failed`];
    });
  expect(faults).toEqual([]);
});

test("every DELETE supports If-Match", () => {
  const deletes = operations.filter(({ method }) => method === "delete");
  const faults = deletes.filter(({ errors = [] }) => !errors.includes("precondition_failed"));
  expect(faults.map(({ operationId }) => operationId)).toEqual([]);
});

test("no byte of a body is read before the credential was accepted, on any route", async () => {
  const withBody = app.routes.filter(({ method }) => ["POST", "PUT", "DELETE"].includes(method));
  const refused = await Promise.all(
    withBody.map(async ({ method, path }) => {
      let isRead = false;
      const body = new ReadableStream(
        {
          pull(controller) {
            isRead = true;
            controller.close();
          },
        },
        { highWaterMark: 0 },
      );
      const headers = { authorization: "Bearer no", "content-type": "application/json" };
      const request = new Request(`http://x${path.replaceAll(/:\w+/g, NIL_ID)}`, {
        method,
        headers,
        body,
        duplex: "half",
      });
      return { route: `${method} ${path}`, status: (await app.fetch(request)).status, isRead };
    }),
  );
  expect(refused.length).toBeGreaterThan(50);
  expect(refused.filter(({ status, isRead }) => status !== 401 || isRead)).toEqual([]);
});

test("requests without a credential are limited by address on every route, and on those that do not exist, whatever is wrong with them", async () => {
  const routes = app.routes.filter(({ method }) => method !== "ALL");
  const limits = { ...DEFAULT_REQUEST_LIMITS.rates, anonymous: { burst: 1, perMinute: 0.001 } };
  const anonymous = createLimitedApp(limits);
  const statuses = await Promise.all(
    [...routes, { method: "GET", path: "/nowhere" }].map(async ({ method, path }, index) => {
      const address = `198.51.${Math.floor(index / 250)}.${index % 250}`;
      const wrong = { method, headers: { "if-match": "no ETag" } };
      const send = () => anonymous.request(path.replaceAll(/:\w+/g, NIL_ID), wrong, socketOf(address));
      await send();
      return { route: `${method} ${path}`, second: (await send()).status };
    }),
  );
  expect(statuses.filter(({ second }) => second !== 429)).toEqual([]);
});

test.each([
  ["of a client that is signed in in its own limit", "Bearer good", 404],
  ["with a refused credential in that of its address", "Bearer bad", 429],
])("a request for a path that does not exist counts %s", async (_whose, authorization, anonymousStatus) => {
  const few = { burst: 2, perMinute: 0.001 };
  const rates = { ...DEFAULT_REQUEST_LIMITS.rates, default: few, anonymous: few };
  const limited = createLimitedApp(rates, PRINCIPAL);
  const send = async (headers = {}) =>
    (await limited.request("/api/v1/nowhere", { headers }, socketOf("192.0.2.1"))).status;
  const statuses = [
    await send({ authorization }),
    await send({ authorization }),
    await send({ authorization }),
  ];
  expect([...statuses, await send()]).toEqual([404, 404, 429, anonymousStatus]);
});

test("no body has an unknown field at any depth", () => {
  const open = operations.flatMap(({ operationId, body }) =>
    body === undefined
      ? []
      : findOpenObjects(z.toJSONSchema(body, { io: "input", unrepresentable: "any" }), operationId),
  );
  expect(open).toEqual([]);
});

/** Accepts the credential `Bearer good` of the principal alone. */
function createLimitedApp(rates: RateLimits, principal?: Principal) {
  const config = { limits: { ...DEFAULT_REQUEST_LIMITS, rates }, registry: REGISTRY };
  return createApp({ ...parts, config, metrics: createRegistry() } as unknown as Deps, {
    authenticator: {
      async authenticate(authorization) {
        if (authorization !== "Bearer good" || principal === undefined)
          throw new ApiError("unauthorized", "no");
        return principal;
      },
    },
  });
}

/** The bindings of a request whose connection comes from an address. */
function socketOf(remoteAddress: string) {
  return { incoming: { socket: { remoteAddress } } };
}

/** The places of objects with named fields that accept others. */
function findOpenObjects(schema: unknown, place: string): string[] {
  if (typeof schema !== "object" || schema === null) return [];
  const isOpen =
    "properties" in schema && (schema as { additionalProperties?: unknown }).additionalProperties !== false;
  const nested = Object.entries(schema).flatMap(([key, value]) =>
    key === "properties"
      ? Object.entries(value as object).flatMap(([name, entry]) => findOpenObjects(entry, `${place}.${name}`))
      : findOpenObjects(value, place),
  );
  return [...(isOpen ? [place] : []), ...nested];
}

function toPattern(path: string): string {
  return path.replaceAll(/\{(.+?)\}/g, ":$1");
}
