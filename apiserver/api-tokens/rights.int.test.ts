import { eq, sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { SCOPES } from "../http/authorization/permissions.ts";
import { members } from "../members/table.ts";
import { addPerson, makeOrganization, type TestOrganization } from "../testing/issuer.ts";
import { setUpTestService } from "../testing/service.ts";
import { mintToken } from "./secret.ts";
import { apiTokens } from "./table.ts";
import { consumeVerifiedMembership, createApiTokenVerifier } from "./verify.ts";

const { api, issuer } = setUpTestService();

const ORGANIZATIONS = "/api/v1/organizations";
const DAY_MS = 86_400_000;
const tokensOf = (org: TestOrganization) => `${org.path}/api-tokens`;
const TOKEN = { name: "deploy", role: "member", scopes: ["clusters:write"] };

const mint = (org: TestOrganization, sent: object = TOKEN, token = org.owner.token, headers = {}) =>
  api.request("POST", tokensOf(org), { token, body: sent, headers });
const use = (org: TestOrganization, token: string, path = "clusters") =>
  api.request("GET", `${ORGANIZATIONS}/${org.id}/${path}`, { token });

test("what was read to verify a token answers once: asked again, as a stream does, a revoked one has no rights", async () => {
  const org = await makeOrganization(api, issuer);
  const { body } = await mint(org);
  const principal = await createApiTokenVerifier(api.deps).verify(body.token);
  if (principal === undefined) throw new Error("a new token is not valid");
  await api.request("DELETE", `${tokensOf(org)}/${body.id}`, { token: org.owner.token });
  const ask = () => consumeVerifiedMembership(api.deps, principal, org.id);
  expect(await ask()).toMatchObject({ orgId: org.id, role: "member" });
  expect(await ask()).toBeUndefined();
});

describe("an API token's rights", () => {
  test("are its scopes, within its role, within its creator's role now", async () => {
    const org = await makeOrganization(api, issuer);
    const person = await issuer.createPerson();
    const memberId = await addPerson(api.deps, org.id, person, "admin");
    const { body } = await mint(
      org,
      { ...TOKEN, role: "admin", scopes: ["clusters:read", "audit:read"] },
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
    const org = await makeOrganization(api, issuer);
    const person = await issuer.createPerson();
    const memberId = await addPerson(api.deps, org.id, person, "member");
    const { body } = await mint(org, { ...TOKEN, scopes: ["clusters:read"] }, person.token);
    expect((await use(org, body.token)).status).toBe(200);
    await api.request("DELETE", `${ORGANIZATIONS}/${org.id}/members/${memberId}`, {
      token: org.owner.token,
    });
    expect((await use(org, body.token)).status).toBe(401);
    await addPerson(api.deps, org.id, person, "member");
    expect((await use(org, body.token)).status).toBe(401);
  });

  test("end when the membership is deleted from the table, whoever deleted it", async () => {
    const org = await makeOrganization(api, issuer);
    const person = await issuer.createPerson();
    const memberId = await addPerson(api.deps, org.id, person, "member");
    const { body } = await mint(org, { ...TOKEN, scopes: ["clusters:read"] }, person.token);
    await api.deps.db.delete(members).where(eq(members.id, memberId));
    expect((await use(org, body.token)).status).toBe(401);
  });

  test("never reach tokens, members, new organizations or /admin, even an owner's with every scope", async () => {
    const org = await makeOrganization(api, issuer);
    const { body } = await mint(org, { name: "all", role: "owner", scopes: [...SCOPES] });
    const { token } = body;
    const member = `${ORGANIZATIONS}/${org.id}/members`;
    const invitation = await api.request("POST", member, {
      token: org.owner.token,
      body: { email: "x@example.com", role: "viewer" },
    });
    const tries: [string, string, object?][] = [
      ["POST", tokensOf(org), TOKEN],
      ["GET", tokensOf(org)],
      ["POST", `${tokensOf(org)}/${body.id}/rotate`],
      ["DELETE", `${tokensOf(org)}/${body.id}`],
      ["POST", member, { email: "y@example.com", role: "viewer" }],
      ["PUT", `${member}/${invitation.body.id}`, { role: "admin" }],
      ["DELETE", `${member}/${invitation.body.id}`],
      ["POST", `${member}/${invitation.body.id}/resend`],
      ["POST", ORGANIZATIONS, { name: "Mine" }],
      ["DELETE", `${ORGANIZATIONS}/${org.id}`],
      ["GET", "/api/v1/admin/audit-log"],
    ];
    for (const [method, path, sent] of tries) {
      const response = await api.request(method, path, {
        token,
        ...(sent === undefined ? {} : { body: sent }),
      });
      expect(`${method} ${path} ${response.status}`).toBe(`${method} ${path} 403`);
    }
  });

  test("are returned by GET /me, and its organization by GET /organizations", async () => {
    const org = await makeOrganization(api, issuer);
    const { body } = await mint(org, { ...TOKEN, scopes: ["organization:read", "network:write"] });
    const me = await api.request("GET", "/api/v1/me", { token: body.token });
    expect(me.body).toMatchObject({ principal: { kind: "token", id: body.id, email: null }, quotas: [] });
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
    const org = await makeOrganization(api, issuer);
    const { body } = await mint(org);
    const last = body.token.at(-1) === "0" ? "1" : "0";
    expect((await use(org, body.token.slice(0, -1) + last)).status).toBe(401);
  });

  test("of the right form but never given out is 401, also with the id of a real one", async () => {
    const org = await makeOrganization(api, issuer);
    const { body } = await mint(org);
    expect((await use(org, mintToken(body.id).text)).status).toBe(401);
    expect((await use(org, mintToken(org.id).text)).status).toBe(401);
  });

  test("is another one after a rotation, and the old one is refused at once", async () => {
    const org = await makeOrganization(api, issuer);
    const { body } = await mint(org, { ...TOKEN, expires_in_days: 10 });
    await api.deps.sql`update api_tokens set created_at = created_at - interval '5 days',
      expires_at = expires_at - interval '5 days' where id = ${body.id}`;
    const rotated = await api.request("POST", `${tokensOf(org)}/${body.id}/rotate`, {
      token: org.owner.token,
    });
    expect(rotated.status).toBe(200);
    expect(rotated.body.id).toBe(body.id);
    expect(Math.round((Date.parse(rotated.body.expires_at) - Date.now()) / DAY_MS)).toBe(10);
    expect((await use(org, body.token)).status).toBe(401);
    expect((await use(org, rotated.body.token)).status).toBe(200);
  });

  test("can be rotated by its creator alone: it acts in that person's name", async () => {
    const org = await makeOrganization(api, issuer);
    const admin = await issuer.createPerson();
    await addPerson(api.deps, org.id, admin, "admin");
    const { body } = await mint(org);
    const response = await api.request("POST", `${tokensOf(org)}/${body.id}/rotate`, { token: admin.token });
    expect(response.status).toBe(403);
  });

  test("ends at its time", async () => {
    const org = await makeOrganization(api, issuer);
    const { body } = await mint(org);
    await api.deps.db.update(apiTokens).set({ expiresAt: sql`now()` }).where(eq(apiTokens.id, body.id));
    expect((await use(org, body.token)).status).toBe(401);
  });
});
