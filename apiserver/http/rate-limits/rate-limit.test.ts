import { Hono } from "hono";
import { expect, test } from "vitest";
import { makePrincipal } from "../../testing/membership.ts";
import type { Principal } from "../authentication/principal.ts";
import type { AccessControl } from "../authorization/guard.ts";
import type { Operation } from "../contract/operation.ts";
import type { HttpEnv } from "../env.ts";
import { ApiError } from "../errors.ts";
import { handleError } from "../handle-error.ts";
import { DEFAULT_RATE_LIMITS, type RateLimits } from "../limits.ts";
import { createRequestLimiter, rateClassOf } from "./rate-limit.ts";

const control: AccessControl = {
  async authenticate(authorization) {
    if (authorization?.startsWith("good ") !== true) throw new ApiError("unauthorized", "no");
    const [userId = "", tokenId] = authorization.slice(5).split("/");
    return tokenId === undefined ? makePrincipal(userId) : aToken(userId, tokenId);
  },
  redeemStreamTicket: () => Promise.reject(new Error("no tickets here")),
  isKnown: (authorization) => authorization === "good known",
  isWellFormed: (authorization) => authorization.includes("checksum"),
  findMembership: async () => undefined,
  lockMembership: async () => undefined,
  findIssuer: async () => undefined,
  lockOrganization: async () => undefined,
};

function aToken(userId: string, tokenId: string): Principal {
  const none = { emailVerified: false, emailTrusted: false, roles: [] } as const;
  return { kind: "token", userId, tokenId, orgId: "o", version: 1, expiresAtMs: 0, ...none };
}

function anApp(limits: Partial<RateLimits>, access: Operation["access"] = "signed-in") {
  const clock = { nowMs: 0 };
  const limiter = createRequestLimiter({ ...DEFAULT_RATE_LIMITS, ...limits }, () => clock.nowMs);
  const app = new Hono<HttpEnv>();
  app.onError(handleError);
  app.use(async (c, next) => {
    c.set("requestId", "r");
    c.set("sourceAddress", c.req.header("test-address") ?? "192.0.2.1");
    await next();
  });
  app.get("/", async (c) => {
    await limiter.limit(control, { method: "get", access }, c).authenticate(c.req.header("authorization"));
    const orgId = c.req.header("test-organization");
    if (orgId !== undefined) limiter.countInOrganization(orgId, c);
    return c.json({});
  });
  app.get("/anonymous", (c) => {
    limiter.countAnonymous(c);
    return c.json({});
  });
  const sendAnonymous = (address: string) =>
    app.request("/anonymous", { headers: { "test-address": address } });
  const send = (authorization: string, address = "192.0.2.1") =>
    app.request("/", { headers: { authorization, "test-address": address } });
  const sendIn = (authorization: string, orgId: string) =>
    app.request("/", { headers: { authorization, "test-organization": orgId } });
  return { send, sendIn, sendAnonymous, clock };
}

test.each([
  ["post", "api_tokens:create", "token_creation"],
  ["post", "members:invite", "invitation"],
  ["get", "clusters:access", "kubeconfig"],
  ["post", ["clusters:update", "clusters:access"], "kubeconfig"],
  ["delete", "clusters:access", undefined],
  ["get", "clusters:read", undefined],
  ["get", "signed-in", undefined],
] as const)("%s behind %s is counted as %s", (method, access, name) => {
  expect(rateClassOf({ method, access })).toBe(name);
});

test("every response has the remaining requests, and the one beyond the limit is 429 with Retry-After", async () => {
  const { send, clock } = anApp({ default: { burst: 2, perMinute: 30 } });
  const first = await send("good a");
  expect(first.headers.get("ratelimit-policy")).toBe('"default";q=2;w=4');
  expect(first.headers.get("ratelimit")).toBe('"default";r=1;t=2');
  await send("good a");
  const refused = await send("good a");
  expect(refused.status).toBe(429);
  expect(refused.headers.get("retry-after")).toBe("2");
  expect(refused.headers.get("ratelimit")).toBe('"default";r=0;t=4');
  expect(await refused.json()).toMatchObject({ error: { code: "rate_limited", request_id: "r" } });
  expect((await send("good b")).status).toBe(200);
  clock.nowMs += 2000;
  expect((await send("good a")).status).toBe(200);
});

test("the requests of a person's API tokens together are counted for the person", async () => {
  const { send } = anApp({ user: { burst: 3, perMinute: 1 } });
  const statuses: number[] = [];
  for (const credential of ["a/1", "a/2", "a", "a/3"])
    statuses.push((await send(`good ${credential}`)).status);
  expect(statuses).toEqual([200, 200, 200, 429]);
  expect((await send("good a")).headers.get("ratelimit")).toContain('"user";r=0;t=180');
  expect((await send("good b/4")).status).toBe(200);
});

test("API tokens do not multiply the stricter quotas of the person who created them", async () => {
  const { send } = anApp({ kubeconfig: { burst: 1, perMinute: 1 } }, "clusters:access");
  expect((await send("good a/1")).status).toBe(200);
  expect((await send("good a/2")).status).toBe(429);
});

test("the requests of all members of an organization are counted together", async () => {
  const { sendIn } = anApp({ organization: { burst: 2, perMinute: 1 } });
  const statuses: number[] = [];
  for (const caller of ["a", "b", "c/1"]) statuses.push((await sendIn(`good ${caller}`, "o1")).status);
  expect(statuses).toEqual([200, 200, 429]);
  expect((await sendIn("good a", "o2")).status).toBe(200);
});

test("an operation can name its quota", () => {
  const operation = { method: "post", access: "user", rateClass: "organization_creation" } as const;
  expect(rateClassOf(operation)).toBe("organization_creation");
});

test("a request that grants rights is counted twice, and both quotas are reported", async () => {
  const { send } = anApp({ kubeconfig: { burst: 1, perMinute: 1 } }, "clusters:access");
  const first = await send("good a");
  expect(first.headers.get("ratelimit")).toBe('"default";r=599;t=1, "kubeconfig";r=0;t=60');
  const refused = await send("good a");
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "60"]);
});

test("an address with too many refused credentials gets 429 before another is checked", async () => {
  const { send } = anApp({ failed_login: { burst: 2, perMinute: 1 } });
  const statuses: number[] = [];
  for (const n of [1, 2, 3]) statuses.push((await send(`bad ${n}`)).status);
  expect(statuses).toEqual([401, 401, 429]);
  expect((await send("good unknown")).status).toBe(429);
  expect((await send("bad 1", "198.51.100.1")).status).toBe(401);
});

test("an API token is looked up while its address guesses, until too many with the right checksum are refused", async () => {
  const { send } = anApp({ failed_login: { burst: 2, perMinute: 1 } });
  for (const n of [1, 2, 3]) await send(`bad ${n}`);
  expect((await send("bad 4")).status).toBe(429);
  expect((await send("good with checksum")).status).toBe(200);
  const forged: number[] = [];
  for (const n of [1, 2, 3]) forged.push((await send(`forged checksum ${n}`)).status);
  expect(forged).toEqual([401, 401, 429]);
  expect((await send("good other checksum")).status).toBe(429);
  expect((await send("good known")).status).toBe(200);
});

test("a known client behind the same address is served while another there guesses", async () => {
  const { send } = anApp({ failed_login: { burst: 1, perMinute: 1 } });
  await send("bad");
  expect((await send("bad")).status).toBe(429);
  expect((await send("good known")).status).toBe(200);
});

test("the holder of a credential is limited by address while it is refused, and by its id when it is not", async () => {
  const limits = {
    ...DEFAULT_RATE_LIMITS,
    failed_login: { burst: 2, perMinute: 1 },
    default: { burst: 2, perMinute: 1 },
  };
  const limiter = createRequestLimiter(limits, () => 0);
  const app = new Hono<HttpEnv>();
  app.onError(handleError);
  app.get("/:credential", async (c) => {
    c.set("requestId", "r");
    c.set("sourceAddress", "192.0.2.1");
    const holders = {
      isKnown: (text: string) => text === "known",
      isWellFormed: (text: string) => text === "unknown",
      async authenticate(text: string) {
        if (text.startsWith("bad")) throw new ApiError("unauthorized", "no");
        return { id: text };
      },
    };
    return c.json(await limiter.authenticateHolder(holders, c.req.param("credential"), c));
  });
  const statuses: number[] = [];
  for (const credential of ["bad1", "bad2", "bad3", "other", "unknown", "known", "known", "known"])
    statuses.push((await app.request(`/${credential}`)).status);
  expect(statuses).toEqual([401, 401, 429, 429, 200, 200, 200, 429]);
});

test("requests for which no principal is counted are counted by address", async () => {
  const { sendAnonymous, clock } = anApp({ anonymous: { burst: 2, perMinute: 60 } });
  const statuses = [];
  for (const address of ["2001:db8::1", "2001:db8::2", "2001:db8::3", "192.0.2.9"])
    statuses.push((await sendAnonymous(address)).status);
  expect(statuses).toEqual([200, 200, 429, 200]);
  const refused = await sendAnonymous("2001:db8::4");
  expect([refused.headers.get("retry-after"), refused.headers.get("ratelimit-policy")]).toEqual([
    "1",
    '"anonymous";q=2;w=2',
  ]);
  clock.nowMs += 1000;
  expect((await sendAnonymous("2001:db8::5")).status).toBe(200);
});
