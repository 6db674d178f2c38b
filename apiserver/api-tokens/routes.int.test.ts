import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { auditLog } from "../audit/table.ts";
import { addPerson, makeOrganization, type Person, type TestOrganization } from "../testing/issuer.ts";
import { setUpTestService } from "../testing/service.ts";
import { hashToken } from "./secret.ts";
import { apiTokens } from "./table.ts";

const { api, issuer } = setUpTestService();

const ORGANIZATIONS = "/api/v1/organizations";
const DAY_MS = 86_400_000;
const tokensOf = (org: TestOrganization) => `${org.path}/api-tokens`;
const TOKEN = { name: "deploy", role: "member", scopes: ["clusters:write"] };

const mint = (org: TestOrganization, sent: object = TOKEN, token = org.owner.token, headers = {}) =>
  api.request("POST", tokensOf(org), { token, body: sent, headers });
const use = (org: TestOrganization, token: string, path = "clusters") =>
  api.request("GET", `${ORGANIZATIONS}/${org.id}/${path}`, { token });

describe("creating an API token", () => {
  test("returns 201 with the secret, once, and an expiry in 90 days", async () => {
    const org = await makeOrganization(api, issuer);
    const response = await mint(org);
    expect(response.status).toBe(201);
    expect(response.body).toMatchObject({
      org_id: org.id,
      name: "deploy",
      role: "member",
      scopes: ["clusters:write"],
      created_by: org.owner.userId,
      last_used_at: null,
    });
    expect(response.body.token).toMatch(/^mar_[0-9A-Za-z]{71}$/);
    expect(response.body.token.startsWith(response.body.token_prefix)).toBe(true);
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("location")).toBe(`${tokensOf(org)}/${response.body.id}`);
    const days = (Date.parse(response.body.expires_at) - Date.now()) / DAY_MS;
    expect(Math.round(days)).toBe(90);
  });

  test("never shows the secret again, and keeps but a hash of it", async () => {
    const org = await makeOrganization(api, issuer);
    const { body } = await mint(org, TOKEN, org.owner.token, { "idempotency-key": "secret" });
    const record = await api.request("GET", `${tokensOf(org)}/${body.id}`, { token: org.owner.token });
    const list = await api.request("GET", tokensOf(org), { token: org.owner.token });
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

  test("with an Idempotency-Key creates one; the repetition is 409 and names it", async () => {
    const org = await makeOrganization(api, issuer);
    const key = { "idempotency-key": "mint-once" };
    const first = await mint(org, TOKEN, org.owner.token, key);
    const again = await mint(org, TOKEN, org.owner.token, key);
    expect(again.status).toBe(409);
    expect(again.body.error.code).toBe("conflict");
    expect(again.body.error.message).toContain(first.body.id);
    const list = await api.request("GET", tokensOf(org), { token: org.owner.token });
    expect(list.body.items).toHaveLength(1);
  });

  test.each<[string, object, string]>([
    ["no scope", { ...TOKEN, scopes: [] }, "scopes/too_short"],
    ["an unknown scope", { ...TOKEN, scopes: ["*"] }, "scopes[0]/invalid_enum"],
    ["a scope that changes members", { ...TOKEN, scopes: ["members:write"] }, "scopes[0]/invalid_enum"],
    ["a scope twice", { ...TOKEN, scopes: ["clusters:read", "clusters:read"] }, "scopes[1]/duplicate"],
    ["an end after a year", { ...TOKEN, expires_in_days: 366 }, "expires_in_days/out_of_range"],
    ["an end at once", { ...TOKEN, expires_in_days: 0 }, "expires_in_days/out_of_range"],
    ["no name", { ...TOKEN, name: "" }, "name/too_short"],
    ["a long name", { ...TOKEN, name: "x".repeat(64) }, "name/too_long"],
  ])("with %s is 422", async (_what, sent, fault) => {
    const org = await makeOrganization(api, issuer);
    const response = await mint(org, sent);
    expect(response.status).toBe(422);
    expect(response.body.error.message.startsWith(`${fault}:`)).toBe(true);
  });

  test.each([
    ["admin", "owner", "clusters:read"],
    ["member", "admin", "clusters:read"],
    ["member", "billing", "billing:read"],
    ["admin", "viewer", "clusters:write"],
  ] as const)("by an %s with the role %s and the scope %s is 403", async (own, role, scope) => {
    const org = await makeOrganization(api, issuer);
    const person = await issuer.createPerson();
    await addPerson(api.deps, org.id, person, own);
    expect((await mint(org, { ...TOKEN, role, scopes: [scope] }, person.token)).status).toBe(403);
  });
});

describe("listing and revoking API tokens", () => {
  test("owners and admins see all, a member the own ones", async () => {
    const org = await makeOrganization(api, issuer);
    const [admin, member] = [await issuer.createPerson(), await issuer.createPerson()];
    await addPerson(api.deps, org.id, admin, "admin");
    await addPerson(api.deps, org.id, member, "member");
    const owners = await mint(org);
    const members = await mint(org, TOKEN, member.token);
    const seen = async (person: Person) => {
      const { body } = await api.request("GET", tokensOf(org), { token: person.token });
      return body.items.map((item: { id: string }) => item.id);
    };
    expect(await seen(admin)).toEqual([owners.body.id, members.body.id]);
    expect(await seen(member)).toEqual([members.body.id]);
    const foreign = `${tokensOf(org)}/${owners.body.id}`;
    expect((await api.request("GET", foreign, { token: member.token })).status).toBe(404);
    expect((await api.request("DELETE", foreign, { token: member.token })).status).toBe(404);
  });

  test("a revoked token is refused at once and no longer listed", async () => {
    const org = await makeOrganization(api, issuer);
    const { body } = await mint(org);
    expect((await use(org, body.token)).status).toBe(200);
    const path = `${tokensOf(org)}/${body.id}`;
    const stale = { token: org.owner.token, headers: { "if-match": '"7"' } };
    expect((await api.request("DELETE", path, stale)).status).toBe(412);
    expect((await api.request("DELETE", path, { token: org.owner.token })).status).toBe(204);
    expect((await use(org, body.token)).status).toBe(401);
    expect((await api.request("GET", path, { token: org.owner.token })).status).toBe(404);
    expect((await api.request("DELETE", path, { token: org.owner.token })).status).toBe(404);
  });

  test("last_used_at is exact to a minute and written at most once in it", async () => {
    const org = await makeOrganization(api, issuer);
    const { body } = await mint(org);
    const read = async () =>
      (await api.request("GET", `${tokensOf(org)}/${body.id}`, { token: org.owner.token })).body.last_used_at;
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

test("the audit log names the token that acted, and what was created, rotated and revoked", async () => {
  const org = await makeOrganization(api, issuer);
  const { body } = await mint(org, { ...TOKEN, scopes: ["organization:write"], role: "owner" });
  await api.request("PUT", `${ORGANIZATIONS}/${org.id}`, { token: body.token, body: { name: "By token" } });
  await api.request("POST", `${tokensOf(org)}/${body.id}/rotate`, { token: org.owner.token });
  await api.request("DELETE", `${tokensOf(org)}/${body.id}`, { token: org.owner.token });
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
