import { and, asc, eq, gt, inArray, isNotNull, isNull, sql } from "drizzle-orm";
import { recordAudit } from "../audit/store.ts";
import { revokeAccessesOf } from "../cluster-accesses/store.ts";
import type { Queryable } from "../db/client.ts";
import type { Deps } from "../deps.ts";
import type { Origin, Role } from "../http/authentication/principal.ts";
import type { Scope } from "../http/authorization/permissions.ts";
import { requireMatch } from "../http/contract/etag.ts";
import type { PageRequest } from "../http/contract/page.ts";
import { notFound } from "../http/errors.ts";
import { lockOrganization } from "../organizations/store.ts";
import { presentAudit, toExpiry } from "./schema.ts";
import { mintToken } from "./secret.ts";
import { type ApiTokenRow, apiTokens } from "./table.ts";
import { tagOf } from "./tag.ts";

export { createApiTokenVerifier, findTokenMembership } from "./verify.ts";

export interface NewApiToken {
  id: string;
  orgId: string;
  name: string;
  role: Role;
  scopes: Scope[];
  createdBy: string;
  lifetimeDays: number;
}

/** Whose tokens somebody gets to see: all of the organization, or the own ones. */
export interface TokenView {
  orgId: string;
  /** Absent: everybody's. */
  createdBy?: string;
}

/** Makes a token with its audit row. The secret is in `text`, and nowhere else from then on. */
export async function createApiToken<T>(
  deps: Deps,
  origin: Origin,
  input: NewApiToken,
  finish: (tx: Queryable, made: { row: ApiTokenRow; text: string }) => Promise<T>,
): Promise<T> {
  const { lifetimeDays, ...values } = input;
  const { text, hash } = mintToken(input.id);
  const now = deps.now();
  return deps.db.transaction(async (tx) => {
    await lockOrganization(tx, input.orgId);
    const [row] = await tx
      .insert(apiTokens)
      .values({ ...values, secretHash: hash, createdAt: now, expiresAt: toExpiry(now, lifetimeDays) })
      .returning();
    if (row === undefined) throw new Error("an insert returned no row");
    await recordAudit(tx, origin, {
      action: "api_token.create",
      orgId: row.orgId,
      target: { kind: "api_token", id: row.id },
      after: presentAudit(row),
      result: "done",
    });
    return finish(tx, { row, text });
  });
}

/** Tokens that are not revoked, in the order of their id; one row more than `limit`. */
export async function listApiTokens(deps: Deps, view: TokenView, page: PageRequest): Promise<ApiTokenRow[]> {
  return deps.db
    .select()
    .from(apiTokens)
    .where(and(isInView(view), page.cursor === undefined ? undefined : gt(apiTokens.id, page.cursor)))
    .orderBy(asc(apiTokens.id))
    .limit(page.limit + 1);
}

/** One token that is not revoked. */
export async function findApiToken(
  deps: Deps,
  view: TokenView,
  id: string,
): Promise<ApiTokenRow | undefined> {
  const [row] = await deps.db
    .select()
    .from(apiTokens)
    .where(and(isInView(view), eq(apiTokens.id, id)));
  return row;
}

/** Ends a token at once, and with it the accesses to clusters that it asked for. Throws 404, or 412 for another version than `ifMatch`. */
export async function revokeApiToken(
  deps: Deps,
  origin: Origin,
  view: TokenView,
  target: { id: string; ifMatch: string | undefined },
): Promise<void> {
  await deps.db.transaction(async (tx) => {
    const row = await lockToken(tx, view, target.id);
    requireMatch(target.ifMatch, tagOf(row));
    await tx
      .update(apiTokens)
      .set({ revokedAt: deps.now(), version: sql`${apiTokens.version} + 1` })
      .where(eq(apiTokens.id, row.id));
    await recordAudit(tx, origin, {
      action: "api_token.revoke",
      orgId: row.orgId,
      target: { kind: "api_token", id: row.id },
      before: presentAudit(row),
      result: "done",
    });
  });
  await revokeAccessesOf(deps, { orgId: view.orgId, tokenId: target.id });
}

/** Gives a token another secret and its lifetime anew; the old secret ends at once. Throws 404. */
export async function rotateApiToken<T>(
  deps: Deps,
  origin: Origin,
  view: TokenView,
  id: string,
  finish: (tx: Queryable, made: { row: ApiTokenRow; text: string }) => Promise<T>,
): Promise<T> {
  return deps.db.transaction(async (tx) => {
    const before = await lockToken(tx, view, id);
    const { text, hash } = mintToken(id);
    const now = deps.now();
    const lifetimeMs = before.expiresAt.getTime() - (before.rotatedAt ?? before.createdAt).getTime();
    const [row] = await tx
      .update(apiTokens)
      .set({
        secretHash: hash,
        rotatedAt: now,
        expiresAt: new Date(now.getTime() + lifetimeMs),
        version: sql`${apiTokens.version} + 1`,
      })
      .where(eq(apiTokens.id, id))
      .returning();
    if (row === undefined) throw notFound("API token");
    await recordAudit(tx, origin, {
      action: "api_token.rotate",
      orgId: row.orgId,
      target: { kind: "api_token", id },
      before: presentAudit(before),
      after: presentAudit(row),
      result: "done",
    });
    return finish(tx, { row, text });
  });
}

/** Ends all tokens of an organization, or those that one user made there; in the transaction of what ends them. */
export async function revokeTokensOf(tx: Queryable, view: TokenView): Promise<void> {
  await tx
    .update(apiTokens)
    .set({ revokedAt: sql`now()`, version: sql`${apiTokens.version} + 1` })
    .where(isInView(view));
}

/** Which of these tokens were revoked. One that has only run out is none of them. */
export async function findRevokedTokens(db: Queryable, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await db
    .select({ id: apiTokens.id })
    .from(apiTokens)
    .where(and(inArray(apiTokens.id, [...new Set(ids)]), isNotNull(apiTokens.revokedAt)));
  return new Set(rows.map(({ id }) => id));
}

async function lockToken(tx: Queryable, view: TokenView, id: string): Promise<ApiTokenRow> {
  const [row] = await tx
    .select()
    .from(apiTokens)
    .where(and(isInView(view), eq(apiTokens.id, id)))
    .for("update");
  if (row === undefined) throw notFound("API token");
  return row;
}

function isInView({ orgId, createdBy }: TokenView) {
  return and(
    eq(apiTokens.orgId, orgId),
    isNull(apiTokens.revokedAt),
    createdBy === undefined ? undefined : eq(apiTokens.createdBy, createdBy),
  );
}
