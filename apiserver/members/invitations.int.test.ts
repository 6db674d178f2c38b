import { and, eq, inArray, sql } from "drizzle-orm";
import { describe, expect, onTestFinished, test } from "vitest";
import { setUp } from "../../e2e/testing/set-up.ts";
import { createId } from "../../shared/program/id.ts";
import { auditLog } from "../audit/table.ts";
import { organizations } from "../organizations/table.ts";
import {
  addPerson,
  answerInvitation,
  makeOrganization,
  startTestIssuer,
  type TestOrganization,
} from "../testing/issuer.ts";
import { setUpTestService } from "../testing/service.ts";
import { members } from "./table.ts";

const distrusted = setUp(() => startTestIssuer({ trustEmail: false }));
const { api, issuer } = setUpTestService(() => ({ issuers: [distrusted.config] }));

const ORGANIZATIONS = "/api/v1/organizations";
const DAY_MS = 86_400_000;
/** Pending invitations of one user. */
const LIMIT = 3;
const PLENTY = 10_000;

const membersOf = (org: TestOrganization) => `${org.path}/members`;

const invite = (org: TestOrganization, email: string, role = "member", token = org.owner.token) =>
  api.request("POST", membersOf(org), { token, body: { email, role } });

const answersTo = (memberId: string) =>
  api.deps.db
    .select()
    .from(auditLog)
    .where(
      and(eq(auditLog.targetId, memberId), inArray(auditLog.action, ["member.accept", "member.decline"])),
    );

describe("inviting a member", () => {
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
  test("is in GET /me of the person with that verified address, with organization, role and end", async () => {
    const org = await makeOrganization(api, issuer, { name: "Inviting Ltd" });
    const person = await issuer.createPerson();
    const { body } = await invite(org, person.email.toUpperCase(), "billing");
    const me = await api.request("GET", "/api/v1/me", { token: person.token });
    expect(me.body.invitations).toEqual([
      {
        id: body.id,
        org_id: org.id,
        organization_name: "Inviting Ltd",
        role: "billing",
        expires_at: body.expires_at,
        created_at: body.created_at,
      },
    ]);
    const others = await api.request("GET", "/api/v1/me", { token: org.owner.token });
    expect(others.body.invitations).toEqual([]);
  });

  test("makes nobody a member who does not accept it, whatever is read", async () => {
    const org = await makeOrganization(api, issuer);
    const person = await issuer.createPerson();
    const { body } = await invite(org, person.email);
    const read = (path: string) => api.request("GET", path, { token: person.token });
    expect((await read("/api/v1/me")).body.organizations).toEqual([]);
    expect((await read(ORGANIZATIONS)).body.items).toEqual([]);
    expect((await read(org.path)).status).toBe(404);
    const member = await api.request("GET", `${membersOf(org)}/${body.id}`, { token: org.owner.token });
    expect(member.body).toMatchObject({ user_id: null, accepted_at: null });
  });

  test("is accepted: the person is a member, and the audit row has no source address", async () => {
    const org = await makeOrganization(api, issuer);
    const person = await issuer.createPerson();
    const { body } = await invite(org, person.email);
    const accepted = await answerInvitation(api, org.id, person);
    expect(accepted).toMatchObject({
      status: 200,
      body: { id: body.id, user_id: person.userId, expires_at: null },
    });
    expect(Date.parse(accepted.body.accepted_at)).toBeLessThanOrEqual(Date.now() + 1000);
    const list = await api.request("GET", membersOf(org), { token: person.token });
    expect(list.body.items).toContainEqual(accepted.body);
    const me = await api.request("GET", "/api/v1/me", { token: person.token });
    expect([me.body.organizations.length, me.body.invitations.length]).toEqual([1, 0]);
    const [row] = await answersTo(body.id);
    expect(row).toMatchObject({ action: "member.accept", sourceAddress: null });
  });

  test("is declined: it is gone, the row has no source address, and another can be sent", async () => {
    const org = await makeOrganization(api, issuer);
    const person = await issuer.createPerson();
    const { body } = await invite(org, person.email);
    expect((await answerInvitation(api, org.id, person, "decline")).status).toBe(204);
    const read = await api.request("GET", `${membersOf(org)}/${body.id}`, { token: org.owner.token });
    expect(read.status).toBe(404);
    const [row] = await answersTo(body.id);
    expect(row).toMatchObject({ action: "member.decline", sourceAddress: null, before: { role: "member" } });
    expect((await answerInvitation(api, org.id, person)).status).toBe(404);
    expect((await invite(org, person.email)).status).toBe(201);
  });

  test("is accepted once by ten requests at the same time", async () => {
    const org = await makeOrganization(api, issuer);
    const person = await issuer.createPerson();
    const { body } = await invite(org, person.email);
    const path = `/api/v1/me/invitations/${body.id}/accept`;
    const responses = await Promise.all(
      Array.from({ length: 10 }, () => api.request("POST", path, { token: person.token })),
    );
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(responses.filter(({ status }) => status === 404)).toHaveLength(9);
    expect(await answersTo(body.id)).toHaveLength(1);
  });

  test.each([
    ["an address that is not verified", () => issuer.createPerson({ claims: { email_verified: false } })],
    ["the word of an issuer whose addresses are not trusted", () => distrusted.createPerson()],
    ["another address", () => issuer.createPerson({ claims: { email: "other@example.com" } })],
  ])("is neither shown nor answered on %s", async (_what, createPerson) => {
    const org = await makeOrganization(api, issuer);
    const person = await createPerson();
    const { body } = await invite(org, person.email);
    const me = await api.request("GET", "/api/v1/me", { token: person.token });
    expect(me.body.invitations).toEqual([]);
    for (const answer of ["accept", "decline"]) {
      const path = `/api/v1/me/invitations/${body.id}/${answer}`;
      expect((await api.request("POST", path, { token: person.token })).status).toBe(404);
    }
    expect((await api.request("GET", membersOf(org), { token: person.token })).status).toBe(404);
  });

  test("ends after 14 days, and runs again when it is sent again", async () => {
    const org = await makeOrganization(api, issuer);
    const person = await issuer.createPerson();
    const { body } = await invite(org, person.email);
    await api.deps.db
      .update(members)
      .set({ expiresAt: sql`now() - interval '1 second'` })
      .where(eq(members.id, body.id));
    expect((await answerInvitation(api, org.id, person)).status).toBe(404);
    expect((await invite(org, person.email)).status).toBe(409);

    const renewed = await api.request("POST", `${membersOf(org)}/${body.id}/resend`, {
      token: org.owner.token,
    });
    expect(renewed.status).toBe(200);
    expect(Date.parse(renewed.body.expires_at)).toBeGreaterThan(Date.now() + 13 * DAY_MS);
    expect(renewed.headers.get("etag")).toBe('"2"');
    expect((await answerInvitation(api, org.id, person)).status).toBe(200);
  });

  test("beyond the limit of pending ones of a user, which GET /me shows, is 422, in all organizations, until one is answered", async () => {
    const inviter = await issuer.createPerson();
    const orgs: TestOrganization[] = [];
    for (let n = 0; n < LIMIT + 3; n++) {
      const org = await makeOrganization(api, issuer);
      await addPerson(api.deps, org.id, inviter, "admin");
      orgs.push(org);
    }
    const invitee = await issuer.createPerson();
    api.deps.config.maxInvitationsPerUser = LIMIT;
    onTestFinished(() => {
      api.deps.config.maxInvitationsPerUser = PLENTY;
    });
    const send = (org: TestOrganization) => invite(org, invitee.email, "member", inviter.token);
    const responses = await Promise.all(orgs.map(send));
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(LIMIT);
    const refused = responses.filter(({ status }) => status === 422);
    expect(refused).toHaveLength(3);
    expect(refused[0]?.body.error).toMatchObject({
      code: "quota_exceeded",
      details: [{ field: "pending_invitations", code: "out_of_range" }],
    });
    const me = await api.request("GET", "/api/v1/me", { token: inviter.token });
    expect(me.body.quotas).toEqual([{ name: "pending_invitations", limit: LIMIT, used: LIMIT }]);
    const answered = orgs[responses.findIndex(({ status }) => status === 201)];
    const waiting = orgs[responses.findIndex(({ status }) => status === 422)] as TestOrganization;
    // Another user of the same organization is not limited, nor is the address.
    const other = await invite(waiting, invitee.email);
    expect(other.status).toBe(201);
    const resend = await api.request("POST", `${membersOf(waiting)}/${other.body.id}/resend`, {
      token: inviter.token,
    });
    expect(resend.body.error.code).toBe("quota_exceeded");
    await answerInvitation(api, answered?.id ?? "", invitee, "decline");
    expect((await invite(waiting, "another@example.com", "member", inviter.token)).status).toBe(201);
  });

  test("that was accepted cannot be sent again", async () => {
    const org = await makeOrganization(api, issuer);
    const { token } = org.owner;
    const [{ id }] = (await api.request("GET", membersOf(org), { token })).body.items;
    const response = await api.request("POST", `${membersOf(org)}/${id}/resend`, { token });
    expect(response.body.error.code).toBe("conflict");
  });

  test("that was taken back opens nothing", async () => {
    const org = await makeOrganization(api, issuer);
    const person = await issuer.createPerson();
    const { body } = await invite(org, person.email);
    const removal = await api.request("DELETE", `${membersOf(org)}/${body.id}`, { token: org.owner.token });
    expect(removal.status).toBe(204);
    const path = `/api/v1/me/invitations/${body.id}/accept`;
    expect((await api.request("POST", path, { token: person.token })).status).toBe(404);
  });
});

test("of more than 1,000 invitations of an address the newest are shown, the newest first", async () => {
  const person = await issuer.createPerson();
  const invited = Array.from({ length: 1001 }, () => ({ id: createId(), orgId: createId() }));
  await api.deps.db
    .insert(organizations)
    .values(invited.map(({ orgId }) => ({ id: orgId, name: "Inviting", slug: `inviting-${orgId}` })));
  const expiresAt = new Date(Date.now() + DAY_MS);
  await api.deps.db
    .insert(members)
    .values(invited.map((ids) => ({ ...ids, email: person.email, role: "viewer" as const, expiresAt })));
  const { body } = await api.request("GET", "/api/v1/me", { token: person.token });
  const shown = body.invitations.map(({ id }: { id: string }) => id);
  expect(shown).toEqual(
    invited
      .slice(1)
      .map(({ id }) => id)
      .toReversed(),
  );
});
