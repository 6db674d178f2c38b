import { and, eq, inArray, notInArray, sql } from "drizzle-orm";
import type { Queryable } from "../db/client.ts";
import { moveMappings } from "./groups/mapping-store.ts";
import type { IdRules } from "./id-rules.ts";
import { issuers, users } from "./table.ts";

/** Has starting processes record their issuers one after the other, until the transaction ends. */
export async function lockIssuers(tx: Queryable): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended('marina issuers', 0))`);
}

/** The rules of an issuer's last start. */
export async function findIdRules(db: Queryable, url: string): Promise<IdRules | undefined> {
  const { subjectClaim, idNamespace, uuidSubjects } = issuers;
  const [row] = await db
    .select({ subjectClaim, idNamespace, uuidSubjects })
    .from(issuers)
    .where(eq(issuers.url, url));
  return row;
}

/** The URL and rules of each issuer that is no longer configured and had this namespace, the oldest first. */
export async function listFormerIssuers(
  db: Queryable,
  idNamespace: string,
  configured: readonly string[],
): Promise<(IdRules & { url: string })[]> {
  return db
    .select()
    .from(issuers)
    .where(and(eq(issuers.idNamespace, idNamespace), notInArray(issuers.url, [...configured])))
    .orderBy(issuers.createdAt);
}

/** Whether one of these issuers has a user, of any or with an id of version 5. */
export async function hasUsers(
  db: Queryable,
  urls: readonly string[],
  { version5 = false }: { version5?: boolean } = {},
): Promise<boolean> {
  const rows = await db
    .select({ id: users.id })
    .from(users)
    .where(
      and(
        inArray(users.issuer, [...urls]),
        version5 ? sql`substr(${users.id}::text, 15, 1) = '5'` : undefined,
      ),
    )
    .limit(1);
  return rows.length > 0;
}

/** Records the rules of an issuer. */
export async function upsertIdRules(tx: Queryable, url: string, rules: IdRules): Promise<void> {
  await tx
    .insert(issuers)
    .values({ url, ...rules })
    .onConflictDoUpdate({ target: issuers.url, set: rules });
}

/**
 * Gives all users of these issuers to another, with the mappings of their groups, and forgets their rules: those of the
 * other are in force for them.
 */
export async function moveUsers(tx: Queryable, formerUrls: readonly string[], url: string): Promise<void> {
  await tx
    .update(users)
    .set({ issuer: url })
    .where(inArray(users.issuer, [...formerUrls]));
  for (const formerUrl of formerUrls) await moveMappings(tx, formerUrl, url);
  await tx.delete(issuers).where(inArray(issuers.url, [...formerUrls]));
}
