import { and, eq } from "drizzle-orm";
import { decodeJwt } from "jose";
import { describe, expect, test } from "vitest";
import { mintFor } from "../../api-tokens/testing.ts";
import { auditLog } from "../../audit/table.ts";
import { addPerson, answerInvitation, makeOrganization, type Person } from "../../testing/issuer.ts";
import { createGroupPerson, mapGroup, passTime, runGroupJobs, setUpGroupService } from "./testing.ts";

const DAY_SECONDS = 86_400;
const HOUR_SECONDS = 3600;
const { api, issuer, other, org, as, findMember, readRoles, makeGroupMember } = setUpGroupService({
  trustEmail: false,
});

async function readAudit({ userId }: Person): Promise<unknown[]> {
  const rows = await api.deps.db
    .select()
    .from(auditLog)
    .where(and(eq(auditLog.orgId, org.id), eq(auditLog.targetKind, "member")));
  return rows.flatMap(({ action, actor, before, after, requestId }) =>
    (after ?? before)?.user_id === userId
      ? [{ action, actor, requestId, role: (after ?? before)?.role }]
      : [],
  );
}

describe("a person whose token carries a mapped group", () => {
  test("is a member from the first request on, until the token's expiry and a day more", async () => {
    const person = await makeGroupMember("admin");
    const record = await findMember(person);
    const { exp = 0 } = decodeJwt(person.token);
    const expiresAt = new Date((exp + DAY_SECONDS) * 1000).toISOString();
    expect(record).toMatchObject({
      email: person.email,
      role: "admin",
      source: "group",
      invited_by: null,
      accepted_at: null,
      expires_at: expiresAt,
    });
    const { body } = await api.request("GET", "/api/v1/me", { token: person.token });
    expect(body.organizations).toMatchObject([{ id: org.id, role: "admin", expires_at: expiresAt }]);
    const list = await api.request("GET", "/api/v1/organizations", { token: person.token });
    expect(list.body.items).toMatchObject([{ id: org.id }]);
    const actor = { kind: "system", name: "group-memberships" };
    expect(await readAudit(person)).toEqual([
      { action: "member.add", actor, requestId: null, role: "admin" },
    ]);
  });

  test.each<[string, () => Promise<Person>]>([
    ["a group that is not mapped", async () => createGroupPerson(issuer, "unknown")],
    [
      "the name of a group that another issuer's mapping has",
      async () =>
        createGroupPerson(other, (await mapGroup(api.deps, issuer.config.issuer, org.id, "admin")).group),
    ],
    [
      "no e-mail address",
      async () => {
        const { group } = await mapGroup(api.deps, issuer.config.issuer, org.id, "admin");
        return issuer.createPerson({ claims: { groups: [group], email: undefined } });
      },
    ],
    [
      "the group in another claim",
      async () => {
        const { group } = await mapGroup(api.deps, issuer.config.issuer, org.id, "admin");
        return issuer.createPerson({ claims: { roles: [group] } });
      },
    ],
  ])("and one with %s is no member", async (_case, create) => {
    const person = await create();
    expect((await as(person, "GET")).status).toBe(404);
    expect(await findMember(person)).toBeUndefined();
  });

  test("is a member of no other organization", async () => {
    const person = await makeGroupMember("admin");
    const elsewhere = await makeOrganization(api, issuer);
    expect((await api.request("GET", elsewhere.path, { token: person.token })).status).toBe(404);
  });

  test("has the rights of the role, but to make API tokens", async () => {
    const person = await makeGroupMember("admin");
    const { body } = await api.request("GET", "/api/v1/me", { token: person.token });
    const { permissions } = body.organizations[0];
    expect(permissions).toContain("api_tokens:revoke");
    expect(permissions).not.toContain("api_tokens:create");
    const token = { name: "ci", role: "viewer", scopes: ["clusters:read"] };
    expect((await as(person, "POST", "/api-tokens", token)).body.error).toMatchObject({
      code: "forbidden",
      message:
        "A membership by a group of the identity provider does not have the permission api_tokens:create.",
    });
    expect((await as(person, "POST", "/members", { email: "new@example.com", role: "viewer" })).status).toBe(
      201,
    );
  });
});

describe("a membership by a group", () => {
  test("cannot be made permanent by an invitation of the own address, in whatever case, made or extended", async () => {
    const person = await makeGroupMember("admin");
    const refusal = { status: 403, body: { error: { code: "forbidden" } } };
    for (const email of [person.email, person.email.toUpperCase()])
      expect(await as(person, "POST", "/members", { email, role: "admin" })).toMatchObject(refusal);
    const { body } = await as(org.owner, "POST", "/members", { email: person.email, role: "viewer" });
    expect(await as(person, "POST", `/members/${body.id}/resend`)).toMatchObject(refusal);
    expect((await as(org.owner, "POST", `/members/${body.id}/resend`)).status).toBe(200);
  });

  test.each<[string, (person: { id: string } & Person) => Promise<{ status: number; body: unknown }>]>([
    ["change its role", ({ id }) => as(org.owner, "PUT", `/members/${id}`, { role: "viewer" })],
    ["remove it", ({ id }) => as(org.owner, "DELETE", `/members/${id}`)],
    ["leave", (person) => as(person, "DELETE", `/members/${person.id}`)],
    ["send its invitation again", ({ id }) => as(org.owner, "POST", `/members/${id}/resend`)],
  ])("cannot be changed by the operations on members: to %s is 409 managed_elsewhere", async (_case, act) => {
    const person = await makeGroupMember();
    const { id } = await findMember(person);
    const response = await act({ ...person, id });
    expect(response).toMatchObject({ status: 409, body: { error: { code: "managed_elsewhere" } } });
    expect(await readRoles(person)).toEqual(["member"]);
  });

  test("can be sent back as it was read", async () => {
    const record = await findMember(await makeGroupMember());
    expect(await as(org.owner, "PUT", `/members/${record.id}`, record)).toMatchObject({
      status: 200,
      body: record,
    });
  });

  test("does not count as an owner: the last one can neither leave nor be demoted", async () => {
    await makeGroupMember("admin");
    const { id } = await findMember(org.owner);
    expect((await as(org.owner, "DELETE", `/members/${id}`)).body.error.code).toBe("last_owner");
    expect((await as(org.owner, "PUT", `/members/${id}`, { role: "admin" })).body.error.code).toBe(
      "last_owner",
    );
  });

  test("lives on without the group in later tokens, until that of the last one that carried it ends", async () => {
    const person = await makeGroupMember();
    const { expires_at: expiresAt } = await findMember(person);
    const without = { ...person, token: await issuer.sign(person, { claims: { groups: [] } }) };
    expect(await readRoles(without)).toEqual(["member"]);
    expect((await findMember(person)).expires_at).toBe(expiresAt);
    await passTime(api.deps, org.id, person, DAY_SECONDS + HOUR_SECONDS);
    expect((await as(without, "GET")).status).toBe(404);
    expect(await readRoles(without)).toEqual([]);
    await runGroupJobs(api);
    expect(await findMember(person)).toBeUndefined();
    expect((await readAudit(person)).at(-1)).toMatchObject({ action: "member.remove", role: "member" });
  });

  test("lives longer by a later token that carries the group, and never shorter by an earlier one", async () => {
    const person = await makeGroupMember();
    const before = await findMember(person);
    const exp = (decodeJwt(person.token).exp ?? 0) + HOUR_SECONDS;
    const claims = { groups: [person.group] };
    const later = await issuer.sign(person, { claims: { ...claims, exp } });
    const earlier = await issuer.sign(person, { claims: { ...claims, exp: exp - 2 * HOUR_SECONDS + 60 } });
    for (const token of [later, earlier]) expect((await as({ token }, "GET")).status).toBe(200);
    const after = await findMember(person);
    expect(Date.parse(after.expires_at) - Date.parse(before.expires_at)).toBe(HOUR_SECONDS * 1000);
    expect(await readAudit(person)).toHaveLength(1);
  });

  test("comes back with the next token that carries the group", async () => {
    const person = await makeGroupMember();
    await passTime(api.deps, org.id, person, 2 * DAY_SECONDS);
    await runGroupJobs(api);
    const token = await issuer.sign(person, { claims: { groups: [person.group], again: true } });
    expect(await readRoles({ ...person, token })).toEqual(["member"]);
  });

  test("of two groups has the stronger role, and the weaker one when the stronger group ends", async () => {
    const [strong, weak] = [
      await mapGroup(api.deps, issuer.config.issuer, org.id, "admin"),
      await mapGroup(api.deps, issuer.config.issuer, org.id, "viewer"),
    ];
    const person = await createGroupPerson(issuer, strong.group, weak.group);
    expect(await readRoles(person)).toEqual(["admin"]);
    const exp = (decodeJwt(person.token).exp ?? 0) + 2 * HOUR_SECONDS;
    const token = await issuer.sign(person, { claims: { groups: [weak.group], exp } });
    expect(await readRoles({ ...person, token })).toEqual(["admin"]);
    await passTime(api.deps, org.id, person, DAY_SECONDS + 1.5 * HOUR_SECONDS);
    await runGroupJobs(api);
    expect(await readRoles({ ...person, token })).toEqual(["viewer"]);
    const before = await findMember(person);
    expect(Date.parse(before.expires_at)).toBe((exp + DAY_SECONDS - DAY_SECONDS - 1.5 * HOUR_SECONDS) * 1000);
    expect(await readAudit(person)).toMatchObject([
      { action: "member.add", role: "admin" },
      { action: "member.update", role: "viewer" },
    ]);
  });
});

describe("a person who is a direct member", () => {
  test("has the direct role whatever the groups are, and keeps API tokens", async () => {
    const { group } = await mapGroup(api.deps, issuer.config.issuer, org.id, "admin");
    const person = await createGroupPerson(issuer, group);
    const id = await addPerson(api.deps, org.id, person, "viewer");
    const { text } = await mintFor(api.deps, person, org.id, {
      role: "viewer",
      scopes: ["organization:read"],
    });
    expect(await readRoles(person)).toEqual(["viewer"]);
    expect(await findMember(person)).toMatchObject({ id, source: "direct", expires_at: null });
    await passTime(api.deps, org.id, person, 2 * DAY_SECONDS);
    await runGroupJobs(api);
    expect(await readRoles(person)).toEqual(["viewer"]);
    expect((await as({ token: text }, "GET")).status).toBe(200);
  });

  test("and is removed is a member by the groups from the next token on, without the API tokens", async () => {
    const { group } = await mapGroup(api.deps, issuer.config.issuer, org.id, "member");
    const person = await createGroupPerson(issuer, group);
    const id = await addPerson(api.deps, org.id, person, "admin");
    const { text } = await mintFor(api.deps, person, org.id, {
      role: "viewer",
      scopes: ["organization:read"],
    });
    expect(await readRoles(person)).toEqual(["admin"]);
    expect((await as(org.owner, "DELETE", `/members/${id}`)).status).toBe(204);
    expect(await readRoles(person)).toEqual([]);
    const token = await issuer.sign(person, { claims: { groups: [group], again: true } });
    expect(await readRoles({ ...person, token })).toEqual(["member"]);
    expect((await as({ token: text }, "GET")).status).toBe(401);
  });

  test("by an invitation that a member by a group has accepted has its role, for good", async () => {
    const person = await makeGroupMember("viewer");
    const invited = await as(org.owner, "POST", "/members", { email: person.email, role: "owner" });
    expect(invited.status).toBe(201);
    const accepted = await answerInvitation(api, org.id, person);
    expect(accepted).toMatchObject({
      status: 200,
      body: { id: invited.body.id, source: "direct", role: "owner", expires_at: null },
    });
    await passTime(api.deps, org.id, person, 2 * DAY_SECONDS);
    await runGroupJobs(api);
    expect(await readRoles(person)).toEqual(["owner"]);
  });
});
