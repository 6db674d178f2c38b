import { and, asc, eq, gt, inArray, isNull, notExists, sql } from "drizzle-orm";
import { createId, NIL_ID } from "../../../shared/program/id.ts";
import type { Queryable } from "../../db/client.ts";
import { notFound } from "../../http/errors.ts";
import {
  type EndedRight,
  endedRights,
  kubeconfigRevocations,
  type Offboarding,
  offboardings,
} from "../table.ts";

/** How long REST shows what ended with a membership. */
const KEPT_DAYS = 30;

export type NewEndedRight = Pick<EndedRight, "kind" | "targetId"> &
  Partial<Pick<EndedRight, "clusterId" | "objectName" | "objectUid" | "endedAt">>;

/** Adds the end of a membership, in its transaction. */
async function insertOffboarding(
  tx: Queryable,
  orgId: string,
  member: { memberId: string; userId: string; email: string },
): Promise<void> {
  await tx.insert(offboardings).values({ orgId, ...member });
}

/** Adds rights that end with a membership; one that is known stays as it is. */
export async function insertEndedRights(
  tx: Queryable,
  orgId: string,
  memberId: string,
  rights: readonly NewEndedRight[],
): Promise<void> {
  if (rights.length === 0) return;
  await tx
    .insert(endedRights)
    .values(rights.map((right) => ({ id: createId(), orgId, memberId, ...right })))
    .onConflictDoNothing();
}

/** The end of one membership. Throws 404 for a member who is there, and after 30 days. */
export async function requireOffboarding(
  db: Queryable,
  orgId: string,
  memberId: string,
): Promise<Offboarding> {
  const [row] = await db
    .select()
    .from(offboardings)
    .where(and(eq(offboardings.orgId, orgId), eq(offboardings.memberId, memberId)));
  if (row === undefined) throw notFound("offboarding");
  return row;
}

/** The rights that ended with a membership, the oldest first, `limit` at most. */
export async function listEndedRights(
  db: Queryable,
  orgId: string,
  memberId: string,
  limit: number,
): Promise<EndedRight[]> {
  return db
    .select()
    .from(endedRights)
    .where(and(eq(endedRights.orgId, orgId), eq(endedRights.memberId, memberId)))
    .orderBy(asc(endedRights.id))
    .limit(limit);
}

/** Rights of all organizations that have not ended, in the order of their ids. */
export async function listPendingRights(
  db: Queryable,
  { cursor = NIL_ID, limit }: { cursor?: string | undefined; limit: number },
): Promise<EndedRight[]> {
  return db
    .select()
    .from(endedRights)
    .where(and(isNull(endedRights.endedAt), gt(endedRights.id, cursor)))
    .orderBy(asc(endedRights.id))
    .limit(limit);
}

/**
 * Notes which generation of the admin credentials of a cluster ends a right to the earlier ones, unless one is noted.
 */
export async function setGeneration(
  db: Queryable,
  orgId: string,
  right: { memberId: string; clusterId: string; generation: number },
): Promise<void> {
  const { memberId, clusterId, generation } = right;
  await db
    .update(endedRights)
    .set({ generation })
    .where(
      and(
        eq(endedRights.orgId, orgId),
        eq(endedRights.memberId, memberId),
        eq(endedRights.kind, "admin_credentials"),
        eq(endedRights.targetId, clusterId),
        isNull(endedRights.generation),
      ),
    );
}

/** Whether a revocation of admin credentials that a membership's end requested is still to be done. */
export async function isRotationPending(
  db: Queryable,
  orgId: string,
  { memberId, clusterId }: { memberId: string; clusterId: string },
): Promise<boolean> {
  const rows = await db
    .select({ id: kubeconfigRevocations.id })
    .from(kubeconfigRevocations)
    .where(
      and(
        eq(kubeconfigRevocations.orgId, orgId),
        eq(kubeconfigRevocations.memberId, memberId),
        eq(kubeconfigRevocations.clusterId, clusterId),
      ),
    )
    .limit(1);
  return rows.length > 0;
}

/** Notes that rights have ended. */
export async function markRightsEnded(db: Queryable, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await db
    .update(endedRights)
    .set({ endedAt: sql`now()` })
    .where(and(inArray(endedRights.id, [...ids]), isNull(endedRights.endedAt)));
}

/** Completes each end of a membership of which nothing is pending, and returns them. */
export async function completeOffboardings(tx: Queryable): Promise<Offboarding[]> {
  const { memberId } = offboardings;
  const one = sql`1`;
  const pending = tx
    .select({ one })
    .from(endedRights)
    .where(and(eq(endedRights.memberId, memberId), isNull(endedRights.endedAt)));
  const requested = tx
    .select({ one })
    .from(kubeconfigRevocations)
    .where(eq(kubeconfigRevocations.memberId, memberId));
  return tx
    .update(offboardings)
    .set({ completedAt: sql`now()` })
    .where(and(isNull(offboardings.completedAt), notExists(pending), notExists(requested)))
    .returning();
}

/** Forgets the ends of memberships that are complete and older than 30 days. */
export async function purgeOffboardings(db: Queryable): Promise<void> {
  await db
    .delete(offboardings)
    .where(
      and(
        sql`${offboardings.completedAt} is not null`,
        sql`${offboardings.removedAt} < now() - make_interval(days => ${KEPT_DAYS})`,
      ),
    );
}

/** How long the right that has been pending longest has been, in seconds: of a member, a role or an API token. */
export async function readPendingSeconds(db: Queryable): Promise<number> {
  const [row] = await db.execute<{ seconds: number }>(sql`
    select coalesce(extract(epoch from now() - min(since)), 0)::float8 as seconds
    from (
      select min(removed_at) as since from offboardings where completed_at is null
      union all select min(created_at) from kubeconfig_revocations
    ) pending`);
  return row?.seconds ?? 0;
}

/** A membership that ends. */
interface FormerMember {
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
