import { and, eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { setUp } from "../../e2e/testing/set-up.ts";
import { createId } from "../../shared/program/id.ts";
import { auditLog } from "../audit/table.ts";
import {
  addPerson,
  makeOrganization,
  type Person,
  startTestIssuer,
  type TestOrganization,
} from "../testing/issuer.ts";
import { setUpTestService } from "../testing/service.ts";
import { members } from "./table.ts";

const distrusted = setUp(() => startTestIssuer({ trustEmail: false }));
const { api, issuer } = setUpTestService(() => ({ issuers: [distrusted.config] }));

const membersOf = (org: TestOrganization) => `${org.path}/members`;

const invite = (org: TestOrganization, email: string, role = "member", token = org.owner.token) =>
  api.request("POST", membersOf(org), { token, body: { email, role } });

async function ownRecord(org: TestOrganization, person: Person) {
  const { body } = await api.request("GET", membersOf(org), { token: person.token });
  return body.items.find((item: { user_id: string }) => item.user_id === person.userId);
}

describe("changing a member", () => {
  test("changes the role at the next request, and nothing else", async () => {
    const org = await makeOrganization(api, issuer);
    const person = await issuer.createPerson();
    const id = await addPerson(api.deps, org.id, person, "admin");
    const read = await api.request("GET", `${membersOf(org)}/${id}`, { token: org.owner.token });
    const response = await api.request("PUT", `${membersOf(org)}/${id}`, {
      token: org.owner.token,
      body: { ...read.body, role: "viewer" },
    });
    expect(response.status).toBe(200);
    expect(response.body).toEqual({ ...read.body, role: "viewer" });
    expect(response.headers.get("etag")).toBe('"2"');
    expect((await invite(org, "late@example.com", "viewer", person.token)).status).toBe(403);
  });

  test("with another e-mail address is 422 email/immutable", async () => {
    const org = await makeOrganization(api, issuer);
    const id = await addPerson(api.deps, org.id, await issuer.createPerson(), "viewer");
    const response = await api.request("PUT", `${membersOf(org)}/${id}`, {
      token: org.owner.token,
      body: { email: "other@example.com", org_id: createId() },
    });
    expect(response.status).toBe(422);
    expect(response.body.error.details.map((detail: { field: string }) => detail.field)).toEqual([
      "org_id",
      "email",
    ]);
    expect(response.body.error.details[0].code).toBe("immutable");
  });

  test("with an old version is 412, and two changes of one version never both succeed", async () => {
    const org = await makeOrganization(api, issuer);
    const id = await addPerson(api.deps, org.id, await issuer.createPerson(), "viewer");
    const change = (role: string) =>
      api.request("PUT", `${membersOf(org)}/${id}`, {
        token: org.owner.token,
        body: { role },
        headers: { "if-match": '"1"' },
      });
    const responses = await Promise.all([change("member"), change("admin"), change("billing")]);
    expect(responses.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 412, 412]);
  });

  test("an admin cannot appoint, change or remove an owner", async () => {
    const org = await makeOrganization(api, issuer);
    const admin = await issuer.createPerson();
    const adminId = await addPerson(api.deps, org.id, admin, "admin");
    const { id: ownerId } = await ownRecord(org, org.owner);
    const as = { token: admin.token };
    const change = (id: string, role: string) =>
      api.request("PUT", `${membersOf(org)}/${id}`, { ...as, body: { role } });
    expect((await change(adminId, "owner")).status).toBe(403);
    expect((await change(ownerId, "viewer")).status).toBe(403);
    expect((await api.request("DELETE", `${membersOf(org)}/${ownerId}`, as)).status).toBe(403);
    expect((await change(adminId, "member")).status).toBe(200);
  });

  test("returns 304 for the current version", async () => {
    const org = await makeOrganization(api, issuer);
    const { id } = await ownRecord(org, org.owner);
    const read = await api.request("GET", `${membersOf(org)}/${id}`, { token: org.owner.token });
    const again = await api.request("GET", `${membersOf(org)}/${id}`, {
      token: org.owner.token,
      headers: { "if-none-match": read.headers.get("etag") ?? "" },
    });
    expect(again.status).toBe(304);
  });
});

describe("the last owner", () => {
  test("can neither leave nor be demoted: 409 last_owner", async () => {
    const org = await makeOrganization(api, issuer);
    await invite(org, "not-yet@example.com", "owner");
    const { id } = await ownRecord(org, org.owner);
    const demotion = await api.request("PUT", `${membersOf(org)}/${id}`, {
      token: org.owner.token,
      body: { role: "admin" },
    });
    expect([demotion.status, demotion.body.error.code]).toEqual([409, "last_owner"]);
    const leaving = await api.request("DELETE", `${membersOf(org)}/${id}`, { token: org.owner.token });
    expect([leaving.status, leaving.body.error.code]).toEqual([409, "last_owner"]);
  });

  test.each(Array.from({ length: 5 }, (_, round) => [round]))(
    "stays when all owners step down and leave at once (round %i)",
    async () => {
      const org = await makeOrganization(api, issuer);
      const owners = [org.owner, ...(await Promise.all([1, 2, 3].map(() => issuer.createPerson())))];
      for (const person of owners.slice(1)) await addPerson(api.deps, org.id, person, "owner");
      const { body } = await api.request("GET", membersOf(org), { token: org.owner.token });
      const responses = await Promise.all(
        owners.map(({ userId, token }, index) => {
          const own = body.items.find((item: { user_id: string }) => item.user_id === userId);
          return index % 2 === 0
            ? api.request("PUT", `${membersOf(org)}/${own.id}`, { token, body: { role: "viewer" } })
            : api.request("DELETE", `${membersOf(org)}/${own.id}`, { token });
        }),
      );
      const left = await api.deps.db
        .select()
        .from(members)
        .where(and(eq(members.orgId, org.id), eq(members.role, "owner")));
      expect(left).toHaveLength(1);
      expect(responses.filter(({ status }) => status < 300)).toHaveLength(3);
      expect(responses.filter(({ body: { error } }) => error?.code === "last_owner")).toHaveLength(1);
    },
  );
});

test("two owners who demote each other at once leave one of them", async () => {
  for (let round = 0; round < 5; round++) {
    const org = await makeOrganization(api, issuer);
    const other = await issuer.createPerson();
    const otherId = await addPerson(api.deps, org.id, other, "owner");
    const { id } = await ownRecord(org, org.owner);
    await Promise.all([
      api.request("PUT", `${membersOf(org)}/${otherId}`, {
        token: org.owner.token,
        body: { role: "viewer" },
      }),
      api.request("PUT", `${membersOf(org)}/${id}`, { token: other.token, body: { role: "viewer" } }),
    ]);
    const left = await api.deps.db
      .select()
      .from(members)
      .where(and(eq(members.orgId, org.id), eq(members.role, "owner")));
    expect(left).toHaveLength(1);
  }
});

describe("leaving", () => {
  test("is everybody's right, and ends every right", async () => {
    const org = await makeOrganization(api, issuer);
    const viewer = await issuer.createPerson();
    const id = await addPerson(api.deps, org.id, viewer, "viewer");
    const left = await api.request("DELETE", `${membersOf(org)}/${id}`, { token: viewer.token });
    expect(left.status).toBe(204);
    expect((await api.request("GET", membersOf(org), { token: viewer.token })).status).toBe(404);
  });

  test("for others is not", async () => {
    const org = await makeOrganization(api, issuer);
    const [viewer, other] = [await issuer.createPerson(), await issuer.createPerson()];
    await addPerson(api.deps, org.id, viewer, "viewer");
    const id = await addPerson(api.deps, org.id, other, "viewer");
    const refused = await api.request("DELETE", `${membersOf(org)}/${id}`, { token: viewer.token });
    expect(refused.status).toBe(403);
  });
});

describe("GET /me", () => {
  test("returns a person's organizations, roles and their permissions", async () => {
    const org = await makeOrganization(api, issuer);
    const viewer = await issuer.createPerson();
    await addPerson(api.deps, org.id, viewer, "viewer");
    const { body } = await api.request("GET", "/api/v1/me", { token: viewer.token });
    expect(body.principal).toEqual({
      kind: "user",
      id: viewer.userId,
      email: viewer.email,
      email_verified: true,
      realm_roles: [],
    });
    expect(body.organizations).toEqual([
      expect.objectContaining({
        id: org.id,
        role: "viewer",
        permissions: expect.arrayContaining(["clusters:read"]),
      }),
    ]);
    expect(body.organizations[0].permissions).not.toContain("clusters:create");
    expect(body.roles).toHaveLength(5);
    expect(body.scopes).toContain("clusters:write");
  });
});

test("a subject belongs to the issuer that presented it first; from another it is 401", async () => {
  const person = await issuer.createPerson();
  expect((await api.request("GET", "/api/v1/me", { token: person.token })).status).toBe(200);
  const impostor = await distrusted.sign(person);
  expect((await api.request("GET", "/api/v1/me", { token: impostor })).status).toBe(401);
});

test("every change of a member leaves one audit row with what was before and after", async () => {
  const org = await makeOrganization(api, issuer);
  const { body } = await invite(org, "audited@example.com", "viewer");
  const path = `${membersOf(org)}/${body.id}`;
  const as = { token: org.owner.token };
  await api.request("POST", `${path}/resend`, as);
  await api.request("PUT", path, { ...as, body: { role: "member" } });
  await api.request("PUT", path, { ...as, body: { role: "member" } });
  await api.request("DELETE", path, as);
  const rows = await api.deps.db
    .select({ action: auditLog.action, before: auditLog.before, after: auditLog.after })
    .from(auditLog)
    .where(eq(auditLog.targetId, body.id))
    .orderBy(auditLog.id);
  expect(rows.map(({ action }) => action)).toEqual([
    "member.invite",
    "member.resend",
    "member.update",
    "member.remove",
  ]);
  expect([rows[2]?.before?.role, rows[2]?.after?.role]).toEqual(["viewer", "member"]);
});

test("a page of members stays complete while members are added and removed", async () => {
  const org = await makeOrganization(api, issuer);
  const emails = Array.from({ length: 9 }, (_, index) => `page-${index}@example.com`);
  for (const email of emails) await invite(org, email);
  const seen: string[] = [];
  let cursor = "";
  for (let page = 0; page < 20; page++) {
    const { body } = await api.request("GET", `${membersOf(org)}?limit=3${cursor}`, {
      token: org.owner.token,
    });
    seen.push(...body.items.map((item: { email: string }) => item.email));
    if (body.next_cursor === null) break;
    cursor = `&cursor=${body.next_cursor}`;
    const last = body.items.at(-1).id;
    // The row that the cursor names goes, and a new one comes.
    await api.request("DELETE", `${membersOf(org)}/${last}`, { token: org.owner.token });
    await invite(org, `late-${page}@example.com`);
  }
  expect(new Set(seen).size).toBe(seen.length);
  expect(seen).toEqual(expect.arrayContaining(emails));
  expect(seen).toContain("late-0@example.com");
});
