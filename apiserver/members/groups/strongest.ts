import { GROUP_ROLES, type GroupRole } from "../../http/authentication/issuer-config.ts";

/** A role in an organization, and until when a group gives it. */
export interface Grant {
  role: GroupRole;
  expiresAt: Date;
}

/** The strongest role of several groups, until the last of the groups that give it ends; undefined without any. */
export function strongestOf(grants: readonly Grant[]): Grant | undefined {
  const role = GROUP_ROLES.find((one) => grants.some((grant) => grant.role === one));
  if (role === undefined) return undefined;
  const ends = grants.filter((grant) => grant.role === role).map(({ expiresAt }) => expiresAt.getTime());
  return { role, expiresAt: new Date(Math.max(...ends)) };
}
