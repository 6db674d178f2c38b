import { OpenAPIHono, z } from "@hono/zod-openapi";
import { expect, test } from "vitest";
import { createLogger } from "../../../shared/log.ts";
import { Registry } from "../../../shared/metrics.ts";
import { makeMembership } from "../../testing/membership.ts";
import type { Principal, Role } from "../authentication/principal.ts";
import type { AccessControl, HttpEnv, Router } from "../env.ts";
import { ApiError, notFound } from "../errors.ts";
import { handleError } from "../handle-error.ts";
import { createRateLimiter } from "../rate-limits/rate-limit.ts";
import { DEFAULT_REQUEST_LIMITS } from "../server/limits.ts";
import { observe } from "../server/observe.ts";
import { addRead } from "./add-route.ts";

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

/** An operation that reads, asked for with `Authorization: Bearer good`; the steps are told in their order. */
function serveRead(options: { role?: Role; read?: () => Promise<string> }) {
  const steps: string[] = [];
  const access: AccessControl = {
    async authenticate(authorization) {
      if (authorization !== "Bearer good") throw new ApiError("unauthorized", "");
      return PRINCIPAL;
    },
    redeemTicket: () => Promise.reject(new Error("nobody has a ticket")),
    isKnown: () => false,
    async findMembership(_principal, orgId) {
      steps.push("membership asked");
      await new Promise((resolve) => setImmediate(resolve));
      steps.push("membership found");
      const { role } = options;
      return role === undefined ? undefined : makeMembership(orgId, role);
    },
  };
  const app = new OpenAPIHono<HttpEnv>();
  app.use(observe(createLogger({ name: "x", level: "silent" }), new Registry()));
  app.onError(handleError);
  const router = {
    app,
    access,
    limiter: createRateLimiter(DEFAULT_REQUEST_LIMITS.rates),
    limits: DEFAULT_REQUEST_LIMITS,
    operations: [],
  } as unknown as Router;
  addRead(
    router,
    {
      method: "get",
      path: "/api/v1/organizations/{orgID}/things/{thingID}",
      operationId: "getThing",
      tag: "Things",
      summary: "Get a thing",
      access: "clusters:delete",
      responses: {
        200: { description: "The thing.", body: z.object({ name: z.string() }).openapi("Thing") },
      },
    },
    async () => {
      steps.push("record asked");
      return (options.read ?? (async () => "a thing"))();
    },
    async (c, { found }) => {
      steps.push("handled");
      return c.json({ name: found }, 200);
    },
  );
  const ask = (path: string, credential: string) =>
    app.request(`/api/v1/organizations/${path}`, { headers: { authorization: `Bearer ${credential}` } });
  return { steps, ask };
}

const THING = `${ORG_ID}/things/${ORG_ID}`;

test("a record is asked for beside the membership, and handled after both", async () => {
  const { steps, ask } = serveRead({ role: "admin" });
  const answer = await ask(THING, "good");
  expect([answer.status, await answer.json()]).toEqual([200, { name: "a thing" }]);
  expect(steps).toEqual(["membership asked", "record asked", "membership found", "handled"]);
});

test.each<[string, Parameters<typeof serveRead>[0], string, string, number]>([
  ["without a valid credential nothing is read", { role: "owner" }, THING, "bad", 401],
  ["nor with a malformed organization", { role: "owner" }, `x/things/${ORG_ID}`, "good", 400],
  ["nor with another malformed id", { role: "owner" }, `${ORG_ID}/things/x`, "good", 400],
  ["nor with an unknown query parameter", { role: "owner" }, `${THING}?x=1`, "good", 400],
])("%s", async (_case, options, path, credential, status) => {
  const { steps, ask } = serveRead(options);
  expect((await ask(path, credential)).status).toBe(status);
  expect(steps).not.toContain("record asked");
  expect(steps).not.toContain("handled");
});

test.each<[string, () => Promise<string>]>([
  ["a record that is there", async () => "a thing"],
  ["one that is missing", () => Promise.reject(notFound("cluster"))],
  ["one that cannot be read", () => Promise.reject(new Error("broken"))],
])("a stranger gets the same answer for %s, and a member without the right too", async (_case, read) => {
  const stranger = await serveRead({ read }).ask(THING, "good");
  expect(stranger.status).toBe(404);
  expect(await stranger.json()).toMatchObject({ error: { message: notFound("organization").message } });
  const member = await serveRead({ role: "viewer", read }).ask(THING, "good");
  expect(member.status).toBe(403);
});
