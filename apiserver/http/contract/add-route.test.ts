import { OpenAPIHono, z } from "@hono/zod-openapi";
import { sql } from "drizzle-orm";
import { expect, test, vi } from "vitest";
import type { CallOptions, KubeClient } from "../../../shared/kube/client.ts";
import { namespaceKind } from "../../../shared/kube/core-kinds.ts";
import { createLogger } from "../../../shared/program/log.ts";
import { Registry } from "../../../shared/program/metrics.ts";
import { makeMembership } from "../../testing/membership.ts";
import type { Principal } from "../authentication/principal.ts";
import type { AccessControl } from "../authorization/guard.ts";
import type { Role } from "../authorization/permissions.ts";
import type { HttpEnv } from "../env.ts";
import { ApiError, notFound } from "../errors.ts";
import { handleError } from "../handle-error.ts";
import { DEFAULT_REQUEST_LIMITS } from "../limits.ts";
import { createRequestLimiter } from "../rate-limits/rate-limit.ts";
import { observe } from "../server/observe.ts";
import { addRoute } from "./add-route.ts";
import { createByteBudget } from "./byte-budget.ts";
import type { Router } from "./router.ts";
import { createTenantLimits } from "./tenant-slot.ts";

const ORG_ID = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11";
const PRINCIPAL: Principal = {
  kind: "user",
  userId: ORG_ID,
  issuer: "https://issuer.example",
  emailVerified: false,
  emailTrusted: false,
  roles: [],
  expiresAtMs: 0,
};
const things = z.object({ name: z.string() }).openapi("Thing");

/** An operation for admins, called with `Authorization: Bearer good`; records the steps in their order. */
function serveThing(role?: Role) {
  const steps: string[] = [];
  const router = createRouter(role, steps);
  addRoute(
    router,
    {
      method: "get",
      path: "/api/v1/organizations/{orgID}/things/{thingID}",
      operationId: "getThing",
      tag: "Things",
      summary: "Get a thing",
      access: "clusters:delete",
      responses: { 200: { description: "The thing.", body: things } },
    },
    async (c) => {
      steps.push("handled");
      return c.json({ name: "a thing" }, 200);
    },
  );
  const call = (path: string, credential: string) =>
    router.app.request(`/api/v1/organizations/${path}`, {
      headers: { authorization: `Bearer ${credential}` },
    });
  return { steps, call };
}

function createRouter(role: Role | undefined, steps: string[]): Router {
  const access: AccessControl = {
    async authenticate(authorization) {
      if (authorization !== "Bearer good") throw new ApiError("unauthorized", "");
      return PRINCIPAL;
    },
    redeemStreamTicket: () => Promise.reject(new Error("no tickets here")),
    isKnown: () => false,
    isWellFormed: () => false,
    async findMembership(_principal, orgId) {
      steps.push("membership");
      return role === undefined ? undefined : makeMembership(orgId, role);
    },
    lockMembership: () => Promise.reject(new Error("no transactions here")),
    findIssuer: () => Promise.reject(new Error("no transactions here")),
    lockOrganization: () => Promise.reject(new Error("no transactions here")),
  };
  const app = new OpenAPIHono<HttpEnv>();
  app.use(observe(createLogger({ name: "x", level: "silent" }), new Registry()));
  app.onError(handleError);
  return {
    app,
    access,
    limiter: createRequestLimiter(DEFAULT_REQUEST_LIMITS.rates),
    limits: DEFAULT_REQUEST_LIMITS,
    tenantLimits: createTenantLimits(DEFAULT_REQUEST_LIMITS),
    unread: createByteBudget({ maxBytes: 1000, what: "responses" }),
    deps: { db: { _: { session: { client: { forTenant: () => ({}) } } } } },
    operations: [],
  } as unknown as Router;
}

const THING = `${ORG_ID}/things/${ORG_ID}`;
const THINGS = "/api/v1/organizations/{orgID}/things";
const DELETION = {
  method: "delete",
  path: THINGS,
  operationId: "deleteThings",
  tag: "Things",
  summary: "Delete all things",
  access: "clusters:delete",
  query: z.strictObject({ dry_run: z.stringbool().default(false) }),
  responses: { 204: { description: "Deleted." } },
} as const;
const deleteThings = async (router: Router, query = "") => {
  const headers = { authorization: "Bearer good" };
  return router.app.request(THINGS.replace("{orgID}", ORG_ID) + query, { method: "DELETE", headers });
};
const LONG = `${THING}?${"x".repeat(8192)}`;

test("a member with the permission reaches the handler", async () => {
  const { steps, call } = serveThing("admin");
  const response = await call(THING, "good");
  expect([response.status, await response.json()]).toEqual([200, { name: "a thing" }]);
  expect(steps).toEqual(["membership", "handled"]);
});

test.each<[string, Role | undefined, string, string, number, string[]]>([
  ["without a valid credential", "owner", "x/things/x?x=1", "bad", 401, []],
  ["without a valid credential, of a URL that is too long", "owner", LONG, "bad", 401, []],
  ["of a caller that is no member, with NUL", undefined, `${ORG_ID}/things/%00`, "good", 404, ["membership"]],
  ["of a URL that is too long", "owner", LONG, "good", 400, ["membership"]],
  ["with a malformed organization id", "owner", "x/things/x?x=1", "good", 400, []],
  ["of a caller that is no member", undefined, `${ORG_ID}/things/x?x=1`, "good", 404, ["membership"]],
  ["of a member without the permission", "viewer", `${ORG_ID}/things/x?x=1`, "good", 403, ["membership"]],
  ["with another malformed id", "owner", `${ORG_ID}/things/x`, "good", 400, ["membership"]],
  ["with an unknown query parameter", "owner", `${THING}?x=1`, "good", 400, ["membership"]],
])(
  "a request %s is refused at that step, whatever else is wrong with it",
  async (_case, role, path, credential, status, passed) => {
    const { steps, call } = serveThing(role);
    expect((await call(path, credential)).status).toBe(status);
    expect(steps).toEqual(passed);
  },
);

test("a caller that is no member gets the response of a missing organization", async () => {
  const response = await serveThing().call(THING, "good");
  expect(await response.json()).toMatchObject({ error: { message: notFound("organization").message } });
});

test("a handler's database and Kubernetes API are those of its tenant, in a dry run as such", async () => {
  const tenants: unknown[] = [];
  const callers: unknown[] = [];
  const router = createRouter("admin", []);
  const client = {
    forTenant: (tenant: CallOptions["tenant"]) => ({ unsafe: async () => void tenants.push({ ...tenant }) }),
  };
  Object.assign(router.deps, { db: { _: { session: { client } } } });
  router.deps.kube = {
    list: async (_kind: unknown, { tenant }: CallOptions) => void callers.push(tenant),
  } as unknown as KubeClient;
  addRoute(router, DELETION, async (c, { deps }) => {
    await deps.db.execute(sql`select 1`);
    await deps.kube.list(namespaceKind);
    return c.body(null, 204);
  });
  for (const query of ["", "?dry_run=true"]) await deleteThings(router, query);
  const expected = [
    { tenant: ORG_ID, isDryRun: false },
    { tenant: ORG_ID, isDryRun: true },
  ];
  expect(tenants).toMatchObject(expected.map((tenant) => ({ ...tenant, signal: expect.any(AbortSignal) })));
  expect(callers).toMatchObject(expected);
});

test("the handler of a POST must return the response of transact or runOnce", () => {
  const operation = {
    method: "post",
    path: THINGS,
    operationId: "createThing",
    tag: "Things",
    summary: "Create a thing",
    access: "clusters:create",
    responses: { 201: { description: "The thing.", body: things } },
  } as const;
  const router = createRouter("admin", []);
  addRoute(router, operation, (c, { transact }) =>
    transact(
      async () => ({ name: "a thing" }),
      (thing) => c.json(thing, 201),
    ),
  );
  // @ts-expect-error A response that was made without an Idempotency-Key does not compile.
  addRoute(router, operation, async (c) => c.json({ name: "a thing" }, 201));
  expect(router.operations).toHaveLength(2);
});

test("a write whose turn comes when its caller leaves its whole share unread is 429 before its effect", async () => {
  const limits = { ...DEFAULT_REQUEST_LIMITS, maxConcurrentWrites: 1 };
  const router: Router = { ...createRouter("admin", []), tenantLimits: createTenantLimits(limits) };
  const turns: PromiseWithResolvers<void>[] = [];
  addRoute(router, DELETION, async (c) => {
    const turn = Promise.withResolvers<void>();
    turns.push(turn);
    await turn.promise;
    return c.body(null, 204);
  });
  const first = deleteThings(router);
  await vi.waitFor(() => expect(turns).toHaveLength(1));
  const waiting = deleteThings(router);
  await vi.waitFor(() => expect(router.tenantLimits.writes.countWaiting(ORG_ID)).toBe(1));
  router.unread.open([{ key: `user ${ORG_ID}`, name: "this user", part: 1 / 8 }]).addUnchecked(125);
  turns[0]?.resolve();
  expect([(await first).status, (await waiting).status, turns.length]).toEqual([204, 429, 1]);
});

test("a change beyond those of its caller is 429 before its effect; reads, dry runs and deletions are none", async () => {
  const few = { ...DEFAULT_REQUEST_LIMITS.rates, change: { burst: 1, perMinute: 1 } };
  const router: Router = { ...createRouter("admin", []), limiter: createRequestLimiter(few) };
  const changes: string[] = [];
  addRoute(router, { ...DELETION, method: "put" }, async (c) => {
    changes.push(c.req.url);
    return c.body(null, 204);
  });
  for (const method of ["get", "delete"] as const)
    addRoute(router, { ...DELETION, method }, async (c) => c.body(null, 204));
  const send = async (method: string, query = "") => {
    const headers = { authorization: "Bearer good" };
    return router.app.request(THINGS.replace("{orgID}", ORG_ID) + query, { method, headers });
  };
  const change = () => send("PUT");
  for (let n = 0; n < 3; n++) {
    expect((await send("GET")).status).toBe(204);
    expect((await send("DELETE")).status).toBe(204);
    expect((await send("PUT", "?dry_run=true")).status).toBe(204);
  }
  expect((await change()).status).toBe(204);
  const refused = await change();
  expect([refused.status, refused.headers.get("retry-after"), changes.length]).toEqual([429, "60", 4]);
});

test("a body counts among those of its user until it is its turn, and no longer", async () => {
  const limits = { ...DEFAULT_REQUEST_LIMITS, maxConcurrentWrites: 1 };
  const router: Router = {
    ...createRouter("admin", []),
    tenantLimits: createTenantLimits(limits),
    // A user may have 1000.
    bodies: createByteBudget({ maxBytes: 8000, what: "bodies" }),
  };
  const turns: PromiseWithResolvers<void>[] = [];
  addRoute(
    router,
    {
      method: "put",
      path: THINGS,
      operationId: "replaceThings",
      tag: "Things",
      summary: "Replace all things",
      access: "clusters:create",
      body: things,
      responses: { 200: { description: "The thing.", body: things } },
    },
    async (c, { readBody }) => {
      const thing = await readBody();
      const turn = Promise.withResolvers<void>();
      turns.push(turn);
      await turn.promise;
      return c.json(thing, 200);
    },
  );
  const send = async (bytes: number) => {
    const body = JSON.stringify({ name: "a".repeat(bytes - 11) });
    const headers = {
      authorization: "Bearer good",
      "content-type": "application/json",
      "content-length": String(bytes),
    };
    const sent = router.app.request(THINGS.replace("{orgID}", ORG_ID), { method: "PUT", headers, body });
    return (await sent).status;
  };
  const first = send(900);
  await vi.waitFor(() => expect(turns).toHaveLength(1));
  const waiting = send(900);
  expect(await send(200)).toBe(429);
  turns[0]?.resolve();
  await vi.waitFor(() => expect(turns).toHaveLength(2));
  const last = send(900);
  turns[1]?.resolve();
  await vi.waitFor(() => expect(turns).toHaveLength(3));
  turns[2]?.resolve();
  expect(await Promise.all([first, waiting, last])).toEqual([200, 200, 200]);
});
