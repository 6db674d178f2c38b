import type { Queryable } from "../db/client.ts";
import type { Deps } from "../deps.ts";
import type { Author } from "../http/authentication/principal.ts";

/** What slices above this one do when a user loses rights in an organization. */
export interface MemberHooks {
  /** Runs in the transaction that removes the member, before `onClusterAccessLost`. */
  onRemove(
    tx: Queryable,
    orgId: string,
    member: { memberId: string; userId: string; email: string },
  ): Promise<void>;
  /** Runs in the transaction after which the user can no longer access clusters; `memberId` with the membership. */
  onClusterAccessLost(
    tx: Queryable,
    author: Author,
    orgId: string,
    user: { userId: string; memberId?: string },
  ): Promise<void>;
  /** Runs after its commit. Does not throw. */
  afterClusterAccessLost(deps: Deps, orgId: string): Promise<void>;
}
