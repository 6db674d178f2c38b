import type { Queryable } from "../../db/client.ts";
import { insertEndedRights, insertOffboarding } from "./store.ts";

/** A membership that ends. */
export interface FormerMember {
  memberId: string;
  userId: string;
  email: string;
}

/** Notes the end of a membership and the API tokens that end with it, in its transaction. */
export async function startOffboarding(
  tx: Queryable,
  orgId: string,
  member: FormerMember,
  tokenIds: readonly string[],
): Promise<void> {
  await insertOffboarding(tx, orgId, member);
  const endedAt = new Date();
  await insertEndedRights(
    tx,
    orgId,
    member.memberId,
    tokenIds.map((targetId) => ({ kind: "api_token", targetId, endedAt })),
  );
}
