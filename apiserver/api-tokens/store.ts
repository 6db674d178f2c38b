import { and, asc, count, eq, gt, inArray, isNull, lt, or, sql } from "drizzle-orm";
import { NIL_ID } from "../../shared/program/id.ts";
import type { Queryable } from "../db/client.ts";
import { prepareStatement } from "../db/statement.ts";
import type { PageRequest } from "../http/contract/page.ts";
import { notFound } from "../http/errors.ts";
import { members } from "../members/index.ts";
import { organizationColumns, organizations } from "../organizations/index.ts";
import { type ApiTokenRow, apiTokens } from "./table.ts";

const NEXT_VERSION = sql`${apiTokens.version} + 1`;

/** Which tokens of an organization a caller may read: all, or those of one creator. */
export interface TokenFilter {
  createdBy?: string | undefined;
}

/** Tokens that are not revoked, ordered by id; one row more than `limit`. */
export async function listApiTokens(
  db: Queryable,
  orgId: string,
  filter: TokenFilter,
  { cursor = NIL_ID, limit }: PageRequest,
): Promise<ApiTokenRow[]> {
  return db
    .select()
    .from(apiTokens)
    .where(and(isVisible(orgId, filter), gt(apiTokens.id, cursor)))
    .orderBy(asc(apiTokens.id))
    .limit(limit + 1);
}

/** One token that is not revoked. Throws 404. */
export async function requireApiToken(
  db: Queryable,
  orgId: string,
  filter: TokenFilter,
  id: string,
): Promise<ApiTokenRow> {
  const [row] = await db
    .select()
    .from(apiTokens)
    .where(and(isVisible(orgId, filter), eq(apiTokens.id, id)));
  if (row === undefined) throw notFound("API token");
  return row;
}

/** Like requireApiToken, with a row lock until the transaction ends. Throws 404. */
export async function lockApiToken(
  tx: Queryable,
  orgId: string,
  filter: TokenFilter,
  id: string,
): Promise<ApiTokenRow> {
  const [row] = await tx
    .select()
    .from(apiTokens)
    .where(and(isVisible(orgId, filter), eq(apiTokens.id, id)))
    .for("update");
  if (row === undefined) throw notFound("API token");
  return row;
}

/** How many tokens of an organization are neither revoked nor expired. */
export async function countLiveTokens(tx: Queryable, orgId: string): Promise<number> {
  const [row] = await tx
    .select({ total: count() })
    .from(apiTokens)
    .where(and(isVisible(orgId, {}), gt(apiTokens.expiresAt, sql`now()`)));
  return row?.total ?? 0;
}

/** Adds a token. */
export async function insertApiToken(
  tx: Queryable,
  values: typeof apiTokens.$inferInsert,
): Promise<ApiTokenRow> {
  const [row] = await tx.insert(apiTokens).values(values).returning();
  if (row === undefined) throw new Error("an insert returned no row");
  return row;
}

/** Changes a token. Throws 404. */
export async function updateApiToken(
  tx: Queryable,
  orgId: string,
  id: string,
  values: Partial<Pick<ApiTokenRow, "secretHash" | "rotatedAt" | "expiresAt" | "revokedAt">>,
): Promise<ApiTokenRow> {
  const [row] = await tx
    .update(apiTokens)
    .set({ ...values, version: NEXT_VERSION })
    .where(and(eq(apiTokens.orgId, orgId), eq(apiTokens.id, id)))
    .returning();
  if (row === undefined) throw notFound("API token");
  return row;
}

/** Revokes all tokens of an organization, or those that one user created. Returns their ids. */
export async function revokeApiTokens(tx: Queryable, orgId: string, createdBy?: string): Promise<string[]> {
  const revoked = await tx
    .update(apiTokens)
    .set({ revokedAt: sql`now()`, version: NEXT_VERSION })
    .where(isVisible(orgId, { createdBy }))
    .returning({ id: apiTokens.id });
  return revoked.map(({ id }) => id);
}

/** Deletes tokens 30 days after they were revoked, at most `limit`; returns how many. */
export async function purgeRevokedTokens(db: Queryable, limit: number): Promise<number> {
  const revoked = db
    .select({ id: apiTokens.id })
    .from(apiTokens)
    .where(lt(apiTokens.revokedAt, sql`now() - interval '30 days'`))
    .limit(limit)
    .for("update", { skipLocked: true });
  const purged = await db
    .delete(apiTokens)
    // With `in` the plan may execute the subquery more than once, and each time find other rows.
    .where(sql`${apiTokens.id} = any(array(${revoked}))`)
    .returning({ id: apiTokens.id });
  return purged.length;
}

/** The version of each of these tokens that is not revoked; it rises with every rotation. */
export async function findTokenVersions(db: Queryable, ids: readonly string[]): Promise<Map<string, number>> {
  if (ids.length === 0) return new Map();
  const rows = await db
    .select({ id: apiTokens.id, version: apiTokens.version })
    .from(apiTokens)
    .where(and(inArray(apiTokens.id, [...new Set(ids)]), isNull(apiTokens.revokedAt)));
  return new Map(rows.map(({ id, version }) => [id, version]));
}

const selectLiveToken = prepareStatement(["id"], (db, { id }) =>
  db
    .select({
      id: apiTokens.id,
      orgId: apiTokens.orgId,
      role: apiTokens.role,
      scopes: apiTokens.scopes,
      secretHash: apiTokens.secretHash,
      createdBy: apiTokens.createdBy,
      version: apiTokens.version,
      expiresAt: apiTokens.expiresAt,
      lastUsedAt: apiTokens.lastUsedAt,
      memberId: members.id,
      creatorRole: members.role,
      organization: organizationColumns,
    })
    .from(apiTokens)
    .innerJoin(organizations, eq(organizations.id, apiTokens.orgId))
    .innerJoin(
      members,
      and(
        eq(members.orgId, apiTokens.orgId),
        eq(members.userId, apiTokens.createdBy),
        eq(members.source, "direct"),
      ),
    )
    .where(
      and(
        eq(apiTokens.id, id),
        isNull(apiTokens.revokedAt),
        gt(apiTokens.expiresAt, sql`now()`),
        isNull(organizations.deletedAt),
      ),
    ),
);

/** A token as findLiveToken reads it. */
export type LiveToken = Awaited<ReturnType<typeof selectLiveToken>>[number];

/** A token that is not revoked and not expired, while its creator is a direct member of its organization. */
export async function findLiveToken(db: Queryable, id: string): Promise<LiveToken | undefined> {
  const [row] = await selectLiveToken(db, { id });
  return row;
}

/** Records the time of a use, unless a use after `previousBefore` is recorded already. */
export async function recordTokenUse(
  db: Queryable,
  orgId: string,
  id: string,
  { at, previousBefore }: { at: Date; previousBefore: Date },
): Promise<void> {
  await db
    .update(apiTokens)
    .set({ lastUsedAt: at })
    .where(
      and(
        eq(apiTokens.orgId, orgId),
        eq(apiTokens.id, id),
        or(isNull(apiTokens.lastUsedAt), sql`${apiTokens.lastUsedAt} <= ${previousBefore.toISOString()}`),
      ),
    );
}

function isVisible(orgId: string, { createdBy }: TokenFilter) {
  return and(
    eq(apiTokens.orgId, orgId),
    isNull(apiTokens.revokedAt),
    createdBy === undefined ? undefined : eq(apiTokens.createdBy, createdBy),
  );
}
