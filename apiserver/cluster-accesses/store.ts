import { and, asc, eq, sql } from "drizzle-orm";
import { createId } from "../../shared/program/id.ts";
import type { Queryable } from "../db/client.ts";
import type { Author } from "../http/authentication/principal.ts";
import { createClaims } from "../work/claim.ts";
import { type KubeconfigRevocation, kubeconfigRevocations } from "./table.ts";

/** What is to be revoked in an organization. */
export type RevocationSubject =
  | { userId: string }
  | { tokenId: string; tokenVersion: number }
  | { clusterId: string };

/** Longer than one effect of a revocation takes: a read and a write of the Kubernetes API, each of 25 s at most. */
const LEASE_SECONDS = 60;

/** Adds pending revocations, in the transaction that ends the right; `memberId` where a membership ends. */
export async function insertRevocations(
  tx: Queryable,
  orgId: string,
  author: Author,
  subjects: readonly RevocationSubject[],
  memberId?: string,
): Promise<void> {
  if (subjects.length === 0) return;
  await tx
    .insert(kubeconfigRevocations)
    .values(subjects.map((subject) => ({ id: createId(), orgId, author, memberId, ...subject })));
}

/** The claims of pending revocations; a revocation that is done is removed. */
export const revocationClaims = createClaims(kubeconfigRevocations, ["orgId", "id"]);

/** Lets the claim of a revocation last for one effect more, and notes what that is. False when another process has it by now. */
export function extendRevocation(
  db: Queryable,
  revocation: KubeconfigRevocation,
  set: Partial<Pick<KubeconfigRevocation, "generation">> = {},
): Promise<boolean> {
  return revocationClaims.extend(db, revocation, LEASE_SECONDS, { set });
}

/** Claims pending revocations, the oldest first: of one organization, or of all. */
export async function claimRevocations(
  db: Queryable,
  { orgId, limit }: { orgId?: string | undefined; limit: number },
): Promise<KubeconfigRevocation[]> {
  const { id, orgId: organization, dueAt } = kubeconfigRevocations;
  const isDue = and(revocationClaims.isDue(), orgId === undefined ? undefined : eq(organization, orgId));
  const due = db
    .select({ id })
    .from(kubeconfigRevocations)
    .where(isDue)
    .orderBy(asc(dueAt))
    .limit(limit)
    .for("update", { skipLocked: true });
  return revocationClaims.take(db, sql`${id} = any(array(${due}))`, { leaseSeconds: LEASE_SECONDS });
}
