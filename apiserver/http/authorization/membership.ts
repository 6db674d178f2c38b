import type { MemberSource, Permission, Role } from "./permissions.ts";

/** The principal's place in the organization that the path names. */
export interface Membership {
  memberId: string;
  orgId: string;
  /** The role held there; of a token, its own. */
  role: Role;
  /** What the principal may do now. */
  rights: ReadonlySet<Permission>;
  /** Absent of a token. */
  source?: MemberSource;
  /** Of a membership by a group: when it ends, unless another token carries the group. */
  endsAt?: Date | null;
}
