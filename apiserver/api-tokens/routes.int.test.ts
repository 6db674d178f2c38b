import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auditLog } from "../audit/table.ts";
import { SCOPES } from "../http/permissions.ts";
import { startTestApp, type TestApp } from "../http/testing.ts";
import { members } from "../members/table.ts";
import { addPerson, type Person, startTestIssuer, type TestIssuer } from "../testing.ts";
import { hashToken, mintToken } from "./secret.ts";
import { apiTokens } from "./table.ts";

let issuer: TestIssuer;
let api: TestApp;
beforeAll(async () => {
  issuer = await startTestIssuer();
  api = await startTestApp({ issuers: [issuer.config] });
});
afterAll(async () => {
  await api.close();
  issuer.close();
});

const ORGANIZATIONS = "/api/v1/organizations";
const DAY_MS = 86_400_000;
const WISH = { name: "deploy", role: "member", scopes: ["clusters:write"] };

interface Organization {
  id: string;
  owner: Person;
  path: string;
}

async function makeOrganization(): Promise<Organization> {
  const owner = await issuer.createPerson();
  const { body } = await api.request("POST", ORGANIZATIONS, { token: owner.token, body: { name: "Tokens" } });
  return { id: body.id, owner, path: `${ORGANIZATIONS}/${body.id}/api-tokens` };
}

const mint = (org: Organization, wish: object = WISH, token = org.owner.token, headers = {}) =>
  api.request("POST", org.path, { token, body: wish, headers });
const use = (org: Organization, token: string, path = "clusters") =>
  api.request("GET", `${ORGANIZATIONS}/${org.id}/${path}`, { token });

describe("creating an API token", () => {
  test("answers 201 with the secret, once, and with an end in 90 days", async () => {
    const org = await makeOrganization();
    const answer = await mint(org);
    expect(answer.status).toBe(201);
    expect(answer.body).toMatchObject({
      org_id: org.id,
      name: "deploy",
      role: "member",
      scopes: ["clusters:write"],
      created_by: org.owner.userId,
      last_used_at: null,
    });
    expect(answer.body.token).toMatch(/^mar_[0-9A-Za-z]{71}$/);
    expect(answer.body.token.startsWith(answer.body.token_prefix)).toBe(true);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.headers.get("location")).toBe(`${org.path}/${answer.body.id}`);
    const days = (Date.parse(answer.body.expires_at) - Date.now()) / DAY_MS;
    expect(Math.round(days)).toBe(90);
  });

  test("never shows the secret again, and keeps but a hash of it", async () => {
    const org = await makeOrganization();
    const { body } = await mint(org, WISH, org.owner.token, { "idempotency-key": "secret" });
    const record = await api.request("GET", `${org.path}/${body.id}`, { token: org.owner.token });
    const list = await api.request("GET", org.path, { token: org.owner.token });
    const [row] = await api.deps.db.select().from(apiTokens).where(eq(apiTokens.id, body.id));
    expect(row?.secretHash).toBe(hashToken(body.token));
    const dump = await Promise.all(
      ["api_tokens", "audit_log", "idempotency_keys"].map(
        (table) => api.deps.sql`select row_to_json(t)::text as row from ${api.deps.sql(table)} t`,
      ),
    );
    const secret = body.token.slice(body.token_prefix.length);
    expect(JSON.stringify([record.body, list.body, dump])).not.toContain(secret);
  });

  test("with an Idempotency-Key makes one; the repetition is 409 and names it", async () => {
    const org = await makeOrganization();
    const key = { "idempotency-key": "mint-once" };
    const first = await mint(org, WISH, org.owner.token, key);
    const again = await mint(org, WISH, org.owner.token, key);
    expect(again.status).toBe(409);
    expect(again.body.error.code).toBe("conflict");
    expect(again.body.error.message).toContain(first.body.id);
    const list = await api.request("GET", org.path, { token: org.owner.token });
    expect(list.body.items).toHaveLength(1);
  });

  test.each<[string, object, string]>([
    ["no scope", { ...WISH, scopes: [] }, "scopes/too_short"],
    ["an unknown scope", { ...WISH, scopes: ["*"] }, "scopes[0]/invalid_enum"],
    ["a scope that changes members", { ...WISH, scopes: ["members:write"] }, "scopes[0]/invalid_enum"],
    ["a scope twice", { ...WISH, scopes: ["clusters:read", "clusters:read"] }, "scopes[1]/duplicate"],
    ["an end after a year", { ...WISH, expires_in_days: 366 }, "expires_in_days/out_of_range"],
    ["an end at once", { ...WISH, expires_in_days: 0 }, "expires_in_days/out_of_range"],
    ["no name", { ...WISH, name: "" }, "name/too_short"],
    ["a long name", { ...WISH, name: "x".repeat(64) }, "name/too_long"],
  ])("with %s is 422", async (_what, wish, fault) => {
    const org = await makeOrganization();
    const answer = await mint(org, wish);
    expect(answer.status).toBe(422);
    expect(answer.body.error.message.startsWith(`${fault}:`)).toBe(true);
  });

  test.each([
    ["admin", "owner", "clusters:read"],
    ["member", "admin", "clusters:read"],
    ["member", "billing", "billing:read"],
    ["admin", "viewer", "clusters:write"],
  ] as const)("by an %s with the role %s and the scope %s is 403", async (own, role, scope) => {
    const org = await makeOrganization();
    const person = await issuer.createPerson();
    await addPerson(api.deps, org.id, person, own);
    expect((await mint(org, { ...WISH, role, scopes: [scope] }, person.token)).status).toBe(403);
  });
});

describe("an API token's rights", () => {
  test("are its scopes, within its role, within its creator's role now", async () => {
    const org = await makeOrganization();
    const person = await issuer.createPerson();
    const memberId = await addPerson(api.deps, org.id, person, "admin");
    const { body } = await mint(
      org,
      { ...WISH, role: "admin", scopes: ["clusters:read", "audit:read"] },
      person.token,
    );
    expect((await use(org, body.token)).status).toBe(200);
    expect((await use(org, body.token, "audit-log")).status).toBe(200);
    expect((await use(org, body.token, "members")).status).toBe(403);
    await api.request("PUT", `${ORGANIZATIONS}/${org.id}/members/${memberId}`, {
      token: org.owner.token,
      body: { role: "viewer" },
    });
    expect((await use(org, body.token)).status).toBe(200);
    const refused = await use(org, body.token, "audit-log");
    expect(refused.status).toBe(403);
    expect(refused.body.error.message).toContain("audit:read");
  });

  test("end with its creator's membership, and do not come back with it", async () => {
    const org = await makeOrganization();
    const person = await issuer.createPerson();
    const memberId = await addPerson(api.deps, org.id, person, "member");
    const { body } = await mint(org, { ...WISH, scopes: ["clusters:read"] }, person.token);
    expect((await use(org, body.token)).status).toBe(200);
    await api.request("DELETE", `${ORGANIZATIONS}/${org.id}/members/${memberId}`, {
      token: org.owner.token,
    });
    expect((await use(org, body.token)).status).toBe(401);
    await addPerson(api.deps, org.id, person, "member");
    expect((await use(org, body.token)).status).toBe(401);
  });

  test("end when the membership is gone from the table, whoever removed it", async () => {
    const org = await makeOrganization();
    const person = await issuer.createPerson();
    const memberId = await addPerson(api.deps, org.id, person, "member");
    const { body } = await mint(org, { ...WISH, scopes: ["clusters:read"] }, person.token);
    await api.deps.db.delete(members).where(eq(members.id, memberId));
    expect((await use(org, body.token)).status).toBe(401);
  });

  test("never reach tokens, members, new organizations or /admin, even an owner's with every scope", async () => {
    const org = await makeOrganization();
    const { body } = await mint(org, { name: "all", role: "owner", scopes: [...SCOPES] });
    const { token } = body;
    const member = `${ORGANIZATIONS}/${org.id}/members`;
    const invitation = await api.request("POST", member, {
      token: org.owner.token,
      body: { email: "x@example.com", role: "viewer" },
    });
    const tries: [string, string, object?][] = [
      ["POST", org.path, WISH],
      ["GET", org.path],
      ["POST", `${org.path}/${body.id}/rotate`],
      ["DELETE", `${org.path}/${body.id}`],
      ["POST", member, { email: "y@example.com", role: "viewer" }],
      ["PUT", `${member}/${invitation.body.id}`, { role: "admin" }],
      ["DELETE", `${member}/${invitation.body.id}`],
      ["POST", `${member}/${invitation.body.id}/resend`],
      ["POST", ORGANIZATIONS, { name: "Mine" }],
      ["DELETE", `${ORGANIZATIONS}/${org.id}`],
      ["GET", "/api/v1/admin/audit-log"],
    ];
    for (const [method, path, wish] of tries) {
      const answer = await api.request(method, path, {
        token,
        ...(wish === undefined ? {} : { body: wish }),
      });
      expect(`${method} ${path} ${answer.status}`).toBe(`${method} ${path} 403`);
    }
  });

  test("are told by GET /me, and its organization by GET /organizations", async () => {
    const org = await makeOrganization();
    const { body } = await mint(org, { ...WISH, scopes: ["organization:read", "network:write"] });
    const me = await api.request("GET", "/api/v1/me", { token: body.token });
    expect(me.body.principal).toMatchObject({ kind: "token", id: body.id, email: null });
    expect(me.body.organizations).toEqual([
      expect.objectContaining({
        id: org.id,
        role: "member",
        permissions: ["organization:read", "network:read", "network:update"],
      }),
    ]);
    const list = await api.request("GET", ORGANIZATIONS, { token: body.token });
    expect(list.body.items.map((item: { id: string }) => item.id)).toEqual([org.id]);
  });
});

describe("the secret of an API token", () => {
  test("with a typo is 401", async () => {
    const org = await makeOrganization();
    const { body } = await mint(org);
    const last = body.token.at(-1) === "0" ? "1" : "0";
    expect((await use(org, body.token.slice(0, -1) + last)).status).toBe(401);
  });

  test("of the right form but never given out is 401, also with the id of a real one", async () => {
    const org = await makeOrganization();
    const { body } = await mint(org);
    expect((await use(org, mintToken(body.id).text)).status).toBe(401);
    expect((await use(org, mintToken(org.id).text)).status).toBe(401);
  });

  test("is another one after a rotation, and the old one is refused at once", async () => {
    const org = await makeOrganization();
    const { body } = await mint(org, { ...WISH, expires_in_days: 10 });
    await api.deps.sql`update api_tokens set created_at = created_at - interval '5 days',
      expires_at = expires_at - interval '5 days' where id = ${body.id}`;
    const rotated = await api.request("POST", `${org.path}/${body.id}/rotate`, { token: org.owner.token });
    expect(rotated.status).toBe(200);
    expect(rotated.body.id).toBe(body.id);
    expect(Math.round((Date.parse(rotated.body.expires_at) - Date.now()) / DAY_MS)).toBe(10);
    expect((await use(org, body.token)).status).toBe(401);
    expect((await use(org, rotated.body.token)).status).toBe(200);
  });

  test("can be rotated by its creator alone: it acts in that person's name", async () => {
    const org = await makeOrganization();
    const admin = await issuer.createPerson();
    await addPerson(api.deps, org.id, admin, "admin");
    const { body } = await mint(org);
    const answer = await api.request("POST", `${org.path}/${body.id}/rotate`, { token: admin.token });
    expect(answer.status).toBe(403);
  });

  test("ends at its time", async () => {
    const org = await makeOrganization();
    const { body } = await mint(org);
    await api.deps.db.update(apiTokens).set({ expiresAt: sql`now()` }).where(eq(apiTokens.id, body.id));
    expect((await use(org, body.token)).status).toBe(401);
  });
});

describe("listing and revoking API tokens", () => {
  test("owners and admins see all, a member the own ones", async () => {
    const org = await makeOrganization();
    const [admin, member] = [await issuer.createPerson(), await issuer.createPerson()];
    await addPerson(api.deps, org.id, admin, "admin");
    await addPerson(api.deps, org.id, member, "member");
    const owners = await mint(org);
    const members = await mint(org, WISH, member.token);
    const seen = async (person: Person) => {
      const { body } = await api.request("GET", org.path, { token: person.token });
      return body.items.map((item: { id: string }) => item.id);
    };
    expect(await seen(admin)).toEqual([owners.body.id, members.body.id]);
    expect(await seen(member)).toEqual([members.body.id]);
    const foreign = `${org.path}/${owners.body.id}`;
    expect((await api.request("GET", foreign, { token: member.token })).status).toBe(404);
    expect((await api.request("DELETE", foreign, { token: member.token })).status).toBe(404);
  });

  test("a revoked token is refused at once and gone from the list", async () => {
    const org = await makeOrganization();
    const { body } = await mint(org);
    expect((await use(org, body.token)).status).toBe(200);
    const path = `${org.path}/${body.id}`;
    const stale = { token: org.owner.token, headers: { "if-match": '"7"' } };
    expect((await api.request("DELETE", path, stale)).status).toBe(412);
    expect((await api.request("DELETE", path, { token: org.owner.token })).status).toBe(204);
    expect((await use(org, body.token)).status).toBe(401);
    expect((await api.request("GET", path, { token: org.owner.token })).status).toBe(404);
    expect((await api.request("DELETE", path, { token: org.owner.token })).status).toBe(404);
  });

  test("last_used_at says when, exact to a minute and written at most once in it", async () => {
    const org = await makeOrganization();
    const { body } = await mint(org);
    const read = async () =>
      (await api.request("GET", `${org.path}/${body.id}`, { token: org.owner.token })).body.last_used_at;
    expect(await read()).toBeNull();
    await use(org, body.token);
    const first = await read();
    expect(Math.abs(Date.parse(first) - Date.now())).toBeLessThan(60_000);
    await Promise.all(Array.from({ length: 5 }, () => use(org, body.token)));
    expect(await read()).toBe(first);
    await api.deps
      .sql`update api_tokens set last_used_at = now() - interval '2 minutes' where id = ${body.id}`;
    await use(org, body.token);
    expect(Date.parse(await read())).toBeGreaterThanOrEqual(Date.parse(first));
  });
});

test("the audit log names the token that acted, and what was made, rotated and revoked", async () => {
  const org = await makeOrganization();
  const { body } = await mint(org, { ...WISH, scopes: ["organization:write"], role: "owner" });
  await api.request("PUT", `${ORGANIZATIONS}/${org.id}`, { token: body.token, body: { name: "By token" } });
  await api.request("POST", `${org.path}/${body.id}/rotate`, { token: org.owner.token });
  await api.request("DELETE", `${org.path}/${body.id}`, { token: org.owner.token });
  const rows = await api.deps.db
    .select()
    .from(auditLog)
    .where(eq(auditLog.orgId, org.id))
    .orderBy(auditLog.id);
  expect(rows.map(({ action }) => action)).toEqual([
    "organization.create",
    "api_token.create",
    "organization.update",
    "api_token.rotate",
    "api_token.revoke",
  ]);
  expect(rows[2]?.actor).toEqual({ kind: "token", tokenId: body.id, userId: org.owner.userId });
  expect(rows[1]?.after).toMatchObject({ name: "deploy", scopes: ["organization:write"] });
});
