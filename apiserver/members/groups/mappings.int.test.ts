import { and, eq, like } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { createId } from "../../../shared/program/id.ts";
import { memberHooks } from "../../app.ts";
import { auditLog } from "../../audit/table.ts";
import {
  makeOrganization,
  type Person,
  startTestIssuer,
  type TestIssuer,
  type TestOrganization,
} from "../../testing/issuer.ts";
import { setUpTestService } from "../../testing/service.ts";
import { recordIssuers } from "../index.ts";
import { recordConfiguredMappings } from "./configured.ts";
import { createGroupPerson, runGroupJobs } from "./testing.ts";

const COLLECTION = "/api/v1/admin/group-mappings";
const other = setUp(startTestIssuer);
const { api, issuer } = setUpTestService(() => ({ issuers: [other.config] }));
const staff = setUp(() => issuer.createStaff());

const asStaff = (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
  api.request(method, path, { token: staff.token, headers, ...(body === undefined ? {} : { body }) });

/** Maps a new group to an organization, with a person who is a member by it. */
async function makeMapping(org: TestOrganization, role: string, group = `group-${createId()}`) {
  const body = { issuer: issuer.config.issuer, group, org_id: org.id, role };
  const created = await asStaff("POST", COLLECTION, body);
  expect(created).toMatchObject({ status: 201, body: { ...body, managed_by: "staff" } });
  return { group, path: `${COLLECTION}/${created.body.id}`, record: created.body };
}

const readRole = async ({ token }: Person): Promise<string | undefined> =>
  (await api.request("GET", "/api/v1/me", { token })).body.organizations[0]?.role;

async function readAudit(orgId: string, actions: string): Promise<unknown[]> {
  const rows = await api.deps.db
    .select()
    .from(auditLog)
    .where(and(eq(auditLog.orgId, orgId), like(auditLog.action, actions)));
  return rows.map(({ action, actor, before, after }) => [action, actor.kind, (after ?? before)?.role]);
}

describe("a mapping by the platform's staff", () => {
  test("is made, listed by organization and by issuer, read, and the same again is 409", async () => {
    const org = await makeOrganization(api, issuer);
    const { record, path } = await makeMapping(org, "member");
    for (const query of [`org_id=${org.id}`, `org_id=${org.id}&issuer=${encodeURIComponent(record.issuer)}`])
      expect((await asStaff("GET", `${COLLECTION}?${query}`)).body.items).toEqual([record]);
    const none = await asStaff("GET", `${COLLECTION}?org_id=${org.id}&issuer=https://none.example.com`);
    expect(none.body.items).toEqual([]);
    const read = await asStaff("GET", path);
    expect(read.body).toEqual(record);
    const known = { "if-none-match": read.headers.get("etag") ?? "" };
    expect((await asStaff("GET", path, undefined, known)).status).toBe(304);
    const { issuer: url, group, org_id } = record;
    const again = await asStaff("POST", COLLECTION, { issuer: url, group, org_id, role: "viewer" });
    expect([again.status, again.body.error.code]).toEqual([409, "already_exists"]);
  });

  test.each<[string, object, string]>([
    ["an issuer that is not configured", { issuer: "https://none.example.com" }, "issuer/invalid_enum"],
    ["an unknown organization", { org_id: createId() }, "org_id/not_found"],
    ["the role owner", { role: "owner" }, "role/invalid_enum"],
    ["no group", { group: "" }, "group/too_short"],
  ])("with %s is 422", async (_case, change, message) => {
    const org = await makeOrganization(api, issuer);
    const body = { issuer: issuer.config.issuer, group: "devs", org_id: org.id, role: "member", ...change };
    const response = await asStaff("POST", COLLECTION, body);
    expect(response.status).toBe(422);
    expect(response.body.error.message).toMatch(new RegExp(`^${message}`));
  });

  test("that changes its role changes it for its members at once", async () => {
    const org = await makeOrganization(api, issuer);
    const { group, path, record } = await makeMapping(org, "member");
    const person = await createGroupPerson(issuer, group);
    expect(await readRole(person)).toBe("member");
    const changed = await asStaff("PUT", path, { ...record, role: "viewer" });
    expect(changed).toMatchObject({ status: 200, body: { ...record, role: "viewer" } });
    expect(await readRole(person)).toBe("viewer");
    const moved = await asStaff("PUT", path, { group: "another" });
    expect(moved.body.error.message).toMatch(/^group\/immutable/);
    const stale = await asStaff("PUT", path, { role: "admin" }, { "if-match": '"1"' });
    expect(stale.status).toBe(412);
    expect(await readAudit(org.id, "%")).toEqual(
      expect.arrayContaining([
        ["group_mapping.create", "staff", "member"],
        ["member.add", "system", "member"],
        ["group_mapping.update", "staff", "viewer"],
        ["member.update", "staff", "viewer"],
      ]),
    );
  });

  test("that is removed ends the memberships that it alone gave at once, and no other", async () => {
    const org = await makeOrganization(api, issuer);
    const [strong, weak] = [await makeMapping(org, "admin"), await makeMapping(org, "viewer")];
    const alone = await createGroupPerson(issuer, strong.group);
    const both = await createGroupPerson(issuer, strong.group, weak.group);
    expect([await readRole(alone), await readRole(both)]).toEqual(["admin", "admin"]);
    expect((await asStaff("DELETE", strong.path)).status).toBe(204);
    expect([await readRole(alone), await readRole(both)]).toEqual([undefined, "viewer"]);
    expect((await api.request("GET", org.path, { token: alone.token })).status).toBe(404);
    expect(await readAudit(org.id, "member.%")).toEqual(
      expect.arrayContaining([
        ["member.remove", "staff", "admin"],
        ["member.update", "staff", "viewer"],
      ]),
    );
    expect((await asStaff("GET", strong.path)).status).toBe(404);
  });

  test("ends with its organization", async () => {
    const org = await makeOrganization(api, issuer);
    const { group, path } = await makeMapping(org, "admin");
    const person = await createGroupPerson(issuer, group);
    expect(await readRole(person)).toBe("admin");
    expect((await api.request("DELETE", org.path, { token: org.owner.token })).status).toBe(204);
    expect(await readRole(person)).toBeUndefined();
    expect((await asStaff("GET", path)).status).toBe(404);
    expect((await asStaff("GET", `${COLLECTION}?org_id=${org.id}`)).body.items).toEqual([]);
    const again = await issuer.sign(person, { claims: { groups: [group], again: true } });
    expect(await readRole({ ...person, token: again })).toBeUndefined();
  });
});

test("a user who is assigned to another issuer loses what groups of the first one gave", async () => {
  const org = await makeOrganization(api, issuer);
  const { group } = await makeMapping(org, "admin");
  const person = await createGroupPerson(issuer, group);
  expect(await readRole(person)).toBe("admin");
  const identity = `/api/v1/admin/users/${person.userId}/identity`;
  expect((await asStaff("PUT", identity, { issuer: other.config.issuer })).status).toBe(200);
  const token = await other.sign(person, { claims: { groups: [group] } });
  expect(await readRole({ ...person, token })).toBeUndefined();
  expect(await readAudit(org.id, "member.remove")).toEqual([["member.remove", "staff", "admin"]]);
});

describe("a mapping of the configuration", () => {
  /** As a process that starts with these groups of the issuer. */
  const start = (groups: TestIssuer["config"]["groups"]) =>
    recordConfiguredMappings(api.deps, memberHooks, [
      { issuer: issuer.config.issuer, groups },
      { issuer: other.config.issuer, groups: [] },
    ]);

  test("is made, changed and removed by what a start reads, with its memberships, and by no request", async () => {
    const org = await makeOrganization(api, issuer);
    const mapping = { group: `group-${createId()}`, organization: org.id, role: "member" as const };
    await start([mapping]);
    const person = await createGroupPerson(issuer, mapping.group);
    expect(await readRole(person)).toBe("member");
    const { body } = await asStaff("GET", `${COLLECTION}?org_id=${org.id}`);
    expect(body.items).toMatchObject([{ managed_by: "configuration", group: mapping.group, role: "member" }]);
    const path = `${COLLECTION}/${body.items[0].id}`;
    for (const [method, change] of [["PUT", { role: "admin" }], ["DELETE"]] as const) {
      const refused = await asStaff(method, path, change);
      expect([refused.status, refused.body.error.code]).toEqual([409, "managed_elsewhere"]);
    }
    await start([{ ...mapping, role: "viewer" }]);
    expect(await readRole(person)).toBe("viewer");
    await start([{ ...mapping, role: "viewer" }]);
    await start([]);
    expect(await readRole(person)).toBeUndefined();
    expect(await readAudit(org.id, "group_mapping.%")).toEqual([
      ["group_mapping.create", "system", "member"],
      ["group_mapping.update", "system", "viewer"],
      ["group_mapping.delete", "system", "viewer"],
    ]);
  });

  test("that a process of another configuration records later is put right by the periodic jobs", async () => {
    const org = await makeOrganization(api, issuer);
    await start([{ group: `group-${createId()}`, organization: org.id, role: "member" }]);
    const read = async () => (await asStaff("GET", `${COLLECTION}?org_id=${org.id}`)).body.items;
    expect(await read()).toHaveLength(1);
    await runGroupJobs(api);
    expect(await read()).toEqual([]);
  });

  test("takes over the one that the staff made", async () => {
    const org = await makeOrganization(api, issuer);
    const { group, path } = await makeMapping(org, "viewer");
    const person = await createGroupPerson(issuer, group);
    expect(await readRole(person)).toBe("viewer");
    await start([{ group, organization: org.id, role: "admin" }]);
    expect((await asStaff("GET", path)).body).toMatchObject({ managed_by: "configuration", role: "admin" });
    expect(await readRole(person)).toBe("admin");
  });

  test("to an organization that is not there is a warning, and the others are made", async () => {
    const org = await makeOrganization(api, issuer);
    const warnings: unknown[] = [];
    const log = { ...api.deps.log, warn: (facts: unknown) => void warnings.push(facts) } as never;
    const missing = createId();
    const to = (organization: string) => ({ group: "devs", organization, role: "member" as const });
    const groups = [to(missing), to(org.id)];
    await recordConfiguredMappings({ ...api.deps, log }, memberHooks, [
      { issuer: issuer.config.issuer, groups },
    ]);
    expect(warnings).toEqual([{ orgId: missing }]);
    expect((await asStaff("GET", `${COLLECTION}?org_id=${org.id}`)).body.items).toHaveLength(1);
  });
});

test("the mappings of an issuer that moves to another URL go on there", async () => {
  const former = await startTestIssuer();
  const { issuer: formerUrl } = former.config;
  former.close();
  const configured = [issuer.config, other.config];
  await recordIssuers(api.deps.db, [...configured, former.config]);
  const org = await makeOrganization(api, issuer);
  await api.deps.sql`insert into group_mappings (id, issuer, group_name, org_id, role, managed_by)
    values (${createId()}, ${formerUrl}, 'devs', ${org.id}, 'member', 'staff')`;
  const moved = { ...former.config, issuer: "https://moved.example.com" };
  await recordIssuers(api.deps.db, [...configured, moved]);
  const { body } = await asStaff("GET", `${COLLECTION}?org_id=${org.id}`);
  expect(body.items).toMatchObject([{ issuer: moved.issuer, group: "devs" }]);
});
