import type { Permission, Role } from "./permissions.ts";

/** The principal's place in the organization that the path names. */
export interface Membership {
  memberId: string;
  orgId: string;
  /** The role held there; of a token, its own. */
  role: Role;
  /** What the principal may do now. */
  rights: ReadonlySet<Permission>;
}
