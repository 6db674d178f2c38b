import { createId } from "../../../shared/program/id.ts";
import { createMemberHooks } from "../../app.ts";
import type { Deps } from "../../deps.ts";
import type { GroupRole } from "../../http/group-roles.ts";
import type { TestApp } from "../../testing/app.ts";
import type { Person, TestIssuer } from "../../testing/issuer.ts";
import { groupMembershipJobs } from "./jobs.ts";
import { groupMappings } from "./table.ts";

/** Maps a new group of an issuer to an organization, as the platform's staff does. Returns the group and the mapping's id. */
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
  for (const job of groupMembershipJobs(deps, createMemberHooks(deps)))
    await job.run(new AbortController().signal);
}
