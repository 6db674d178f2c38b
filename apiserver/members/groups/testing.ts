import { expect } from "vitest";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { createId } from "../../../shared/program/id.ts";
import { memberHooks } from "../../app.ts";
import type { Deps } from "../../deps.ts";
import type { GroupRole } from "../../http/authentication/issuer-config.ts";
import type { TestApp } from "../../testing/app.ts";
import {
  makeOrganization,
  type Person,
  startTestIssuer,
  type TestIssuer,
  type TestOrganization,
} from "../../testing/issuer.ts";
import { setUpTestService } from "../../testing/service.ts";
import { groupMembershipJobs } from "./jobs.ts";
import { groupMappings } from "./table.ts";

export interface GroupService {
  api: TestApp;
  issuer: TestIssuer;
  /** A second identity provider of the same service. */
  other: TestIssuer;
  org: TestOrganization;
  /** A request about the organization. */
  as: (
    person: Pick<Person, "token">,
    method: string,
    path?: string,
    body?: object,
  ) => ReturnType<TestApp["request"]>;
  /** The person's member record as an owner sees it. */
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever field it asserts on
  findMember: (person: Pick<Person, "userId">, of?: Pick<TestOrganization, "owner">) => Promise<any>;
  /** The roles of the person in all organizations. */
  readRoles: (person: Pick<Person, "token">) => Promise<string[]>;
  /** A member by a new group with this role, and who has called the API. */
  makeGroupMember: (role?: GroupRole) => Promise<Person & { group: string }>;
}

/** A service with people of two identity providers, and an organization, for the tests of a file, as `setUp` does. */
export function setUpGroupService(options?: Parameters<typeof startTestIssuer>[0]): GroupService {
  const other = setUp(() => startTestIssuer(options));
  const { api, issuer } = setUpTestService(() => ({ issuers: [other.config] }));
  const org = setUp(() => makeOrganization(api, issuer));
  const as: GroupService["as"] = ({ token }, method, path = "", body) =>
    api.request(method, `${org.path}${path}`, { token, ...(body === undefined ? {} : { body }) });
  return {
    api,
    issuer,
    other,
    org,
    as,
    async findMember({ userId }, { owner } = org) {
      const { body } = await as(owner, "GET", "/members?limit=100");
      return body.items.find((item: { user_id: string }) => item.user_id === userId);
    },
    readRoles: async ({ token }) =>
      (await api.request("GET", "/api/v1/me", { token })).body.organizations.map(
        (one: { role: string }) => one.role,
      ),
    async makeGroupMember(role = "member") {
      const { group } = await mapGroup(api.deps, issuer.config.issuer, org.id, role);
      const person = await createGroupPerson(issuer, group);
      expect((await as(person, "GET")).status).toBe(200);
      return { ...person, group };
    },
  };
}

/**
 * Maps a new group of an issuer to an organization, as the platform's staff does. Returns the group and the mapping's
 * id.
 */
export async function mapGroup(
  { db }: Pick<Deps, "db">,
  issuer: string,
  orgId: string,
  role: GroupRole,
): Promise<{ group: string; mappingID: string }> {
  const id = createId();
  const group = `group-${id}`;
  await db.insert(groupMappings).values({ id, issuer, group, orgId, role, managedBy: "staff" });
  return { group, mappingID: id };
}

/** A new person whose token carries these groups, and who has not called the API yet. */
export function createGroupPerson(issuer: TestIssuer, ...groups: string[]): Promise<Person> {
  return issuer.createPerson({ claims: { groups } });
}

/** Lets time pass for what groups give a user in an organization. */
export async function passTime(
  { sql }: Pick<Deps, "sql">,
  orgId: string,
  { userId }: Pick<Person, "userId">,
  seconds: number,
): Promise<void> {
  await sql`update group_grants set expires_at = expires_at - make_interval(secs => ${seconds})
    where org_id = ${orgId} and user_id = ${userId}`;
  await sql`update members set expires_at = expires_at - make_interval(secs => ${seconds})
    where org_id = ${orgId} and user_id = ${userId} and source = 'group'`;
}

/** Runs the jobs of memberships by groups once. */
export async function runGroupJobs({ deps }: Pick<TestApp, "deps">): Promise<void> {
  for (const job of groupMembershipJobs(deps, memberHooks)) await job.run(new AbortController().signal);
}
