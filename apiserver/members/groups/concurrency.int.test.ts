import { decodeJwt } from "jose";
import { expect, test } from "vitest";
import { waitFor } from "../../../e2e/platform/stack/testing.ts";
import { memberHooks } from "../../app.ts";
import { countLockWaits } from "../../db/testing.ts";
import { makeOrganization } from "../../testing/issuer.ts";
import { settleLapsed } from "./jobs.ts";
import { createGroupPerson, mapGroup, passTime, runGroupJobs, setUpGroupService } from "./testing.ts";

const DAY_SECONDS = 86_400;
const HOUR_SECONDS = 3600;
const { api, issuer, other, org, as, findMember, readRoles, makeGroupMember } = setUpGroupService();

test("a person who signs in waits for a busy organization in its share of the connections, and not to prolong what is there", async () => {
  const member = await makeGroupMember();
  const exp = (decodeJwt(member.token).exp ?? 0) + HOUR_SECONDS;
  const token = await issuer.sign(member, { claims: { groups: [member.group], exp } });
  const elsewhere = await makeOrganization(api, issuer);
  const { group } = await mapGroup(api.deps, issuer.config.issuer, org.id, "viewer");
  const people = await Promise.all(Array.from({ length: 6 }, () => createGroupPerson(issuer, group)));
  const before = await findMember(member);
  const { waiting } = await api.deps.sql.begin(async (tx) => {
    await tx`select from organizations where id = ${org.id} for no key update`;
    expect(await readRoles({ ...member, token })).toEqual(["member"]);
    const waiting = people.map((person) => readRoles(person));
    await waitFor("one to wait", async () => (await countLockWaits(api.deps.sql)) > 0);
    const path = elsewhere.path;
    expect((await api.request("GET", path, { token: elsewhere.owner.token })).status).toBe(200);
    expect(await countLockWaits(api.deps.sql)).toBe(1);
    // In an object: promises that are returned would be awaited before the commit.
    return { waiting };
  });
  expect(await Promise.all(waiting)).toEqual(people.map(() => ["viewer"]));
  expect((await findMember(member)).expires_at).toBe(before.expires_at);
  const again = await issuer.sign(member, { claims: { groups: [member.group], exp, again: true } });
  expect(await readRoles({ ...member, token: again })).toEqual(["member"]);
  expect((await findMember(member)).expires_at > before.expires_at).toBe(true);
});

test("a user who is assigned to another issuer while a token of the first one signs in gets nothing by it", async () => {
  const { group } = await mapGroup(api.deps, issuer.config.issuer, org.id, "admin");
  const staff = await issuer.createStaff();
  const person = await createGroupPerson(issuer);
  expect(await readRoles(person)).toEqual([]);
  const token = await issuer.sign(person, { claims: { groups: [group] } });
  const identity = `/api/v1/admin/users/${person.userId}/identity`;
  const { signIn, assigned } = await api.deps.sql.begin(async (tx) => {
    await tx`select from organizations where id = ${org.id} for no key update`;
    const waits = async () => countLockWaits(api.deps.sql);
    const signIn = readRoles({ ...person, token });
    await waitFor("the token to wait", async () => (await waits()) > 0);
    let isAssigned = false;
    const assigned = api.request("PUT", identity, {
      token: staff.token,
      body: { issuer: other.config.issuer },
    });
    void assigned.then(() => (isAssigned = true));
    await waitFor("the assignment to wait or end", async () => isAssigned || (await waits()) > 1);
    // In an object: promises that are returned would be awaited before the commit.
    return { signIn, assigned };
  });
  await signIn;
  expect((await assigned).status).toBe(200);
  const later = await other.sign(person, { claims: { groups: [group] } });
  expect(await readRoles({ ...person, token: later })).toEqual([]);
});

test("a membership that ends while a request is under way gives it no effect", async () => {
  const person = await makeGroupMember("admin");
  const { response } = await api.deps.sql.begin(async (tx) => {
    await tx`select from organizations where id = ${org.id} for no key update`;
    const response = as(person, "PUT", "", { name: "Too late" });
    await waitFor("the request to wait", async () => (await countLockWaits(api.deps.sql)) > 0);
    await tx`update members set expires_at = now() where user_id = ${person.userId}`;
    // In an object: a promise that is returned would be awaited before the commit.
    return { response };
  });
  expect((await response).status).toBe(404);
  expect((await as(org.owner, "GET")).body.name).not.toBe("Too late");
});

test("a membership that cannot be settled holds up no other", async () => {
  const [broken, sound] = [await makeGroupMember(), await makeGroupMember()];
  for (const person of [broken, sound]) await passTime(api.deps, org.id, person, 2 * DAY_SECONDS);
  await passTime(api.deps, org.id, broken, DAY_SECONDS);
  const onRemove: typeof memberHooks.onRemove = async (tx, orgId, member) => {
    if (member.userId === broken.userId) throw new Error("not now");
    await memberHooks.onRemove(tx, orgId, member);
  };
  const warnings: unknown[] = [];
  const log = { ...api.deps.log, warn: (facts: unknown) => void warnings.push(facts) } as never;
  await settleLapsed({ ...api.deps, log }, { ...memberHooks, onRemove }, new AbortController().signal);
  expect(await findMember(sound)).toBeUndefined();
  expect(await findMember(broken)).toBeDefined();
  expect(warnings).toEqual([{ orgId: org.id, userId: broken.userId, message: "not now" }]);
  await runGroupJobs(api);
  expect(await findMember(broken)).toBeUndefined();
});
