import { and, asc, eq, inArray, lte, sql } from "drizzle-orm";
import { createId } from "../../shared/program/id.ts";
import type { Queryable } from "../db/client.ts";
import type { Origin } from "../http/authentication/principal.ts";
import { type KubeconfigRevocation, kubeconfigRevocations } from "./table.ts";

/** What is to be revoked in an organization. */
export type RevocationSubject =
  | { userId: string }
  | { tokenId: string; tokenVersion: number }
  | { clusterId: string };

/** Longer than one attempt at a revocation takes. */
const LEASE = sql`now() + interval '30 seconds'`;

/** Adds pending revocations, in the transaction that ends the right; `memberId` where a membership ends. */
export async function insertRevocations(
  tx: Queryable,
  orgId: string,
  origin: Origin,
  subjects: readonly RevocationSubject[],
  memberId?: string,
): Promise<void> {
  if (subjects.length === 0) return;
  await tx
    .insert(kubeconfigRevocations)
    .values(subjects.map((subject) => ({ id: createId(), orgId, origin, memberId, ...subject })));
}

/** Takes pending revocations that no process is working on, the oldest first: of one organization, or of all. */
export async function claimRevocations(
  db: Queryable,
  { orgId, limit }: { orgId?: string | undefined; limit: number },
): Promise<KubeconfigRevocation[]> {
  const free = db
    .select({ id: kubeconfigRevocations.id })
    .from(kubeconfigRevocations)
    .where(
      and(
        lte(kubeconfigRevocations.leaseExpiresAt, sql`now()`),
        orgId === undefined ? undefined : eq(kubeconfigRevocations.orgId, orgId),
      ),
    )
    .orderBy(asc(kubeconfigRevocations.leaseExpiresAt))
    .limit(limit)
    .for("update", { skipLocked: true });
  return db
    .update(kubeconfigRevocations)
    .set({ leaseExpiresAt: LEASE })
    .where(inArray(kubeconfigRevocations.id, free))
    .returning();
}

/** Removes a revocation that is done. */
export async function deleteRevocation(db: Queryable, orgId: string, id: string): Promise<void> {
  await db
    .delete(kubeconfigRevocations)
    .where(and(eq(kubeconfigRevocations.orgId, orgId), eq(kubeconfigRevocations.id, id)));
}

/** Lets a revocation that failed be tried again after `seconds`. */
export async function postponeRevocation(
  db: Queryable,
  orgId: string,
  id: string,
  seconds: number,
): Promise<void> {
  await db
    .update(kubeconfigRevocations)
    .set({ leaseExpiresAt: sql`now() + make_interval(secs => ${seconds})` })
    .where(and(eq(kubeconfigRevocations.orgId, orgId), eq(kubeconfigRevocations.id, id)));
}
