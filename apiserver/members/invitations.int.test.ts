import { and, eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auditLog } from "../audit/table.ts";
import { startTestApp, type TestApp } from "../testing/app.ts";
import {
  addPerson,
  makeOrganization,
  type Person,
  startTestIssuer,
  type TestIssuer,
  type TestOrganization,
} from "../testing/issuer.ts";
import { members } from "./table.ts";

let issuer: TestIssuer;
let distrusted: TestIssuer;
let api: TestApp;
beforeAll(async () => {
  issuer = await startTestIssuer();
  distrusted = await startTestIssuer({ trustEmail: false });
  api = await startTestApp({ issuers: [issuer.config, distrusted.config] });
});
afterAll(async () => {
  await api.close();
  issuer.close();
  distrusted.close();
});

const ORGANIZATIONS = "/api/v1/organizations";
const DAY_MS = 86_400_000;

const membersOf = (org: TestOrganization) => `${org.path}/members`;

const invite = (org: TestOrganization, email: string, role = "member", token = org.owner.token) =>
  api.request("POST", membersOf(org), { token, body: { email, role } });

async function ownRecord(org: TestOrganization, person: Person) {
  const { body } = await api.request("GET", membersOf(org), { token: person.token });
  return body.items.find((item: { user_id: string }) => item.user_id === person.userId);
}

describe("inviting a member (section 4.11)", () => {
  test("returns 201 with the member, its location and its version", async () => {
    const org = await makeOrganization(api, issuer);
    const response = await invite(org, "new@example.com", "billing");
    expect(response.status).toBe(201);
    expect(response.body).toMatchObject({
      org_id: org.id,
      user_id: null,
      email: "new@example.com",
      role: "billing",
      invited_by: org.owner.userId,
      accepted_at: null,
    });
    const days = (Date.parse(response.body.expires_at) - Date.now()) / DAY_MS;
    expect(days).toBeGreaterThan(13.9);
    expect(days).toBeLessThanOrEqual(14);
    expect(response.headers.get("location")).toBe(`${membersOf(org)}/${response.body.id}`);
    expect(response.headers.get("etag")).toBe('"1"');
  });

  test("twice is 409 already_exists, however the address is written", async () => {
    const org = await makeOrganization(api, issuer);
    await invite(org, "Twice@example.com");
    const again = await invite(org, "twice@EXAMPLE.com");
    expect(again.status).toBe(409);
    expect(again.body.error).toMatchObject({
      code: "already_exists",
      details: [{ field: "email", code: "duplicate" }],
    });
  });

  test("twenty times at once creates one invitation", async () => {
    const org = await makeOrganization(api, issuer);
    const responses = await Promise.all(Array.from({ length: 20 }, () => invite(org, "crowd@example.com")));
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(responses.filter(({ status }) => status === 409)).toHaveLength(19);
  });

  test("an owner is for owners alone", async () => {
    const org = await makeOrganization(api, issuer);
    const admin = await issuer.createPerson();
    await addPerson(api.deps, org.id, admin, "admin");
    const refused = await invite(org, "boss@example.com", "owner", admin.token);
    expect(refused.status).toBe(403);
    expect(refused.body.error.message).toContain("members:grant_owner");
    expect((await invite(org, "boss@example.com", "owner")).status).toBe(201);
  });

  test.each([
    [{ role: "member" }, "email/required"],
    [{ email: "nobody", role: "member" }, "email/invalid_format"],
    [{ email: "a@example.com", role: "king" }, "role/invalid_enum"],
    [{ email: "a@example.com", role: "member", extra: 1 }, "extra/unknown_field"],
  ])("with %j is 422 %s", async (body, fault) => {
    const org = await makeOrganization(api, issuer);
    const response = await api.request("POST", membersOf(org), { token: org.owner.token, body });
    expect(response.status).toBe(422);
    expect(response.body.error.message.startsWith(fault)).toBe(true);
  });
});

describe("an invitation", () => {
  test.each([
    ["a request to the organization", (org: TestOrganization) => `${ORGANIZATIONS}/${org.id}`],
    ["GET /me", () => "/api/v1/me"],
    ["GET /organizations", () => ORGANIZATIONS],
  ])("is accepted by %s of a person with that verified address", async (_what, path) => {
    const org = await makeOrganization(api, issuer);
    const person = await issuer.createPerson();
    const { body } = await invite(org, person.email.toUpperCase());
    expect((await api.request("GET", path(org), { token: person.token })).status).toBe(200);
    const member = await ownRecord(org, person);
    expect(member).toMatchObject({ id: body.id, user_id: person.userId, expires_at: null });
    expect(Date.parse(member.accepted_at)).toBeLessThanOrEqual(Date.now() + 1000);
    const rows = await api.deps.db
      .select({ action: auditLog.action })
      .from(auditLog)
      .where(and(eq(auditLog.targetId, body.id), eq(auditLog.action, "member.accept")));
    expect(rows).toHaveLength(1);
  });

  test("is accepted once by ten requests at the same time, and all of them get in", async () => {
    const org = await makeOrganization(api, issuer);
    const person = await issuer.createPerson();
    const { body } = await invite(org, person.email);
    const responses = await Promise.all(
      Array.from({ length: 10 }, () => api.request("GET", membersOf(org), { token: person.token })),
    );
    expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200));
    const rows = await api.deps.db.select().from(auditLog).where(eq(auditLog.targetId, body.id));
    expect(rows.filter(({ action }) => action === "member.accept")).toHaveLength(1);
  });

  test.each([
    ["an address that is not verified", () => issuer.createPerson({ claims: { email_verified: false } })],
    ["the word of an issuer whose addresses are not trusted", () => distrusted.createPerson()],
    ["another address", () => issuer.createPerson({ claims: { email: "other@example.com" } })],
  ])("is not accepted on %s", async (_what, createPerson) => {
    const org = await makeOrganization(api, issuer);
    const person = await createPerson();
    await invite(org, person.email);
    expect((await api.request("GET", membersOf(org), { token: person.token })).status).toBe(404);
    const me = await api.request("GET", "/api/v1/me", { token: person.token });
    expect(me.body.organizations).toEqual([]);
    const list = await api.request("GET", ORGANIZATIONS, { token: person.token });
    expect(list.body.items).toEqual([]);
  });

  test("ends after 14 days, and runs again when it is sent again", async () => {
    const org = await makeOrganization(api, issuer);
    const person = await issuer.createPerson();
    const { body } = await invite(org, person.email);
    await api.deps.db
      .update(members)
      .set({ expiresAt: sql`now() - interval '1 second'` })
      .where(eq(members.id, body.id));
    expect((await api.request("GET", membersOf(org), { token: person.token })).status).toBe(404);
    expect((await invite(org, person.email)).status).toBe(409);

    const renewed = await api.request("POST", `${membersOf(org)}/${body.id}/resend`, {
      token: org.owner.token,
    });
    expect(renewed.status).toBe(200);
    expect(Date.parse(renewed.body.expires_at)).toBeGreaterThan(Date.now() + 13 * DAY_MS);
    expect(renewed.headers.get("etag")).toBe('"2"');
    expect((await api.request("GET", membersOf(org), { token: person.token })).status).toBe(200);
  });

  test("that was accepted cannot be sent again", async () => {
    const org = await makeOrganization(api, issuer);
    const { id } = await ownRecord(org, org.owner);
    const response = await api.request("POST", `${membersOf(org)}/${id}/resend`, { token: org.owner.token });
    expect(response.body.error.code).toBe("conflict");
  });

  test("that was taken back opens nothing", async () => {
    const org = await makeOrganization(api, issuer);
    const person = await issuer.createPerson();
    const { body } = await invite(org, person.email);
    const removal = await api.request("DELETE", `${membersOf(org)}/${body.id}`, { token: org.owner.token });
    expect(removal.status).toBe(204);
    expect((await api.request("GET", membersOf(org), { token: person.token })).status).toBe(404);
  });
});
